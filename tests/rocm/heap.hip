// SPDX-License-Identifier: MIT OR Apache-2.0
// Each work-item allocates memory on the device, keeps it over another kernel, and frees it.
#include "check.h"

__global__ void allocate(int **pieces, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int words = 1 + i % 13;
    int *piece = static_cast<int *>(malloc(words * sizeof(int)));
    for (int word = 0; piece && word < words; word++) piece[word] = i + word;
    pieces[i] = piece;
}

__global__ void sum(int **pieces, int *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int total = pieces[i] ? 0 : -1;
    for (int word = 0; pieces[i] && word < 1 + i % 13; word++) total += pieces[i][word];
    sums[i] = total;
    free(pieces[i]);
}

int main() {
    const int n = 512;
    int **pieces = on_device<int *>(n), *sums = on_device<int>(n);
    long wrong = 0;
    // The second time there is memory that was freed.
    for (int time = 0; time < 2; time++) {
        allocate<<<n / 64, 64>>>(pieces, n);
        sum<<<n / 64, 64>>>(pieces, sums, n);
        CHECK(hipGetLastError());
        std::vector<int> got = to_host(sums, n);
        for (int i = 0; i < n; i++) {
            const int words = 1 + i % 13;
            wrong += got[i] != words * i + words * (words - 1) / 2;
        }
    }
    return verdict("heap", wrong);
}
