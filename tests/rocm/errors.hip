// SPDX-License-Identifier: MIT OR Apache-2.0
// Requests that HIP must refuse, each with its own error; afterwards a kernel still runs.
#include "check.h"

__global__ void one(int *p) { *p = 1; }

static long refused(const char *what, hipError_t error, bool good) {
    printf("%s: %s\n", what, hipGetErrorName(error));
    (void)hipGetLastError();
    return !good;
}

int main() {
    long wrong = 0;
    void *p;
    hipError_t e = hipMalloc(&p, 1ull << 50);
    wrong += refused("hipMalloc of 1 PiB", e, e == hipErrorOutOfMemory);
    one<<<1, 2048>>>(nullptr);
    e = hipGetLastError();
    wrong += refused("a block of 2048 threads", e, e != hipSuccess);
    e = hipSetDevice(99);
    wrong += refused("hipSetDevice(99)", e, e == hipErrorInvalidDevice);
    e = hipFree((void *)0x1234);
    wrong += refused("hipFree of no allocation", e, e == hipErrorInvalidValue);
    e = hipMemcpy(nullptr, &wrong, sizeof wrong, hipMemcpyHostToDevice);
    wrong += refused("hipMemcpy to nowhere", e, e == hipErrorInvalidValue);

    int *d = to_device(std::vector<int>(1));
    one<<<1, 1>>>(d);
    CHECK(hipGetLastError());
    wrong += to_host(d, 1)[0] != 1;
    return verdict("errors", wrong);
}
