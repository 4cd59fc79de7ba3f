// SPDX-License-Identifier: MIT OR Apache-2.0
// Every kind of atomic operation, all threads on the same addresses.
#include "check.h"

struct Cells {
    int add, max, min, exchange, swap;
    unsigned bits_or, bits_xor, bits_and, inc;
    unsigned long long add64;
    float add_float;
    double add_double;
};

__global__ void atomics(Cells *c) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&c->add, t);
    atomicMax(&c->max, t);
    atomicMin(&c->min, -t);
    atomicExch(&c->exchange, 7);
    atomicOr(&c->bits_or, 1u << (t & 31));
    atomicXor(&c->bits_xor, 1u << (t & 31));
    atomicAnd(&c->bits_and, ~(1u << (t & 31)));
    atomicInc(&c->inc, 0xffffffffu);
    atomicAdd(&c->add64, (unsigned long long)t);
    atomicAdd(&c->add_float, 1.0f);
    atomicAdd(&c->add_double, 1.0);
    int seen = c->swap, assumed;
    do {
        assumed = seen;
        seen = atomicCAS(&c->swap, assumed, assumed + 1);
    } while (seen != assumed);
}

int main() {
    const int n = 1024;
    const long sum = (long)n * (n - 1) / 2;
    std::vector<Cells> start(1);
    start[0].bits_and = ~0u;
    Cells *cells = to_device(start);
    atomics<<<n / 256, 256>>>(cells);
    CHECK(hipGetLastError());
    const Cells c = to_host(cells, 1)[0];
    return verdict("atomics", (c.add != sum) + (c.max != n - 1) + (c.min != 1 - n) +
                                  (c.exchange != 7) + (c.bits_or != ~0u) + (c.bits_xor != 0) +
                                  (c.bits_and != 0) + (c.inc != (unsigned)n) +
                                  (c.add64 != (unsigned long long)sum) + (c.add_float != n) +
                                  (c.add_double != n) + (c.swap != n));
}
