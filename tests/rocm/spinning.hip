// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that waits for a word of the host, for a debugger to look at meanwhile. Each thread keeps a value in v40, where
// the debugger finds it and puts another.
#include "check.h"

static const int BLOCKS = 2, THREADS = 64;

__global__ void spin(volatile int *go, int *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int value = 1000 + t;
    asm volatile("v_mov_b32 v40, %0" : : "v"(value) : "v40");
    while (!*go) __builtin_amdgcn_s_sleep(8);
    asm volatile("v_mov_b32 %0, v40" : "=v"(value) : : "v40");
    out[t] = value;
}

int main() {
    int *go, *out;
    CHECK(hipHostMalloc(&go, sizeof *go));
    CHECK(hipHostMalloc(&out, BLOCKS * THREADS * sizeof *out));
    *go = 0;
    spin<<<BLOCKS, THREADS>>>(go, out);
    CHECK(hipGetLastError());
    printf("spinning %p %p %d\n", (void *)go, (void *)out, BLOCKS * THREADS);
    fflush(stdout);
    CHECK(hipDeviceSynchronize());
    // The debugger adds a million to each value.
    long wrong = 0;
    for (int t = 0; t < BLOCKS * THREADS; t++) wrong += out[t] != 1001000 + t;
    return verdict("spinning", wrong);
}
