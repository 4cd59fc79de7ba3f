#include "k.h"
// SOPP opcode 127, which no GPU has. The store behind it must never run.
K illegal(u32*reached){asm volatile(".long 0xbfff0000");*reached=1;}
// Work-items tell before and behind a debugger's trap, and the work-group `which` makes a fatal trap. The host reads
// what they tell while the dispatch goes on.
static inline __device__ void tell(u32*where,u32 what){
 if(__builtin_amdgcn_workitem_id_x()==0)__hip_atomic_store(where,what,__ATOMIC_RELAXED,__HIP_MEMORY_SCOPE_SYSTEM);}
K traps(u32*out,u32 which){u32 g=__builtin_amdgcn_workgroup_id_x();tell(out+g*2,g+1);
 __builtin_debugtrap();if(g==which)__builtin_trap();tell(out+g*2+1,g+1);}
