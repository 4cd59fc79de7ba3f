#include "k.h"
// What a wave leaves in a vector register, a scalar register and LDS, and what it finds there without having set it.
// The compiler has no use for these registers in kernels as short as these.
#define LEFT "v40","s60"
static inline __device__ volatile u32*box(){static __shared__ u32 words[1024];return words;}
K leave(u32 value){
  for(u32 i=TID;i<1024;i+=BDIM)box()[i]=value;
  barrier_();
  asm volatile("v_mov_b32 v40,%0\n v_readfirstlane_b32 s60,%0"::"v"(value):LEFT);
}
// Counts, in out[0..3], the work-items that find the value in the vector register, the scalar register, and LDS.
K look(u32*out,u32 value){
  u32 v,s;
  asm volatile("v_mov_b32 %0,v40\n v_mov_b32 %1,s60":"=&v"(v),"=&v"(s)::LEFT);
  u32 lds=0;
  for(u32 i=TID;i<1024;i+=BDIM)lds+=box()[i]==value;
  if(v==value)__hip_atomic_fetch_add(out,1u,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_AGENT);
  if(s==value)__hip_atomic_fetch_add(out+1,1u,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_AGENT);
  if(lds)__hip_atomic_fetch_add(out+2,1u,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_AGENT);
}
