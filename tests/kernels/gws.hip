#include "k.h"
// Global wave sync, which gfx942 has and gfx12 lacks.
#ifdef __gfx942__
// `nwm1` is the barrier's number of waves minus one.
K gws_init(u32 nwm1,u32 rid){__builtin_amdgcn_ds_gws_init(nwm1,rid);}
// One wave of each work-group waits for all of it, as in ROCm's device libraries (__ockl_grid_sync).
static inline __device__ void grid_sync(u32 nwm1,u32 rid){
  barrier_();
  if(TID==0){
    __builtin_amdgcn_fence(__ATOMIC_RELEASE,"agent");
    __builtin_amdgcn_ds_gws_barrier(nwm1,rid);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE,"agent");
  }
  barrier_();
}
// In every round each work-item mixes its word with the word of a work-item `stride` work-groups further
// on. `words` has room for two rounds, since no work-item is two rounds ahead of another. Without `sync`
// the other's word may be of any round. The last work-group starts only when *gate is not 0. The host looks at
// `words` meanwhile: a store of the agent's scope may stay in the only XCC's cache until the kernel ends.
K exchange(u32*words,u32*out,u32*gate,u32 rounds,u32 stride,u32 nwm1,u32 rid,u32 sync){
  u32 n=GDIM,i=BID*BDIM+TID,x=i;
  if(i/BDIM==n/BDIM-1)while(__hip_atomic_load(gate,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_SYSTEM)==0)__builtin_amdgcn_s_sleep(1);
  for(u32 r=0;r<rounds;r++){
    u32*now=words+(r&1)*n;
    __hip_atomic_store(now+i,x,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_SYSTEM);
    if(sync)grid_sync(nwm1,rid);
    x=x*1664525u+__hip_atomic_load(now+(i+stride*BDIM)%n,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_AGENT);
  }
  out[i]=x;
}
// Every wave counts up without atomics; a semaphore that begins with 1 lets in one wave at a time.
K locked(u32*count,u32 rounds,u32 rid){
  for(u32 r=0;r<rounds;r++){
    __builtin_amdgcn_ds_gws_sema_p(rid);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE,"agent");
    u32 seen=__hip_atomic_load(count,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_AGENT);
    __builtin_amdgcn_s_sleep(1);
    __hip_atomic_store(count,seen+1,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_AGENT);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE,"agent");
    __builtin_amdgcn_ds_gws_sema_v(rid);
  }
}
#endif
