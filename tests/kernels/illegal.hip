#include "k.h"
// SOPP opcode 127, which no GPU has. What follows must never be reached.
K illegal(u32*reached){asm volatile(".long 0xbfff0000");*reached=1;}
