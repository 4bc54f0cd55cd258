// SPDX-License-Identifier: GPL-3.0-or-later
// The figure of a voltage stream: powers against time, bandpasses, levels, and what is saturated or missing.
#pragma once

#include <string>

#include "libcore/plot/canvas.h"
#include "libcore/voltage/voltage_summary.h"

namespace apsyn {

struct VoltageFigureOptions {
  std::string title;  ///< empty: the source or the telescope
  std::string colour_map = "ember";
  std::size_t size = 1000;
};

/// FailureError when there is no sample or all are missing.
Canvas draw_voltage_figure(const VoltageSummary& summary, const VoltageFigureOptions& options);

}  // namespace apsyn
