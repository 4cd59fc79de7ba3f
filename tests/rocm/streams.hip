// SPDX-License-Identifier: MIT OR Apache-2.0
// Four streams that copy and compute side by side, one that waits for another's event, and the
// time between two events.
#include "check.h"

__global__ void scale(float *p, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = p[i] * factor;
}

int main() {
    const int n = 1 << 18, streams = 4, part = n / streams;
    const size_t bytes = part * sizeof(float);
    float *host, *device = on_device<float>(n);
    CHECK(hipHostMalloc(&host, n * sizeof(float)));
    for (int i = 0; i < n; i++) host[i] = i;
    hipStream_t stream[streams];
    hipEvent_t begin, end, second_done;
    CHECK(hipEventCreate(&begin));
    CHECK(hipEventCreate(&end));
    CHECK(hipEventCreateWithFlags(&second_done, hipEventDisableTiming));
    for (auto &s : stream) CHECK(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));

    CHECK(hipEventRecord(begin, stream[0]));
    for (int k = 0; k < streams; k++) {
        float *to = device + k * part;
        CHECK(hipMemcpyAsync(to, host + k * part, bytes, hipMemcpyHostToDevice, stream[k]));
        scale<<<part / 256, 256, 0, stream[k]>>>(to, 2.0f, part);
    }
    // The second part is halved again, in another stream than it was doubled in.
    CHECK(hipEventRecord(second_done, stream[1]));
    CHECK(hipStreamWaitEvent(stream[0], second_done, 0));
    scale<<<part / 256, 256, 0, stream[0]>>>(device + part, 0.5f, part);
    CHECK(hipGetLastError());
    CHECK(hipEventRecord(end, stream[0]));
    for (auto &s : stream) CHECK(hipStreamSynchronize(s));
    CHECK(hipEventSynchronize(end));
    float ms = -1;
    CHECK(hipEventElapsedTime(&ms, begin, end));
    printf("elapsed %g ms\n", ms);

    for (int i = 0; i < n; i++) host[i] = -1;
    for (int k = 0; k < streams; k++)
        CHECK(hipMemcpyAsync(host + k * part, device + k * part, bytes, hipMemcpyDeviceToHost,
                             stream[k]));
    CHECK(hipDeviceSynchronize());
    long wrong = ms <= 0;
    for (int i = 0; i < n; i++) wrong += host[i] != (i / part == 1 ? i : i * 2.0f);
    return verdict("streams", wrong);
}
