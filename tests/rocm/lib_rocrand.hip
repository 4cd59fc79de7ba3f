// SPDX-License-Identifier: MIT OR Apache-2.0
// rocRAND: Philox 4x32-10 against the algorithm as published (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", 2011), and the mean and spread of uniform and normal numbers of XORWOW.
#include "check.h"

#include <rocrand/rocrand.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#define RAND(call)                                                                \
    do {                                                                          \
        rocrand_status status = (call);                                           \
        if (status != ROCRAND_STATUS_SUCCESS) {                                   \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status); \
            exit(2);                                                              \
        }                                                                         \
    } while (0)

// Ten rounds on a counter.
static std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; round++) {
        uint64_t a = uint64_t(0xd2511f53) * c[0], b = uint64_t(0xcd9e8d57) * c[2];
        c = {uint32_t(b >> 32) ^ c[1] ^ key[0], uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ key[1], uint32_t(a)};
        key[0] += 0x9e3779b9;
        key[1] += 0xbb67ae85;
    }
    return c;
}

int main() {
    long wrong = 0;
    // A known answer of the authors' own (Random123, kat_vectors).
    wrong += philox({0, 0, 0, 0}, {0, 0}) !=
             std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    const size_t n = 4096;
    unsigned *words = on_device<unsigned>(n);
    rocrand_generator generator;
    RAND(rocrand_create_generator(&generator, ROCRAND_RNG_PSEUDO_PHILOX4_32_10));
    RAND(rocrand_set_seed(generator, 0x1234'5678'9abcULL));
    RAND(rocrand_generate(generator, words, n));
    std::vector<unsigned> got = to_host(words, n);
    // The first counter is 0; the next ones are those of other threads, so that each four numbers are a counter's.
    auto first = philox({0, 0, 0, 0}, {0x5678'9abc, 0x1234});
    for (int i = 0; i < 4; i++) wrong += got[i] != first[i];
    wrong += std::set<unsigned>(got.begin(), got.end()).size() < n - 4;
    RAND(rocrand_destroy_generator(generator));

    float *numbers = on_device<float>(n);
    RAND(rocrand_create_generator(&generator, ROCRAND_RNG_PSEUDO_XORWOW));
    auto moments = [&] {
        std::vector<float> values = to_host(numbers, n);
        double sum = 0, squares = 0;
        for (float value : values) sum += value, squares += double(value) * value;
        double mean = sum / n;
        return std::array<double, 2>{mean, squares / n - mean * mean};
    };
    // Five times the deviation that the mean, or the spread, of so many numbers has.
    RAND(rocrand_generate_uniform(generator, numbers, n));
    auto [mean, spread] = moments();
    wrong += std::abs(mean - 0.5) > 5 * 0.2887 / 64 || std::abs(spread - 1.0 / 12) > 0.006;
    RAND(rocrand_generate_normal(generator, numbers, n, 3.0f, 2.0f));
    auto [middle, square] = moments();
    wrong += std::abs(middle - 3) > 5 * 2.0 / 64 || std::abs(square - 4) > 5 * 4 * 1.4143 / 64;
    RAND(rocrand_destroy_generator(generator));
    return verdict("lib_rocrand", wrong);
}
