// SPDX-License-Identifier: MIT OR Apache-2.0
// Streams with masks of compute units: waves run on all of those and on no others, as the register HW_ID says. Which bit
// is which unit is in Linux's mqd_symmetrically_map_cu_mask: XCCs take turns, then shader engines, then arrays. On gfx12 a
// bit of HIP's masks is a work-group processor, and HIP makes two bits of it for the driver.
#include "check.h"

#include <array>
#include <set>
#include <string>

static const int BLOCKS = 4096;

// s_getreg_b32 of a whole register.
#define HWREG(number) (31 << 11 | (number))

__global__ void where(unsigned *out) {
    if (threadIdx.x != 0) return;
#if defined(__gfx942__)
    // HW_ID, XCC_ID.
    out[2 * blockIdx.x] = __builtin_amdgcn_s_getreg(HWREG(4));
    out[2 * blockIdx.x + 1] = __builtin_amdgcn_s_getreg(HWREG(20));
#elif defined(__gfx1201__)
    // HW_ID1.
    out[2 * blockIdx.x] = __builtin_amdgcn_s_getreg(HWREG(23));
    out[2 * blockIdx.x + 1] = 0;
#endif
}

// XCC, shader engine, array, number in the array.
using Unit = std::array<unsigned, 4>;

struct Chip {
    unsigned xccs, engines, arrays;
    Unit (*unit)(unsigned id, unsigned xcc);
};

// CU_ID in bits 11:8, SE_ID in 15:13.
static const Chip GFX942 = {4, 4, 1, [](unsigned id, unsigned xcc) { return Unit{xcc & 15, id >> 13 & 7, 0, id >> 8 & 15}; }};
// WGP_ID in bits 13:10, SA_ID in 16, SE_ID in 20:18.
static const Chip GFX1201 = {1, 4, 2, [](unsigned id, unsigned) { return Unit{0, id >> 18 & 7, id >> 16 & 1, id >> 10 & 15}; }};

// The units of a mask's bits.
static std::set<Unit> units(const Chip &chip, const std::vector<unsigned> &bits) {
    std::set<Unit> all;
    for (unsigned bit : bits) {
        unsigned xcc = bit % chip.xccs, rest = bit / chip.xccs;
        unsigned engine = rest % chip.engines;
        rest /= chip.engines;
        all.insert({xcc, engine, rest % chip.arrays, rest / chip.arrays});
    }
    return all;
}

static long seen_wrong(const Chip &chip, const std::vector<unsigned> &bits) {
    unsigned mask[4] = {};
    for (unsigned bit : bits) mask[bit / 32] |= 1u << bit % 32;
    hipStream_t stream;
    CHECK(hipExtStreamCreateWithCUMask(&stream, 4, mask));
    unsigned *out = on_device<unsigned>(2 * BLOCKS);
    where<<<BLOCKS, 64, 0, stream>>>(out);
    CHECK(hipGetLastError());
    CHECK(hipStreamSynchronize(stream));
    auto ids = to_host(out, 2 * BLOCKS);
    CHECK(hipFree(out));
    CHECK(hipStreamDestroy(stream));
    std::set<Unit> seen;
    for (int i = 0; i < BLOCKS; i++) seen.insert(chip.unit(ids[2 * i], ids[2 * i + 1]));
    auto wanted = units(chip, bits);
    for (auto &unit : seen)
        printf("%s XCC %u engine %u array %u unit %u\n", wanted.count(unit) ? "permitted:" : "NOT PERMITTED:", unit[0],
               unit[1], unit[2], unit[3]);
    printf("%zu units of %zu\n", seen.size(), wanted.size());
    return seen != wanted;
}

int main() {
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    bool gfx942 = std::string(properties.gcnArchName).rfind("gfx942", 0) == 0;
    const Chip &chip = gfx942 ? GFX942 : GFX1201;
    long wrong = 0;
    // One unit of each XCC, or one work-group processor; then some here and there.
    wrong += seen_wrong(chip, gfx942 ? std::vector<unsigned>{0, 1, 2, 3} : std::vector<unsigned>{0});
    wrong += seen_wrong(chip, gfx942 ? std::vector<unsigned>{0, 1, 2, 3, 4, 37, 62, 79}
                                     : std::vector<unsigned>{3, 4, 14, 25, 31});
    return verdict("masks", wrong);
}
