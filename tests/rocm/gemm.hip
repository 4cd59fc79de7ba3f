// SPDX-License-Identifier: MIT OR Apache-2.0
// Matrix products: single precision through shared memory, double precision straight. The values
// are small whole numbers, so that every sum is exact and results must be equal.
#include "check.h"

constexpr int TILE = 16;

__global__ void gemmFloat(const float *a, const float *b, float *c, int n) {
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float v = 0;
    for (int k = 0; k < n; k += TILE) {
        ta[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int j = 0; j < TILE; j++) v += ta[threadIdx.y][j] * tb[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = v;
}

__global__ void gemmDouble(const double *a, const double *b, double *c, int n) {
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    double v = 0;
    for (int k = 0; k < n; k++) v += a[row * n + k] * b[k * n + column];
    c[row * n + column] = v;
}

int main() {
    const int n = 128;
    std::vector<float> a(n * n), b(n * n);
    for (int i = 0; i < n * n; i++) {
        a[i] = i % 7;
        b[i] = i % 5;
    }
    std::vector<double> a2(a.begin(), a.end()), b2(b.begin(), b.end());
    float *c = on_device<float>(n * n);
    double *c2 = on_device<double>(n * n);
    const dim3 grid(n / TILE, n / TILE), block(TILE, TILE);
    gemmFloat<<<grid, block>>>(to_device(a), to_device(b), c, n);
    gemmDouble<<<grid, block>>>(to_device(a2), to_device(b2), c2, n);
    CHECK(hipGetLastError());
    std::vector<float> got = to_host(c, n * n);
    std::vector<double> got2 = to_host(c2, n * n);
    long wrong = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            wrong += got[i * n + j] != sum || got2[i * n + j] != sum;
        }
    return verdict("gemm", wrong);
}
