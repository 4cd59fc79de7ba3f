// SPDX-License-Identifier: MIT OR Apache-2.0
// What HIP reports about the device: devicequery TARGET, where TARGET is the device's, such as gfx942.
#include "check.h"

#include <cstring>

int main(int argc, char **argv) {
    const char *target = argc > 1 ? argv[1] : "";
    int devices = 0, runtime = 0, driver = 0;
    CHECK(hipGetDeviceCount(&devices));
    CHECK(hipRuntimeGetVersion(&runtime));
    CHECK(hipDriverGetVersion(&driver));
    printf("devices %d, runtime %d, driver %d\n", devices, runtime, driver);
    hipDeviceProp_t p;
    CHECK(hipGetDeviceProperties(&p, 0));
    printf("%s, %s, %zu MiB, %d compute units at %d MHz, waves of %d, %zu KiB of LDS\n", p.name,
           p.gcnArchName, p.totalGlobalMem >> 20, p.multiProcessorCount, p.clockRate / 1000,
           p.warpSize, p.sharedMemPerBlock >> 10);
    size_t free_bytes, total;
    CHECK(hipMemGetInfo(&free_bytes, &total));
    printf("%zu MiB of %zu MiB free\n", free_bytes >> 20, total >> 20);
    // The name may have features behind it, such as "gfx942:sramecc+:xnack-".
    const size_t length = strcspn(p.gcnArchName, ":");
    const bool right = strlen(target) == length && !strncmp(p.gcnArchName, target, length);
    return verdict("devicequery", (devices != 1) + !right + (p.totalGlobalMem != total) +
                                      (free_bytes == 0 || free_bytes > total) +
                                      (p.multiProcessorCount < 1));
}
