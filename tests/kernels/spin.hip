#include "k.h"
K spin(u32*flag,u32*seen){__hip_atomic_fetch_add(seen,1u,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_SYSTEM);
  while(!__hip_atomic_load(flag,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_SYSTEM))__builtin_amdgcn_s_sleep(1);}
