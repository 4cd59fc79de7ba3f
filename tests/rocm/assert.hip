// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel with an assertion that holds, an array in scratch memory, and functions of libm.
#include "check.h"

#include <cassert>

__host__ __device__ static float expected(const float *table, int index, int t) {
    float s = 0;
    for (int i = 0; i < 8; i++) s += table[(index + i * 7) & 63];
    return s + expf(-s * s) + powf(fabsf(s), 0.3f) / (1.0f + t % 7);
}

__global__ void spill(const int *indices, float *out) {
    float table[64];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < 64; i++) table[i] = sinf((float)(i + t));
    assert(t < 100000);
    out[t] = expected(table, indices[t], t);
}

int main() {
    const int n = 1024;
    std::vector<int> indices(n);
    for (int i = 0; i < n; i++) indices[i] = i * 13;
    float *out = on_device<float>(n);
    spill<<<n / 256, 256>>>(to_device(indices), out);
    CHECK(hipGetLastError());
    std::vector<float> got = to_host(out, n);
    long wrong = 0;
    for (int t = 0; t < n; t++) {
        float table[64];
        for (int i = 0; i < 64; i++) table[i] = sinf((float)(i + t));
        // The two libraries round differently.
        wrong += !(fabsf(expected(table, indices[t], t) - got[t]) <= 1e-3f);
    }
    return verdict("assert", wrong);
}
