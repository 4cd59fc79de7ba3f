// SPDX-License-Identifier: MIT OR Apache-2.0
// Prefix sums: of each block, of the blocks' sums, and both added; three dispatches in a row.
#include "check.h"

constexpr int BLOCK = 256;

__global__ void scanBlock(const int *in, int *out, int *sums, int n) {
    __shared__ int s[2][BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t, now = 0;
    s[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int distance = 1; distance < BLOCK; distance <<= 1) {
        s[1 - now][t] = s[now][t] + (t >= distance ? s[now][t - distance] : 0);
        now = 1 - now;
        __syncthreads();
    }
    if (i < n) out[i] = s[now][t];
    if (t == BLOCK - 1) sums[blockIdx.x] = s[now][t];
}

__global__ void addSums(int *out, const int *sums, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
}

int main() {
    const int n = BLOCK * BLOCK;
    std::vector<int> values(n);
    for (int i = 0; i < n; i++) values[i] = i % 5;
    int *in = to_device(values), *out = on_device<int>(n);
    int *sums = on_device<int>(BLOCK), *scanned = on_device<int>(BLOCK), *rest = on_device<int>(1);
    scanBlock<<<n / BLOCK, BLOCK>>>(in, out, sums, n);
    scanBlock<<<1, BLOCK>>>(sums, scanned, rest, BLOCK);
    addSums<<<n / BLOCK, BLOCK>>>(out, scanned, n);
    CHECK(hipGetLastError());
    std::vector<int> got = to_host(out, n);
    long wrong = 0;
    for (int i = 0, sum = 0; i < n; i++) wrong += got[i] != (sum += values[i]);
    return verdict("scan", wrong);
}
