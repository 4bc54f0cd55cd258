// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of outer products, the matrix product C += A^T B with the summed index slowest in both factors.
#pragma once

#include <cstddef>

namespace apsyn {

/// c[row][col] += sum_k a[k][row] b[k][col]; rows a multiple of 8, cols a multiple of outer_sum_columns().
/// Each element is summed in the order of k, so results depend on the instruction set at most, never on
/// threads.
void outer_sum(std::size_t n_k, std::size_t n_rows, std::size_t n_cols, const float* a, const float* b,
               float* c);
void outer_sum(std::size_t n_k, std::size_t n_rows, std::size_t n_cols, const double* a, const double* b,
               double* c);

/// Columns come in groups of this many (64 bytes).
template <class T>
constexpr std::size_t outer_sum_columns() {
  return 64 / sizeof(T);
}

}  // namespace apsyn
