// SPDX-License-Identifier: MIT OR Apache-2.0
// Copies and a kernel captured into a graph, which is then launched; variables of the device.
#include "check.h"

__constant__ float coefficients[4];
__device__ int evaluated;

__host__ __device__ static float polynomial(const float *c, float x) {
    return ((c[3] * x + c[2]) * x + c[1]) * x + c[0];
}

__global__ void evaluate(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = polynomial(coefficients, x[i]);
        atomicAdd(&evaluated, 1);
    }
}

int main() {
    const int n = 1024, launches = 2;
    const size_t bytes = n * sizeof(float);
    const float c[4] = {1, 2, 3, 0.5f};
    int count = 0;
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(coefficients), c, sizeof c));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(evaluated), &count, sizeof count));
    std::vector<float> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = i % 8;
    float *x = on_device<float>(n);
    hipStream_t s;
    hipGraph_t graph;
    hipGraphExec_t executable;
    CHECK(hipStreamCreate(&s));
    CHECK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    CHECK(hipMemcpyAsync(x, in.data(), bytes, hipMemcpyHostToDevice, s));
    evaluate<<<n / 256, 256, 0, s>>>(x, n);
    CHECK(hipMemcpyAsync(out.data(), x, bytes, hipMemcpyDeviceToHost, s));
    CHECK(hipStreamEndCapture(s, &graph));
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    for (int i = 0; i < launches; i++) CHECK(hipGraphLaunch(executable, s));
    CHECK(hipStreamSynchronize(s));
    CHECK(hipMemcpyFromSymbol(&count, HIP_SYMBOL(evaluated), sizeof count));
    long wrong = count != launches * n;
    for (int i = 0; i < n; i++) wrong += out[i] != polynomial(c, in[i]);
    return verdict("graph", wrong);
}
