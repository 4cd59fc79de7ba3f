// SPDX-License-Identifier: MIT OR Apache-2.0
// A histogram: atomic additions in shared memory, then in global memory.
#include "check.h"

constexpr int BINS = 256;

__global__ void histogram(const unsigned char *data, unsigned *bins, int n) {
    __shared__ unsigned own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[data[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

int main() {
    const int n = 1 << 18;
    std::vector<unsigned char> data(n);
    std::vector<unsigned> wanted(BINS);
    unsigned random = 1;
    for (auto &value : data) {
        random = random * 1103515245 + 12345;
        wanted[value = random >> 16]++;
    }
    unsigned *bins = on_device<unsigned>(BINS);
    CHECK(hipMemset(bins, 0, BINS * sizeof(unsigned)));
    histogram<<<64, BINS>>>(to_device(data), bins, n);
    CHECK(hipGetLastError());
    std::vector<unsigned> got = to_host(bins, BINS);
    long wrong = 0;
    for (int i = 0; i < BINS; i++) wrong += got[i] != wanted[i];
    return verdict("histogram", wrong);
}
