// SPDX-License-Identifier: MIT OR Apache-2.0
// An assertion that fails on the device: its message reaches the program's stderr.
//
// ROCm's trap handler is not installed, so HIP doesn't learn of the trap that follows, and the program
// would wait for ever. It runs in a process of its own that is killed; others must not notice.
#include "check.h"

#include <cassert>
#include <csignal>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

__global__ void halve(int *values) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    assert(values[t] != 37);
    values[t] /= 2;
}

static int fail() {
    std::vector<int> values(64);
    for (int i = 0; i < 64; i++) values[i] = i;
    halve<<<1, 64>>>(to_device(values));
    hipError_t error = hipDeviceSynchronize();
    printf("hipDeviceSynchronize: %s\n", hipGetErrorName(error));
    return 3;
}

// Copies the child's output to stdout until it contains `wanted`, or until there is none for `seconds`.
static bool prints(int from, const char *wanted, int seconds) {
    std::string output;
    pollfd ready{from, POLLIN, 0};
    while (poll(&ready, 1, seconds * 1000) > 0) {
        char buffer[512];
        ssize_t n = read(from, buffer, sizeof buffer);
        if (n <= 0) return false;
        fwrite(buffer, 1, n, stdout);
        output.append(buffer, n);
        if (output.find(wanted) != std::string::npos) return true;
    }
    return false;
}

int main() {
    int ends[2];
    if (pipe(ends) != 0) return 2;
    // The fork comes before any call of HIP, whose state does not survive a fork.
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        return fail();
    }
    close(ends[1]);
    bool printed = prints(ends[0], "Device-side assertion `values[t] != 37' failed.", 600);
    sleep(2);
    int status = 0;
    bool ended = waitpid(child, &status, WNOHANG) == child;
    printf("2 s later the program %s\n", ended ? "has ended" : "waits on, and is killed");
    if (!ended) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    return verdict("failing", !printed);
}
