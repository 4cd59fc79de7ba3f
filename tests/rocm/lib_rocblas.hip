// SPDX-License-Identifier: MIT OR Apache-2.0
// rocBLAS: a scalar product, a sum of vectors, and products of matrices in single and double precision, plain and transposed,
// against the same by the CPU in double precision.
#include "check.h"

#include <rocblas/rocblas.h>

#define BLAS(call)                                                                \
    do {                                                                          \
        rocblas_status status = (call);                                           \
        if (status != rocblas_status_success) {                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,         \
                    rocblas_status_to_string(status));                            \
            exit(2);                                                              \
        }                                                                         \
    } while (0)

// Small whole numbers and halves, so that sums of few hundred products are exact in single precision.
template <typename T>
static std::vector<T> numbers(size_t n, int step) {
    std::vector<T> values(n);
    for (size_t i = 0; i < n; i++) values[i] = T(int(i * step % 13) - 6) / 2;
    return values;
}

static rocblas_status product(rocblas_handle handle, rocblas_operation of_a, int m, int n, int k, const float *alpha,
                              const float *a, int lda, const float *b, int ldb, const float *beta, float *c) {
    return rocblas_sgemm(handle, of_a, rocblas_operation_none, m, n, k, alpha, a, lda, b, ldb, beta, c, m);
}

static rocblas_status product(rocblas_handle handle, rocblas_operation of_a, int m, int n, int k, const double *alpha,
                              const double *a, int lda, const double *b, int ldb, const double *beta, double *c) {
    return rocblas_dgemm(handle, of_a, rocblas_operation_none, m, n, k, alpha, a, lda, b, ldb, beta, c, m);
}

// C = 2 A B - C, columns one behind the other, with A as it is or transposed; how many elements are wrong.
template <typename T>
static long products(rocblas_handle handle, int m, int n, int k, bool transposed) {
    auto a = numbers<T>(size_t(m) * k, 5), b = numbers<T>(size_t(k) * n, 7), c = numbers<T>(size_t(m) * n, 3);
    T *on_a = to_device(a), *on_b = to_device(b), *on_c = to_device(c);
    T alpha = 2, beta = -1;
    auto of_a = transposed ? rocblas_operation_transpose : rocblas_operation_none;
    BLAS(product(handle, of_a, m, n, k, &alpha, on_a, transposed ? k : m, on_b, k, &beta, on_c));
    auto got = to_host(on_c, c.size());
    long wrong = 0;
    for (int column = 0; column < n; column++) {
        for (int row = 0; row < m; row++) {
            double sum = 0;
            for (int i = 0; i < k; i++)
                sum += double(transposed ? a[size_t(row) * k + i] : a[size_t(i) * m + row]) * b[size_t(column) * k + i];
            size_t at = size_t(column) * m + row;
            wrong += std::abs(2 * sum - c[at] - got[at]) > 1e-3;
        }
    }
    for (T *memory : {on_a, on_b, on_c}) CHECK(hipFree(memory));
    return wrong;
}

int main() {
    rocblas_handle handle;
    BLAS(rocblas_create_handle(&handle));
    const int n = 5000;
    auto x = numbers<float>(n, 3), y = numbers<float>(n, 11);
    float *on_x = to_device(x), *on_y = to_device(y), found = 0, factor = 1.5f;
    double wanted = 0;
    for (int i = 0; i < n; i++) wanted += double(x[i]) * y[i];
    BLAS(rocblas_sdot(handle, n, on_x, 1, on_y, 1, &found));
    long wrong = std::abs(found - wanted) > 1e-2 * n;
    BLAS(rocblas_saxpy(handle, n, &factor, on_x, 1, on_y, 1));
    auto sums = to_host(on_y, n);
    for (int i = 0; i < n; i++) wrong += sums[i] != 1.5f * x[i] + y[i];
    for (bool transposed : {false, true}) {
        wrong += products<float>(handle, 64, 64, 64, transposed);
        wrong += products<float>(handle, 61, 35, 129, transposed);
        wrong += products<double>(handle, 48, 40, 33, transposed);
    }
    BLAS(rocblas_destroy_handle(handle));
    return verdict("lib_rocblas", wrong);
}
