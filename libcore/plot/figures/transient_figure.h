// SPDX-License-Identifier: GPL-3.0-or-later
// The candidates of a search for dispersed pulses: all of them in time and dispersion measure, and the best
// ones closely.
#pragma once

#include <string>
#include <vector>

#include "libcore/plot/canvas.h"
#include "libcore/powers/pulse_cutout.h"

namespace apsyn {

struct TransientPoint {
  double time_s = 0, dm = 0, sn = 0;
};

struct TransientDetail {
  TransientPoint point;
  PulseCutout cutout;
  std::vector<double> dm, sn;  ///< best signal-to-noise ratio of each trial that saw it
};

struct TransientFigure {
  std::string title, subtitle, footer;
  double duration_s = 0, dm_low = 0, dm_high = 0, threshold = 0;
  std::vector<TransientPoint> candidates;
  std::vector<TransientDetail> best;  ///< up to three are shown
};

/// `size` as of the other figures: pixels of 1000 of its units.
Canvas draw_transient_figure(const TransientFigure& figure, std::size_t size = 800);

}  // namespace apsyn
