#include "k.h"
// Where each work-group runs: two words of each, HW_ID of its first wave (gfx12: HW_ID1) and the number of its XCC.
// s_getreg_b32 of a whole register has 31 in bits 15:11.
K where_am_i(u32*out){
 if(TID)return;
#ifdef __gfx942__
 out[2*BID]=__builtin_amdgcn_s_getreg(31<<11|4);out[2*BID+1]=__builtin_amdgcn_s_getreg(31<<11|20);
#else
 out[2*BID]=__builtin_amdgcn_s_getreg(31<<11|23);out[2*BID+1]=0;
#endif
}
