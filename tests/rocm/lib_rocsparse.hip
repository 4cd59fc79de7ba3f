// SPDX-License-Identifier: MIT OR Apache-2.0
// rocSPARSE: a matrix of few elements (compressed rows, single precision) times a vector, as it is and transposed, against
// the same by the CPU.
#include "check.h"

#include <rocsparse/rocsparse.h>

#define SPARSE(call)                                                              \
    do {                                                                          \
        rocsparse_status status = (call);                                         \
        if (status != rocsparse_status_success) {                                 \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status); \
            exit(2);                                                              \
        }                                                                         \
    } while (0)

int main() {
    const int rows = 1500, columns = 1200;
    std::vector<int> starts{0}, places;
    std::vector<float> values, x(columns), tall(rows);
    // Rows of 0 to 40 elements, in order.
    for (int row = 0; row < rows; row++) {
        for (int i = 0, column = row % 7; i < row % 41 && column < columns; i++, column += 1 + (row + i) % 29) {
            places.push_back(column);
            values.push_back(float((row + i) % 9 - 4) / 2);
        }
        starts.push_back(int(places.size()));
    }
    for (int i = 0; i < columns; i++) x[i] = float(i % 11 - 5) / 4;
    for (int i = 0; i < rows; i++) tall[i] = float(i % 7 - 3) / 4;

    auto *on_starts = to_device(starts), *on_places = to_device(places);
    auto *on_values = to_device(values), *on_x = to_device(x), *on_tall = to_device(tall);
    rocsparse_handle handle;
    rocsparse_mat_descr matrix;
    SPARSE(rocsparse_create_handle(&handle));
    SPARSE(rocsparse_create_mat_descr(&matrix));
    const float one = 1, two = 2;
    long wrong = 0;

    // tall = 2 M x + tall.
    std::vector<float> wanted = tall;
    for (int row = 0; row < rows; row++)
        for (int i = starts[row]; i < starts[row + 1]; i++) wanted[row] += 2 * values[i] * x[places[i]];
    SPARSE(rocsparse_scsrmv(handle, rocsparse_operation_none, rows, columns, int(values.size()), &two, matrix, on_values,
                            on_starts, on_places, nullptr, on_x, &one, on_tall));
    auto got = to_host(on_tall, rows);
    for (int row = 0; row < rows; row++) wrong += std::abs(got[row] - wanted[row]) > 1e-3f;

    // x = M' tall + x, with the new tall.
    std::vector<double> across(x.begin(), x.end());
    for (int row = 0; row < rows; row++)
        for (int i = starts[row]; i < starts[row + 1]; i++) across[places[i]] += double(values[i]) * got[row];
    SPARSE(rocsparse_scsrmv(handle, rocsparse_operation_transpose, rows, columns, int(values.size()), &one, matrix,
                            on_values, on_starts, on_places, nullptr, on_tall, &one, on_x));
    auto sums = to_host(on_x, columns);
    for (int i = 0; i < columns; i++) wrong += std::abs(sums[i] - across[i]) > 1e-2;

    SPARSE(rocsparse_destroy_mat_descr(matrix));
    SPARSE(rocsparse_destroy_handle(handle));
    return verdict("lib_rocsparse", wrong);
}
