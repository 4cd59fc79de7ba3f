#include "k.h"
// Puts a packet into another queue's ring and rings that queue's doorbell, as the host does it otherwise.
K enqueue(u64 slot,u64 write,u64 doorbell,u64 index,u32*packet){
 u32*to=(u32*)slot;
 for(u32 i=1;i<16;i++)to[i]=packet[i];
 __hip_atomic_store((u64*)write,index+1,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_SYSTEM);
 // The header last; then the packet is the other queue's.
 __hip_atomic_store(to,packet[0],__ATOMIC_RELEASE,__HIP_MEMORY_SCOPE_SYSTEM);
 __hip_atomic_store((u64*)doorbell,index,__ATOMIC_RELEASE,__HIP_MEMORY_SCOPE_SYSTEM);
}
