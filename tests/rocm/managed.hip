// SPDX-License-Identifier: MIT OR Apache-2.0
// Managed memory and a managed variable: host and device use the same addresses, without copies. Without shared
// virtual memory HIP 7 gives a kernel the host's address of a managed variable, where its memory is not on the GPU; so
// the variable is left out there.
#include "check.h"

__managed__ int counter = 5;

__global__ void increase(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += i;
#if HIP_VERSION_MAJOR < 7
    if (i == 0) counter += 1;
#endif
}

int main() {
    const int n = 4096;
    int able = 0, *p;
    CHECK(hipDeviceGetAttribute(&able, hipDeviceAttributeManagedMemory, 0));
    printf("managed memory: %d\n", able);
    CHECK(hipMallocManaged(&p, n * sizeof(int)));
    for (int i = 0; i < n; i++) p[i] = 1;
    increase<<<n / 256, 256>>>(p, n);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    long wrong = HIP_VERSION_MAJOR < 7 && counter != 6;
    for (int i = 0; i < n; i++) wrong += p[i] != 1 + i;
    return verdict("managed", wrong);
}
