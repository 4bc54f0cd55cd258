// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>

namespace apsyn {

/// Sums of the finite values of a piece about `about`.
struct PieceSums {
  double sum = 0, square = 0;
  std::size_t n = 0;
};
PieceSums sum_piece(const float* samples, std::size_t n, float about);

}  // namespace apsyn
