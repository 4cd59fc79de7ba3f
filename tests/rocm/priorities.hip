// SPDX-License-Identifier: MIT OR Apache-2.0
// A stream of each priority: it says which one it has, and all compute side by side.
#include "check.h"

__global__ void add(int *p, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += value;
}

int main() {
    const int n = 1 << 14, rounds = 4;
    int least, greatest;
    CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
    printf("priorities %d to %d\n", least, greatest);
    long wrong = greatest >= least;
    struct Lane {
        hipStream_t stream;
        int *p;
    };
    std::vector<Lane> lanes;
    for (int priority = greatest; priority <= least; priority++) {
        Lane lane = {nullptr, to_device(std::vector<int>(n, priority))};
        CHECK(hipStreamCreateWithPriority(&lane.stream, hipStreamNonBlocking, priority));
        int got = 99;
        CHECK(hipStreamGetPriority(lane.stream, &got));
        wrong += got != priority;
        lanes.push_back(lane);
    }
    for (int round = 0; round < rounds; round++)
        for (const Lane &lane : lanes) add<<<n / 256, 256, 0, lane.stream>>>(lane.p, n, 10);
    CHECK(hipGetLastError());
    for (size_t k = 0; k < lanes.size(); k++) {
        CHECK(hipStreamSynchronize(lanes[k].stream));
        for (int value : to_host(lanes[k].p, n)) wrong += value != greatest + static_cast<int>(k) + 10 * rounds;
        CHECK(hipStreamDestroy(lanes[k].stream));
    }
    return verdict("priorities", wrong);
}
