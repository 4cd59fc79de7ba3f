#include "k.h"
// Runs until *flag is not 0; flag[2] is 1 once it runs.
K spin(u32*flag,u32*out){if(TID==0)__atomic_store_n(flag+2,1u,__ATOMIC_RELAXED);while(__atomic_load_n(flag,__ATOMIC_RELAXED)==0)__builtin_amdgcn_s_sleep(1);if(TID==0)out[BID]=1;}
// A long computation that the CPU can repeat.
K churn(u32*out,u32 n){u32 i=BID*BDIM+TID,x=i;for(u32 k=0;k<n;k++)x=x*1664525u+1013904223u;out[i]=x;}
// Each of two workgroups waits for the other.
K meet(u32*slots){if(TID==0){__atomic_store_n(slots+BID,1u,__ATOMIC_RELAXED);while(__atomic_load_n(slots+1-BID,__ATOMIC_RELAXED)==0);}}
// The XCC of each workgroup (HW_REG_XCC_ID, bits 3:0).
K place(u32*out){if(TID==0)out[BID]=__builtin_amdgcn_s_getreg((3<<11)|20);}
