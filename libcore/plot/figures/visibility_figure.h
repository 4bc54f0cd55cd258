// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of visibilities.
#pragma once

#include <string>
#include <string_view>

#include "libcore/plot/canvas.h"
#include "libcore/visibility/visibility_summary.h"

namespace apsyn {

enum class VisibilityPlot { overview, uv, amplitude, spectrum, waterfall, autos, fringes };
/// UsageError for another name.
VisibilityPlot parse_visibility_plot(std::string_view name);

struct VisibilityFigureOptions {
  std::string title;  ///< empty: the source or the telescope
  VisibilityPlot plot = VisibilityPlot::overview;
  std::size_t size = 1000;  ///< side of the uv panel, canvas pixels; the rest follows
};

/// FailureError when there is no unflagged sample to draw (of autocorrelations for `autos`, of
/// cross-correlations otherwise).
Canvas draw_visibility_figure(const VisibilitySummary& summary, const VisibilityFigureOptions& options);

}  // namespace apsyn
