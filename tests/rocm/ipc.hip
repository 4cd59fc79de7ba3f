// SPDX-License-Identifier: MIT OR Apache-2.0
// Two processes use the same memory of the device (hipIpcMemHandle_t), the second one after an event of the first
// (hipIpcEventHandle_t).
#include "check.h"
#include "peer.h"

static const int N = 1 << 16;

__global__ void fill(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = i;
}

__global__ void twice(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] *= 2;
}

static int first(const Peer &peer) {
    int *p = on_device<int>(N);
    hipEvent_t filled;
    CHECK(hipEventCreateWithFlags(&filled, hipEventDisableTiming | hipEventInterprocess));
    hipIpcMemHandle_t memory;
    hipIpcEventHandle_t event;
    CHECK(hipIpcGetMemHandle(&memory, p));
    CHECK(hipIpcGetEventHandle(&event, filled));
    fill<<<N / 256, 256>>>(p, N);
    CHECK(hipGetLastError());
    CHECK(hipEventRecord(filled, 0));
    tell(peer, memory);
    tell(peer, event);
    long wrong = end_of(peer);
    std::vector<int> got = to_host(p, N);
    for (int i = 0; i < N; i++) wrong += got[i] != 2 * i;
    CHECK(hipFree(p));
    return verdict("ipc", wrong);
}

static int second(const Peer &peer) {
    auto memory = hear<hipIpcMemHandle_t>(peer);
    auto event = hear<hipIpcEventHandle_t>(peer);
    void *p;
    hipEvent_t filled;
    hipStream_t stream;
    CHECK(hipIpcOpenMemHandle(&p, memory, hipIpcMemLazyEnablePeerAccess));
    CHECK(hipIpcOpenEventHandle(&filled, event));
    CHECK(hipStreamCreate(&stream));
    CHECK(hipStreamWaitEvent(stream, filled, 0));
    twice<<<N / 256, 256, 0, stream>>>(static_cast<int *>(p), N);
    CHECK(hipGetLastError());
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipIpcCloseMemHandle(p));
    return 0;
}

int main() {
    const Peer peer = part();
    return peer.child ? first(peer) : second(peer);
}
