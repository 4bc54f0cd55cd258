// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>

namespace apsyn::projection {

/// Visibilities that fall onto the same N x N cells, each with its own weights.
struct Run {
  std::size_t n_visibilities = 0, size = 0;
  const float* const* weights = nullptr;  ///< [visibility] -> [v][u][re, im]
  float* values = nullptr;                ///< [visibility][pol][re, im]
  float* cells = nullptr;                 ///< the first: [v][pol][u][re, im]
  std::size_t row_floats = 0;             ///< from one pol to the next
};
/// cells += sum of weight times value. A cell stays in a register until all visibilities have been added.
void add_run(const Run& run);
/// values = sum of the conjugate weight times the cell.
void dot_run(const Run& run);

}  // namespace apsyn::projection
