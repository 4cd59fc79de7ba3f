#include "k.h"
// SOPP opcode 127, which no GPU has. The store behind it must never run.
K illegal(u32*reached){asm volatile(".long 0xbfff0000");*reached=1;}
// Work-items write before and behind a debugger's trap, and the work-group `which` makes a fatal trap.
K traps(u32*out,u32 which){u32 g=__builtin_amdgcn_workgroup_id_x();if(__builtin_amdgcn_workitem_id_x()==0)out[g*2]=g+1;
 __builtin_debugtrap();if(g==which)__builtin_trap();if(__builtin_amdgcn_workitem_id_x()==0)out[g*2+1]=g+1;}
