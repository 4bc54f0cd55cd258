// SPDX-License-Identifier: GPL-3.0-or-later
// Gathers a VisibilitySummary in one pass and fixed memory: O(samples) work on one thread. uv coverage counts
// every unflagged sample's (u, v) nu / c and its conjugate (-u, -v); a sample counts where any of its
// products has weight > 0. Sums are double precision in the order of the data.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/visibility/visibility_summary.h"

namespace apsyn {

/// Rows of one spectral window.
struct VisibilityRows {
  View<const double, 2> uvw_m;                 ///< [row][3]
  const double* time_mjd_s = nullptr;          ///< [row], mid-integration
  const int *ant1 = nullptr, *ant2 = nullptr;  ///< [row]
  const std::vector<double>* channel_hz = nullptr;
  View<const std::complex<float>, 3> data;  ///< [row][chan][product]
  View<const float, 3> weight;              ///< 0 = flagged
};

class VisibilitySummariser {
 public:
  /// `about` names telescope, times (first and interval), channels, products and antennas, and the baselines
  /// of `fringes` with their channel and the `waterfall` if they are wanted; the rest is gathered.
  /// std::invalid_argument without channels or products.
  explicit VisibilitySummariser(VisibilitySummary about);
  /// std::invalid_argument when shapes disagree or a channel was not announced.
  void add(const VisibilityRows& rows);
  const VisibilitySummary& summary() const { return summary_; }

 private:
  void add_uv(double u, double v);
  void add_fringes(const VisibilityRows& rows);
  /// index[chan]: of a channel of the rows among all.
  void add_waterfall(const VisibilityRows& rows, const std::vector<std::size_t>& index);
  VisibilitySummary summary_;
  std::map<std::pair<int, int>, std::size_t> fringe_of_;  ///< (ant1, ant2) -> index
  std::vector<std::size_t> fringe_step_, fringe_rows_;    ///< every so many rows is kept; rows seen
};

/// Unflagged pairs of antennas whose lengths are spread evenly, the shortest first; at most n.
std::vector<Fringe> spread_baselines(const ArrayLayout& layout, std::size_t n);
/// "0:5,Tile01:Tile09" by names or indices; UsageError.
std::vector<Fringe> parse_baselines(std::string_view list, const ArrayLayout& layout);

}  // namespace apsyn
