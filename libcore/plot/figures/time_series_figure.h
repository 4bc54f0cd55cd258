// SPDX-License-Identifier: GPL-3.0-or-later
// The figure of quantities against time: light curves of sources, powers of beams.
#pragma once

#include <string>
#include <vector>

#include "libcore/plot/canvas.h"

namespace apsyn {

struct TimeSeries {
  std::string name;
  std::vector<double> time_s, value;  ///< rising times; values that are not finite interrupt the line
};

struct TimeSeriesFigure {
  std::string title, subtitle;
  std::string label;  ///< of the values
  double end_s = 0;   ///< of the time axis, which begins at 0
  std::size_t size = 1000;
  bool from_zero = false;  ///< the axis of the values holds zero
};

/// FailureError without a finite value. Up to 64 points are drawn as dots, too.
Canvas draw_time_series(const std::vector<TimeSeries>& series, const TimeSeriesFigure& figure);

}  // namespace apsyn
