// SPDX-License-Identifier: MIT OR Apache-2.0
// Asynchronous copies of odd and even sizes in every direction, fills, and a copy of a rectangle.
#include "check.h"

int main() {
    const size_t n = 1 << 20;
    unsigned char *from, *back;
    CHECK(hipHostMalloc(&from, n));
    CHECK(hipHostMalloc(&back, n));
    unsigned char *d = on_device<unsigned char>(n), *e = on_device<unsigned char>(n);
    hipStream_t s;
    CHECK(hipStreamCreate(&s));
    long wrong = 0;
    for (size_t size : {1, 3, 4, 64, 1000, 4096, 16384, 16385, 65536, 1 << 20}) {
        for (size_t i = 0; i < size; i++) from[i] = i * 31 + size;
        CHECK(hipMemcpyAsync(d, from, size, hipMemcpyHostToDevice, s));
        CHECK(hipMemcpyAsync(e, d, size, hipMemcpyDeviceToDevice, s));
        CHECK(hipMemcpyAsync(back, e, size, hipMemcpyDeviceToHost, s));
        CHECK(hipStreamSynchronize(s));
        for (size_t i = 0; i < size; i++) wrong += back[i] != from[i];
    }

    CHECK(hipMemsetAsync(d, 0x5a, n, s));
    CHECK(hipMemsetD32Async((hipDeviceptr_t)e, 0x12345678, n / 4, s));
    CHECK(hipMemcpyAsync(from, d, n, hipMemcpyDeviceToHost, s));
    CHECK(hipMemcpyAsync(back, e, n, hipMemcpyDeviceToHost, s));
    CHECK(hipStreamSynchronize(s));
    for (size_t i = 0; i < n; i++) wrong += from[i] != 0x5a;
    for (size_t i = 0; i < n / 4; i++) wrong += ((unsigned *)back)[i] != 0x12345678;

    // 64 rows of 100 bytes, 256 bytes apart, into rows 512 bytes apart: what is between them stays.
    const size_t width = 100, rows = 64, pitch = 256, wide = 512;
    for (size_t i = 0; i < n; i++) from[i] = i * 13 + 5;
    CHECK(hipMemcpy2DAsync(d, wide, from, pitch, width, rows, hipMemcpyHostToDevice, s));
    CHECK(hipMemcpyAsync(back, d, rows * wide, hipMemcpyDeviceToHost, s));
    CHECK(hipStreamSynchronize(s));
    for (size_t y = 0; y < rows; y++)
        for (size_t x = 0; x < wide; x++)
            wrong += back[y * wide + x] != (x < width ? from[y * pitch + x] : 0x5a);
    return verdict("copies", wrong);
}
