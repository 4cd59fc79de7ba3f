// SPDX-License-Identifier: MIT OR Apache-2.0
// How every HIP program here ends: with status 2 and a message that names the call if one fails, with
// status 1 if a result is wrong, and otherwise with PASSED and status 0.
#pragma once
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                  \
    do {                                                                             \
        hipError_t error = (call);                                                   \
        if (error != hipSuccess) {                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,            \
                    hipGetErrorName(error));                                         \
            exit(2);                                                                 \
        }                                                                            \
    } while (0)

// Copies a vector to new memory of the device.
template <typename T>
T *to_device(const std::vector<T> &from) {
    T *to;
    CHECK(hipMalloc(&to, from.size() * sizeof(T)));
    CHECK(hipMemcpy(to, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice));
    return to;
}

// New memory of the device, for `n` elements.
template <typename T>
T *on_device(size_t n) {
    T *p;
    CHECK(hipMalloc(&p, n * sizeof(T)));
    return p;
}

// Copies back; waits for the kernels before it.
template <typename T>
std::vector<T> to_host(const T *from, size_t n) {
    std::vector<T> to(n);
    CHECK(hipMemcpy(to.data(), from, n * sizeof(T), hipMemcpyDeviceToHost));
    return to;
}

static inline int verdict(const char *name, long wrong) {
    printf("%s: %s (%ld wrong)\n", name, wrong ? "FAILED" : "PASSED", wrong);
    return wrong ? 1 : 0;
}
