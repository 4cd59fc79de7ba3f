// SPDX-License-Identifier: MIT OR Apache-2.0
// A sum in two ways: through shared memory, and by shuffles within a wave and an atomic addition.
#include "check.h"

__global__ void reduceShared(const int *in, int *out, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    int v = i < n ? in[i] : 0;
    if (i + (int)blockDim.x < n) v += in[i + blockDim.x];
    sums[t] = v;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}

__global__ void reduceShuffle(const int *in, int *out, int n) {
    int v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += in[i];
    for (int distance = warpSize / 2; distance > 0; distance >>= 1) v += __shfl_down(v, distance);
    if (threadIdx.x % warpSize == 0) atomicAdd(out, v);
}

int main() {
    const int n = 1 << 20, blocks = n / 512;
    std::vector<int> values(n);
    long wanted = 0;
    for (int i = 0; i < n; i++) wanted += values[i] = (i * 7) % 13;
    int *in = to_device(values), *partial = on_device<int>(blocks), *total = on_device<int>(1);
    CHECK(hipMemset(total, 0, sizeof(int)));
    reduceShared<<<blocks, 256>>>(in, partial, n);
    reduceShuffle<<<256, 256>>>(in, total, n);
    CHECK(hipGetLastError());
    long shared = 0, shuffled = to_host(total, 1)[0];
    for (int sum : to_host(partial, blocks)) shared += sum;
    return verdict("reduction", (shared != wanted) + (shuffled != wanted));
}
