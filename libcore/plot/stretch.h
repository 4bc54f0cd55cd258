// SPDX-License-Identifier: GPL-3.0-or-later
// From values to the 0..1 of a colour map.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/plot/ticks.h"

namespace apsyn {

enum class StretchKind { linear, sqrt, log, asinh };
/// UsageError for another name.
StretchKind parse_stretch(std::string_view name);
std::string stretch_name(StretchKind kind);

/// low..high -> 0..1, rising. log: in log10 of the value. asinh: asinh(value / soft), so that it is linear
/// within +-soft of zero and logarithmic beyond.
struct Stretch {
  StretchKind kind = StretchKind::linear;
  double low = 0, high = 1, soft = 1;
  double operator()(double value) const;  ///< unclamped; NaN stays NaN
  /// Labelled ticks whose positions (`value`) are 0..1, at least `spacing` apart.
  std::vector<Tick> ticks(double spacing) const;
};

struct PlaneStatistics {
  std::size_t n_finite = 0;
  double minimum = 0, maximum = 0, median = 0;
  double noise = 0;  ///< 1.4826 times the median absolute deviation
  std::size_t x_max = 0, y_max = 0;
};
/// [y][x]; NaN and Inf are left out. The median is of at most a million evenly spaced pixels.
PlaneStatistics plane_statistics(View<const double, 2> plane);
/// The values below which `percent` of the finite pixels lie, for 100 - percent and percent.
std::pair<double, double> percentile_range(View<const double, 2> plane, double percent);

/// What shows both noise and sources: from 3 sigma below the median to the maximum; linear, or asinh with
/// soft = 3 sigma when the maximum is 20 sigma or more above the median.
Stretch default_stretch(const PlaneStatistics& statistics);

}  // namespace apsyn
