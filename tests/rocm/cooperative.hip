// SPDX-License-Identifier: MIT OR Apache-2.0
// A cooperative launch: a barrier of the whole grid, and shuffles within a tile of a wave.
#include "check.h"

#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void sum(int *values, int n, int *out) {
    cg::grid_group grid = cg::this_grid();
    int own = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) own += values[i];
    values[grid.thread_rank()] = own;
    grid.sync();
    if (grid.thread_rank() == 0) {
        int total = 0;
        for (unsigned i = 0; i < grid.size(); i++) total += values[i];
        out[0] = total;
    }
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int v = tile.thread_rank();
    for (int distance = 8; distance > 0; distance >>= 1) v += tile.shfl_down(v, distance);
    if (grid.thread_rank() == 0) out[1] = v;
}

int main() {
    int able = 0, n = 4096;
    CHECK(hipDeviceGetAttribute(&able, hipDeviceAttributeCooperativeLaunch, 0));
    printf("cooperative launch: %d\n", able);
    int *values = to_device(std::vector<int>(n, 1)), *out = on_device<int>(2);
    void *args[] = {&values, &n, &out};
    CHECK(hipLaunchCooperativeKernel((void *)sum, dim3(4), dim3(64), args, 0, 0));
    CHECK(hipDeviceSynchronize());
    std::vector<int> got = to_host(out, 2);
    return verdict("cooperative", (able != 1) + (got[0] != n) + (got[1] != 15 * 16 / 2));
}
