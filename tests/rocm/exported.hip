// SPDX-License-Identifier: MIT OR Apache-2.0
// Virtual memory of two processes: one makes a piece and gives it away as an open file, both map it where they like.
#include "check.h"
#include "peer.h"

__global__ void add(int *p, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += value;
}

static hipMemAllocationProp properties() {
    hipMemAllocationProp prop = {};
    prop.type = hipMemAllocationTypePinned;
    prop.location.type = hipMemLocationTypeDevice;
    prop.location.id = 0;
#if HIP_VERSION_MAJOR < 7
    prop.requestedHandleType = hipMemHandleTypePosixFileDescriptor;
#else
    prop.requestedHandleTypes = hipMemHandleTypePosixFileDescriptor;
#endif
    return prop;
}

// Maps a piece for reading and writing.
static int *mapped(hipMemGenericAllocationHandle_t piece, size_t size) {
    void *at;
    hipMemAccessDesc access = {};
    access.location = properties().location;
    access.flags = hipMemAccessFlagsProtReadWrite;
    CHECK(hipMemAddressReserve(&at, size, 0, nullptr, 0));
    CHECK(hipMemMap(at, size, 0, piece, 0));
    CHECK(hipMemSetAccess(at, size, &access, 1));
    return static_cast<int *>(at);
}

static void unmap(int *at, size_t size, hipMemGenericAllocationHandle_t piece) {
    CHECK(hipMemUnmap(at, size));
    CHECK(hipMemRelease(piece));
    CHECK(hipMemAddressFree(at, size));
}

static long increase(int *p, int n, int first) {
    add<<<(n + 255) / 256, 256>>>(p, n, 1);
    CHECK(hipGetLastError());
    std::vector<int> got = to_host(p, n);
    long wrong = 0;
    for (int i = 0; i < n; i++) wrong += got[i] != first + i;
    return wrong;
}

static int first(const Peer &peer) {
    const hipMemAllocationProp prop = properties();
    size_t size = 0;
    CHECK(hipMemGetAllocationGranularity(&size, &prop, hipMemAllocationGranularityMinimum));
    if (size < 65536) size = 65536 / size * size;
    const int n = size / sizeof(int);
    hipMemGenericAllocationHandle_t piece;
    CHECK(hipMemCreate(&piece, size, &prop, 0));
    int *p = mapped(piece, size);
    std::vector<int> values(n);
    for (int i = 0; i < n; i++) values[i] = i;
    CHECK(hipMemcpy(p, values.data(), size, hipMemcpyHostToDevice));
    long wrong = increase(p, n, 1);
    int file;
    CHECK(hipMemExportToShareableHandle(&file, piece, hipMemHandleTypePosixFileDescriptor, 0));
    tell(peer, size);
    hand(peer, file);
    close(file);
    wrong += end_of(peer);
    wrong += increase(p, n, 3);
    unmap(p, size, piece);
    return verdict("exported", wrong);
}

static int second(const Peer &peer) {
    const auto size = hear<size_t>(peer);
    const int file = take(peer);
    hipMemGenericAllocationHandle_t piece;
    // HIP 6 is given the address of the file's number, HIP 7 the number.
#if HIP_VERSION_MAJOR < 7
    void *from = const_cast<int *>(&file);
#else
    void *from = reinterpret_cast<void *>(static_cast<intptr_t>(file));
#endif
    CHECK(hipMemImportFromShareableHandle(&piece, from, hipMemHandleTypePosixFileDescriptor));
    close(file);
    int *p = mapped(piece, size);
    const long wrong = increase(p, size / sizeof(int), 2);
    unmap(p, size, piece);
    return wrong ? 1 : 0;
}

int main() {
    const Peer peer = part();
    return peer.child ? first(peer) : second(peer);
}
