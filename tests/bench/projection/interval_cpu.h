// SPDX-License-Identifier: GPL-3.0-or-later
// The visibilities of an interval in the order of their cells, and the patch of the grid that they lie on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/bench/projection/projection.h"

namespace apsyn::projection {

struct Sample {
  std::int32_t v, u;  ///< first cell of its kernel, from the grid's centre
  std::uint32_t table, offset, row, chan;
  bool same_cell(const Sample& other) const { return v == other.v && u == other.u; }
};

/// A part of the grid with room for the kernels of the outermost visibilities.
struct Patch {
  std::int64_t first_v = 0, first_u = 0;
  std::size_t n_v = 0, n_u = 0;
  std::vector<float> cells;  ///< [v][pol][u][re, im]
};

struct SortScratch {
  std::vector<Sample> unsorted;
  std::vector<std::uint32_t> counts;
};
/// Fills `samples` and places the patch, without its cells. std::length_error when the interval's
/// visibilities would reach around the grid.
void sort_interval(const Setup& setup, const Visibilities& visibilities, std::size_t interval,
                   SortScratch& scratch, std::vector<Sample>& samples, Patch& patch);

/// Adds the rows [first_row, last_row) of the grid [v][pol][u] that patches have, in their order.
void add_patches(std::span<const Patch> patches, std::size_t first_row, std::size_t last_row,
                 View<std::complex<float>, 3> grid);
/// Fills the patch from the grid.
void read_patch(View<const std::complex<float>, 3> grid, Patch& patch);

}  // namespace apsyn::projection
