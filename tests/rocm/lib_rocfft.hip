// SPDX-License-Identifier: MIT OR Apache-2.0
// rocFFT: a transform of complex numbers against its definition in double precision, and there and back again.
#include "check.h"

#include <rocfft/rocfft.h>

#include <complex>

#define FFT(call)                                                                 \
    do {                                                                          \
        rocfft_status status = (call);                                            \
        if (status != rocfft_status_success) {                                    \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status); \
            exit(2);                                                              \
        }                                                                         \
    } while (0)

int main() {
    const size_t n = 512;
    std::vector<std::complex<float>> values(n);
    for (size_t i = 0; i < n; i++) values[i] = {float(i % 17) - 8, float(i % 5) * 0.5f};
    auto *data = to_device(values);
    void *in[] = {data};
    FFT(rocfft_setup());
    rocfft_plan there, back;
    FFT(rocfft_plan_create(&there, rocfft_placement_inplace, rocfft_transform_type_complex_forward,
                           rocfft_precision_single, 1, &n, 1, nullptr));
    FFT(rocfft_plan_create(&back, rocfft_placement_inplace, rocfft_transform_type_complex_inverse,
                           rocfft_precision_single, 1, &n, 1, nullptr));
    FFT(rocfft_execute(there, in, nullptr, nullptr));
    CHECK(hipDeviceSynchronize());
    auto got = to_host(data, n);
    long wrong = 0;
    for (size_t k = 0; k < n; k++) {
        std::complex<double> sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += std::complex<double>(values[i]) * std::polar(1.0, -2 * M_PI * double(i * k % n) / n);
        wrong += std::abs(std::complex<double>(got[k]) - sum) > 1e-5 * n * 10;
    }
    FFT(rocfft_execute(back, in, nullptr, nullptr));
    CHECK(hipDeviceSynchronize());
    got = to_host(data, n);
    for (size_t i = 0; i < n; i++) wrong += std::abs(got[i] / float(n) - values[i]) > 1e-4f;
    FFT(rocfft_plan_destroy(there));
    FFT(rocfft_plan_destroy(back));
    FFT(rocfft_cleanup());
    return verdict("lib_rocfft", wrong);
}
