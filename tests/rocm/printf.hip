// SPDX-License-Identifier: MIT OR Apache-2.0
// printf on the device: its lines are caught on their way out and compared with the host's.
#include "check.h"

#include <unistd.h>

#include <set>
#include <string>

#define FORMAT "block %d thread %d of %d: %f %s\n"

__global__ void hello(int k) {
    printf(FORMAT, (int)blockIdx.x, (int)threadIdx.x, k, k * 0.5, "word");
}

int main() {
    FILE *caught = tmpfile();
    if (!caught) return perror("tmpfile"), 2;
    fflush(stdout);
    int out = dup(1);
    dup2(fileno(caught), 1);
    hello<<<2, 4>>>(42);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    fflush(stdout);
    dup2(out, 1);

    // In any order.
    std::multiset<std::string> wanted, got;
    char line[128];
    for (int i = 0; i < 8; i++) {
        snprintf(line, sizeof line, FORMAT, i / 4, i % 4, 42, 42 * 0.5, "word");
        wanted.insert(line);
    }
    rewind(caught);
    while (fgets(line, sizeof line, caught)) {
        fputs(line, stdout);
        got.insert(line);
    }
    return verdict("printf", got != wanted);
}
