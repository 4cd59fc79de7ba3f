// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels that fail: an assertion, an instruction that the GPU doesn't know, and a store to nowhere. HSA tells the
// program which it was, and ends it.
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
    {"address", "Memory access fault by GPU node-1"},
};

static int fail(const std::string &name) {
    std::vector<int> values(64);
    for (int i = 0; i < 64; i++) values[i] = i;
    int *device = to_device(values);
    if (name == "assertion") halve<<<1, 64>>>(device);
    if (name == "instruction") unknown<<<1, 32>>>(device);
    if (name == "address") store<<<1, 1>>>((int *)0x123400000000);
    hipError_t error = hipDeviceSynchronize();
    printf("hipDeviceSynchronize: %s\n", hipGetErrorName(error));
    return 3;
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
        bool aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
        printf("%s: %s%s\n", failure.name, told ? "" : "not told of ", failure.wanted);
        if (!aborted) printf("%s: ended with status %#x\n", failure.name, status);
        wrong += !told + !aborted;
    }
    return verdict("failing", wrong);
}
