// SPDX-License-Identifier: GPL-3.0-or-later
// Gathers a VisibilitySummary in one pass and fixed memory: O(samples) work on one thread. uv coverage counts
// every unflagged sample's (u, v) nu / c and its conjugate (-u, -v); a sample counts where any of its
// products has weight > 0. Sums are double precision in the order of the data.
#pragma once

#include "libcore/core/visibility_summary.h"

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
  /// `about` names telescope, times (first and interval), channels, products and antennas; the rest is
  /// gathered. std::invalid_argument without channels or products.
  explicit VisibilitySummariser(VisibilitySummary about);
  /// std::invalid_argument when shapes disagree or a channel was not announced.
  void add(const VisibilityRows& rows);
  const VisibilitySummary& summary() const { return summary_; }

 private:
  void add_uv(double u, double v);
  VisibilitySummary summary_;
};

}  // namespace apsyn
