// SPDX-License-Identifier: GPL-3.0-or-later
// Histograms of data whose range is not known beforehand: when a value falls outside, the bins double their
// width in place, so memory stays fixed and one pass suffices.
#pragma once

#include <cmath>
#include <cstdint>

#include "libcore/base/view.h"

namespace apsyn {

/// An axis of n bins (even) from `low`, whose width doubles when a value lies beyond.
struct GrowingAxis {
  double low = 0, width = 1;
  std::size_t n = 512;
  double high() const { return low + width * static_cast<double>(n); }
  double centre(std::size_t bin) const { return low + width * (static_cast<double>(bin) + 0.5); }
  bool holds(double value) const { return value < high(); }
  /// For values >= low that the axis holds; smaller ones fall into bin 0.
  std::size_t bin(double value) const {
    const double at = (value - low) / width;
    return at <= 0 ? 0 : std::min(n - 1, static_cast<std::size_t>(at));
  }
};

/// Counts [x bin][y bin] of points whose x may grow; y has fixed bins from y_low to y_high, ends included.
class Density {
 public:
  Density() = default;
  Density(const GrowingAxis& x, double y_low, double y_high, std::size_t n_y)
      : x_(x), y_low_(y_low), y_step_((y_high - y_low) / static_cast<double>(n_y)), counts_({x.n, n_y}) {}
  void add(double x, double y) {
    if (!std::isfinite(x) || !std::isfinite(y)) return;
    while (!x_.holds(x)) fold();
    const double at = (y - y_low_) / y_step_;
    const std::size_t n_y = counts_.extent(1);
    ++counts_(x_.bin(x), at <= 0 ? 0 : std::min(n_y - 1, static_cast<std::size_t>(at)));
  }
  const GrowingAxis& x() const { return x_; }
  double y_low() const { return y_low_; }
  double y_step() const { return y_step_; }
  View<const std::uint64_t, 2> counts() const { return counts_; }

 private:
  void fold() {
    const std::size_t n_y = counts_.extent(1);
    for (std::size_t i = 0; i < x_.n; ++i)
      for (std::size_t j = 0; j < n_y; ++j)
        counts_(i, j) = 2 * i < x_.n ? counts_(2 * i, j) + counts_(2 * i + 1, j) : 0;
    x_.width *= 2;
  }
  GrowingAxis x_;
  double y_low_ = 0, y_step_ = 1;
  Buffer<std::uint64_t, 2> counts_;
};

}  // namespace apsyn
