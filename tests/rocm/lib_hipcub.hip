// SPDX-License-Identifier: MIT OR Apache-2.0
// hipCUB: sums of blocks and warps, a device's sum, scan, greatest and sort, compared with the standard library.
#include "check.h"

#include <hipcub/hipcub.hpp>

#include <algorithm>
#include <numeric>
#include <random>

constexpr int BLOCK = 256;

__global__ void sums(const int *in, int *blocks, int *scanned) {
    using Reduce = hipcub::BlockReduce<int, BLOCK>;
    using Scan = hipcub::BlockScan<int, BLOCK>;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Scan::TempStorage scan;
    } memory;
    int value = in[blockIdx.x * BLOCK + threadIdx.x];
    int sum = Reduce(memory.reduce).Sum(value);
    if (threadIdx.x == 0) blocks[blockIdx.x] = sum;
    __syncthreads();
    int before;
    Scan(memory.scan).ExclusiveSum(value, before);
    scanned[blockIdx.x * BLOCK + threadIdx.x] = before;
}

template <typename F>
void twice(F algorithm) {
    size_t bytes = 0;
    CHECK(algorithm(nullptr, bytes));
    char *memory = on_device<char>(std::max<size_t>(bytes, 1));
    CHECK(algorithm(memory, bytes));
    CHECK(hipDeviceSynchronize());
    CHECK(hipFree(memory));
}

int main() {
    const int blocks = 64, n = blocks * BLOCK;
    std::mt19937 random(11);
    std::vector<int> values(n);
    for (int &value : values) value = int(random() % 2001) - 1000;
    int *in = to_device(values), *out = on_device<int>(n), *each = on_device<int>(blocks);
    long wrong = 0;

    sums<<<blocks, BLOCK>>>(in, each, out);
    CHECK(hipGetLastError());
    std::vector<int> found = to_host(each, blocks), before = to_host(out, n);
    for (int block = 0; block < blocks; block++) {
        int sum = 0;
        for (int i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
            wrong += before[i] != sum;
            sum += values[i];
        }
        wrong += found[block] != sum;
    }

    twice([&](void *memory, size_t &bytes) {
        return hipcub::DeviceReduce::Sum(memory, bytes, in, out, n);
    });
    wrong += to_host(out, 1)[0] != std::accumulate(values.begin(), values.end(), 0);
    twice([&](void *memory, size_t &bytes) {
        return hipcub::DeviceReduce::Max(memory, bytes, in, out, n);
    });
    wrong += to_host(out, 1)[0] != *std::max_element(values.begin(), values.end());
    twice([&](void *memory, size_t &bytes) {
        return hipcub::DeviceScan::InclusiveSum(memory, bytes, in, out, n);
    });
    std::vector<int> got = to_host(out, n);
    for (int i = 0, sum = 0; i < n; i++) wrong += got[i] != (sum += values[i]);
    twice([&](void *memory, size_t &bytes) {
        return hipcub::DeviceRadixSort::SortKeysDescending(memory, bytes, in, out, n);
    });
    got = to_host(out, n);
    std::sort(values.begin(), values.end(), std::greater<int>());
    for (int i = 0; i < n; i++) wrong += got[i] != values[i];
    return verdict("lib_hipcub", wrong);
}
