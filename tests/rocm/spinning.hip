// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that waits for a word of the host, for a debugger to look at meanwhile. Each thread keeps a value in v40, where
// the debugger finds it and puts another. `spinning MISDEED`: then one thread of work-group 1 fails.
#include "check.h"

#include <cassert>
#include <string>

static const int BLOCKS = 2, THREADS = 64;

enum Misdeed { NONE, ASSERTION, ADDRESS, INSTRUCTION };

__global__ void spin(volatile int *go, int *out, Misdeed misdeed, int *nowhere) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int value = 1000 + t;
    asm volatile("v_mov_b32 v40, %0" : : "v"(value) : "v40");
    while (!*go) __builtin_amdgcn_s_sleep(8);
    asm volatile("v_mov_b32 %0, v40" : "=v"(value) : : "v40");
    if (t == THREADS) {
        assert(misdeed != ASSERTION);
        if (misdeed == ADDRESS) *(volatile int *)nowhere = 1;
        // SOPP opcode 127, which no GPU has.
        if (misdeed == INSTRUCTION) asm volatile(".long 0xbfff0000");
    }
    out[t] = value;
}

static Misdeed named(const std::string &name) {
    return name == "assertion" ? ASSERTION : name == "address" ? ADDRESS : name == "instruction" ? INSTRUCTION : NONE;
}

int main(int count, char **arguments) {
    Misdeed misdeed = named(count > 1 ? arguments[1] : "");
    int *go, *out;
    CHECK(hipHostMalloc(&go, sizeof *go));
    CHECK(hipHostMalloc(&out, BLOCKS * THREADS * sizeof *out));
    *go = 0;
    spin<<<BLOCKS, THREADS>>>(go, out, misdeed, (int *)0x123400000000);
    CHECK(hipGetLastError());
    printf("spinning %p %p %d\n", (void *)go, (void *)out, BLOCKS * THREADS);
    fflush(stdout);
    CHECK(hipDeviceSynchronize());
    // The debugger adds a million to each value.
    long wrong = 0;
    for (int t = 0; t < BLOCKS * THREADS; t++) wrong += out[t] != 1001000 + t;
    return verdict("spinning", wrong);
}
