// SPDX-License-Identifier: MIT OR Apache-2.0
// A matrix transposed through padded shared memory, on a two-dimensional grid.
#include "check.h"

constexpr int TILE = 32, ROWS = 8;

__global__ void transpose(const float *in, float *out, int width, int height) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
    const int width = 512, height = 256, n = width * height;
    std::vector<float> a(n);
    for (int i = 0; i < n; i++) a[i] = i;
    float *in = to_device(a), *out = on_device<float>(n);
    transpose<<<dim3(width / TILE, height / TILE), dim3(TILE, ROWS)>>>(in, out, width, height);
    CHECK(hipGetLastError());
    std::vector<float> got = to_host(out, n);
    long wrong = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) wrong += got[x * height + y] != a[y * width + x];
    return verdict("transpose", wrong);
}
