// SPDX-License-Identifier: GPL-3.0-or-later
// An axis of bins that leaves out long stretches without data: a thin break stands for each.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/plot/ticks.h"

namespace apsyn {

/// Bins without a long gap between them.
struct AxisPart {
  std::int64_t first_bin = 0;
  std::size_t n_bin = 0;
  double begin = 0, end = 1;  ///< where it stands, as fractions of the axis
};

struct BrokenAxis {
  double bin_width = 1;
  int n_widened = 0;            ///< how often bins were added to their neighbours
  std::vector<AxisPart> parts;  ///< rising
  std::size_t n_column() const;
  double low(const AxisPart& part) const { return bin_width * static_cast<double>(part.first_bin); }
  double high(const AxisPart& part) const {
    return bin_width * static_cast<double>(part.first_bin + static_cast<std::int64_t>(part.n_bin));
  }
  /// The column, counted through all parts, that shows an original bin with data.
  std::size_t column(std::int64_t bin) const;
};

/// `bins` rise and have data. Gaps of more than three bins and a hundredth of the axis become breaks, which
/// take at most a fifth of the axis together. When there were over 64 breaks, or the shorter gaps took over a
/// fifth of the bins, bins are widened until there are fewer. std::invalid_argument without bins.
BrokenAxis break_axis(const std::vector<std::int64_t>& bins, double bin_width);

/// Ticks at fractions of the axis that are labelled with what is true there, in units of `unit`: about
/// `target` in all, and one at least in each part that can be told from its neighbours.
std::vector<Tick> broken_ticks(const BrokenAxis& axis, double unit, int target);

}  // namespace apsyn
