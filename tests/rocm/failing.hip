// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels that fail: an assertion, an instruction that the GPU doesn't know, and a store to nowhere. HSA tells the
// program which it was. HIP 6 ends it; HIP 7 lets it go on with an error.
#include "check.h"

#include <cassert>
#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

__global__ void halve(int *values) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    assert(values[t] != 37);
    values[t] /= 2;
}

// SOPP opcode 127, which no GPU has.
__global__ void unknown(int *values) {
    asm volatile(".long 0xbfff0000");
    values[0] = 1;
}

__global__ void store(int *values) { *values = 1; }

struct Failure {
    const char *name;
    const char *wanted;
};

static const Failure FAILURES[] = {
    {"assertion", "Device-side assertion `values[t] != 37' failed."},
    {"assertion", "HSA_STATUS_ERROR_EXCEPTION"},
    {"instruction", "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION"},
#if HIP_VERSION_MAJOR < 7
    {"address", "Memory access fault by GPU node-1"},
#else
    {"instruction", "hipDeviceSynchronize: hipErrorLaunchFailure"},
    {"address", "HSA_STATUS_ERROR_MEMORY_FAULT"},
    {"address", "hipDeviceSynchronize: hipErrorIllegalAddress"},
#endif
};

// What a program returns to which a kernel's failure is an error.
constexpr int GOES_ON = 3;

static bool ended_right(int status) {
#if HIP_VERSION_MAJOR < 7
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
#else
    return WIFEXITED(status) && WEXITSTATUS(status) == GOES_ON;
#endif
}

static int fail(const std::string &name) {
    std::vector<int> values(64);
    for (int i = 0; i < 64; i++) values[i] = i;
    int *device = to_device(values);
    if (name == "assertion") halve<<<1, 64>>>(device);
    if (name == "instruction") unknown<<<1, 32>>>(device);
    if (name == "address") store<<<1, 1>>>((int *)0x123400000000);
    hipError_t error = hipDeviceSynchronize();
    printf("hipDeviceSynchronize: %s\n", hipGetErrorName(error));
    return GOES_ON;
}

// What a process of its own prints in which a kernel fails; `status` is how it ended. The fork comes before any call
// of HIP, whose state does not survive a fork.
static std::string outputs(const std::string &name, int *status) {
    int ends[2];
    if (pipe(ends) != 0) exit(2);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        exit(fail(name));
    }
    close(ends[1]);
    std::string output;
    char buffer[512];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0; output.append(buffer, n))
        fwrite(buffer, 1, n, stdout);
    close(ends[0]);
    waitpid(child, status, 0);
    return output;
}

int main() {
    long wrong = 0;
    std::string name, output;
    int status = 0;
    for (const Failure &failure : FAILURES) {
        if (name != failure.name) output = outputs(name = failure.name, &status);
        bool told = output.find(failure.wanted) != std::string::npos;
        bool ended = ended_right(status);
        printf("%s: %s%s\n", failure.name, told ? "" : "not told of ", failure.wanted);
        if (!ended) printf("%s: ended with status %#x\n", failure.name, status);
        wrong += !told + !ended;
    }
    return verdict("failing", wrong);
}
