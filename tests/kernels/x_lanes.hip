// Lanes through DPP, packed halves, saturated integers.
#include "k.h"
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef short short2 __attribute__((ext_vector_type(2)));
#define STEP(n) v += (u32)__builtin_amdgcn_update_dpp(0, (i32)v, 0x110 + n, 0xf, 0xf, true)
// For each lane the sum of the lanes up to it in its row of 16, and the row in reverse order.
K rowsum(const u32*a,u32*o,u32*turned,u32 n){
  u32 i=BID*BDIM+TID; u32 v=i<n?a[i]:0;
  u32 t=(u32)__builtin_amdgcn_update_dpp(0,(i32)v,0x140,0xf,0xf,true);
  STEP(1); STEP(2); STEP(4); STEP(8);
  if(i<n){o[i]=v;turned[i]=t;}
}
K packed(const half2*a,const half2*b,half2*o,u32 n){
  u32 i=BID*BDIM+TID; if(i>=n)return;
  half2 s=a[i]*b[i]+(half2){1.5f16,-0.25f16}; o[2*i]=s; o[2*i+1]=__builtin_elementwise_max(s,a[i]);
}
K saturate(const u32*a,const u32*b,u32*o,u32 n){
  u32 i=BID*BDIM+TID; if(i>=n)return;
  short2 x=__builtin_bit_cast(short2,a[i]),y=__builtin_bit_cast(short2,b[i]);
  o[4*i]=__builtin_elementwise_add_sat(a[i],b[i]);
  o[4*i+1]=(u32)__builtin_elementwise_sub_sat((i32)a[i],(i32)b[i]);
  o[4*i+2]=__builtin_bit_cast(u32,__builtin_elementwise_add_sat(x,y));
  o[4*i+3]=(u32)((a[i]&255)*(b[i]>>24))+((a[i]>>8)&255);
}
