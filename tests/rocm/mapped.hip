// SPDX-License-Identifier: MIT OR Apache-2.0
// Virtual memory: addresses reserved first, two pieces of memory mapped there side by side, one kernel over both; then
// one piece takes the other's place, unless MAPPED_ONCE is set.
#include "check.h"

__global__ void add(int *p, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += value;
}

// How many of the `n` elements at `p` aren't `first` and on.
static long count_wrong(const int *p, size_t n, size_t first) {
    const std::vector<int> got = to_host(p, n);
    long wrong = 0;
    for (size_t i = 0; i < n; i++) wrong += got[i] != static_cast<int>(first + i);
    return wrong;
}

int main() {
    hipMemAllocationProp prop = {};
    prop.type = hipMemAllocationTypePinned;
    prop.location.type = hipMemLocationTypeDevice;
    prop.location.id = 0;
    size_t size = 0;
    CHECK(hipMemGetAllocationGranularity(&size, &prop, hipMemAllocationGranularityMinimum));
    if (size < 65536) size = 65536 / size * size;
    const size_t n = size / sizeof(int);
    printf("two pieces of %zu bytes\n", size);

    void *base;
    CHECK(hipMemAddressReserve(&base, 2 * size, 0, nullptr, 0));
    char *at = static_cast<char *>(base);
    hipMemAccessDesc access = {};
    access.location = prop.location;
    access.flags = hipMemAccessFlagsProtReadWrite;
    hipMemGenericAllocationHandle_t pieces[2];
    std::vector<int> values(2 * n);
    for (size_t i = 0; i < 2 * n; i++) values[i] = static_cast<int>(i);
    for (int i = 0; i < 2; i++) {
        CHECK(hipMemCreate(&pieces[i], size, &prop, 0));
        CHECK(hipMemMap(at + i * size, size, 0, pieces[i], 0));
        CHECK(hipMemSetAccess(at + i * size, size, &access, 1));
        CHECK(hipMemcpy(at + i * size, &values[i * n], size, hipMemcpyHostToDevice));
    }

    int *p = static_cast<int *>(base);
    add<<<static_cast<unsigned>((2 * n + 255) / 256), 256>>>(p, static_cast<int>(2 * n), 3);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    long wrong = count_wrong(p, n, 3) + count_wrong(p + n, n, n + 3);

    // The second piece, where the first was.
    for (int i = 0; i < 2; i++) CHECK(hipMemUnmap(at + i * size, size));
    if (!getenv("MAPPED_ONCE")) {
        CHECK(hipMemMap(at, size, 0, pieces[1], 0));
        CHECK(hipMemSetAccess(at, size, &access, 1));
        wrong += count_wrong(p, n, n + 3);
        CHECK(hipMemUnmap(at, size));
    }

    for (int i = 0; i < 2; i++) CHECK(hipMemRelease(pieces[i]));
    CHECK(hipMemAddressFree(base, 2 * size));
    return verdict("mapped", wrong);
}
