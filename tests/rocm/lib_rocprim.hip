// SPDX-License-Identifier: MIT OR Apache-2.0
// rocPRIM: reduction, scan, selection, run lengths, histogram and radix sort, compared with the standard library.
#include "check.h"

// rocPRIM uses memset and doesn't include what has it.
#include <cstring>
#include <rocprim/rocprim.hpp>

#include <algorithm>
#include <numeric>
#include <random>

namespace {

// Calls an algorithm twice, as the library wants it: for the size of its temporary memory, and to do it.
template <typename F>
void twice(F algorithm) {
    size_t bytes = 0;
    CHECK(algorithm(nullptr, bytes));
    char *memory = on_device<char>(std::max<size_t>(bytes, 1));
    CHECK(algorithm(memory, bytes));
    CHECK(hipDeviceSynchronize());
    CHECK(hipFree(memory));
}

template <typename T>
long differ(const std::vector<T> &got, const std::vector<T> &wanted) {
    long wrong = 0;
    for (size_t i = 0; i < wanted.size(); i++) wrong += got[i] != wanted[i];
    return wrong;
}

}  // namespace

int main() {
    const size_t n = 20'000;
    std::mt19937 random(7);
    std::vector<unsigned> values(n), order(n);
    for (unsigned &value : values) value = random() % 1000;
    std::iota(order.begin(), order.end(), 0);
    unsigned *in = to_device(values), *out = on_device<unsigned>(n), *count = on_device<unsigned>(1);
    long wrong = 0;

    twice([&](void *memory, size_t &bytes) {
        return rocprim::reduce(memory, bytes, in, out, 0u, n, rocprim::plus<unsigned>());
    });
    wrong += to_host(out, 1)[0] != std::accumulate(values.begin(), values.end(), 0u);

    twice([&](void *memory, size_t &bytes) {
        return rocprim::inclusive_scan(memory, bytes, in, out, n, rocprim::plus<unsigned>());
    });
    std::vector<unsigned> sums(n);
    std::partial_sum(values.begin(), values.end(), sums.begin());
    wrong += differ(to_host(out, n), sums);

    auto odd = [] __host__ __device__(unsigned value) { return value % 2 == 1; };
    twice([&](void *memory, size_t &bytes) {
        return rocprim::select(memory, bytes, in, out, count, n, odd);
    });
    std::vector<unsigned> odds;
    std::copy_if(values.begin(), values.end(), std::back_inserter(odds), odd);
    wrong += to_host(count, 1)[0] != odds.size();
    wrong += differ(to_host(out, odds.size()), odds);

    unsigned *from = to_device(order), *to = on_device<unsigned>(n);
    twice([&](void *memory, size_t &bytes) {
        return rocprim::radix_sort_pairs(memory, bytes, in, out, from, to, n);
    });
    // The sort is stable, so the pairs have one order.
    std::stable_sort(order.begin(), order.end(),
                     [&](unsigned a, unsigned b) { return values[a] < values[b]; });
    wrong += differ(to_host(to, n), order);
    std::vector<unsigned> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    wrong += differ(to_host(out, n), sorted);

    unsigned *lengths = on_device<unsigned>(n), *unique = on_device<unsigned>(n);
    twice([&](void *memory, size_t &bytes) {
        return rocprim::run_length_encode(memory, bytes, out, n, unique, lengths, count);
    });
    std::vector<unsigned> keys, runs;
    for (unsigned value : sorted) {
        if (keys.empty() || keys.back() != value) {
            keys.push_back(value);
            runs.push_back(0);
        }
        runs.back()++;
    }
    wrong += to_host(count, 1)[0] != keys.size();
    wrong += differ(to_host(unique, keys.size()), keys) + differ(to_host(lengths, runs.size()), runs);

    unsigned *bins = on_device<unsigned>(10);
    twice([&](void *memory, size_t &bytes) {
        return rocprim::histogram_even(memory, bytes, in, unsigned(n), bins, 11u, 0u, 1000u);
    });
    std::vector<unsigned> wanted(10);
    for (unsigned value : values) wanted[value / 100]++;
    wrong += differ(to_host(bins, 10), wanted);
    return verdict("lib_rocprim", wrong);
}
