// SPDX-License-Identifier: GPL-3.0-or-later
// The panels that figures of visibilities are put together from.
#pragma once

#include <utility>
#include <vector>

#include "libcore/plot/density_plot.h"
#include "libcore/visibility/visibility_summary.h"

namespace apsyn {

/// Both conjugates; the panel should be square.
void draw_uv_coverage(Canvas& canvas, const Theme& theme, const Rect& panel,
                      const VisibilitySummary& summary);

enum class Against { time, frequency, baseline };
void draw_amplitude(Canvas& canvas, const Theme& theme, const Rect& panel, const VisibilitySummary& summary,
                    Against against);
void draw_phase(Canvas& canvas, const Theme& theme, const Rect& panel, const VisibilitySummary& summary,
                Against against);

/// Mean amplitude and amplitude of the mean per product; phase of the mean.
void draw_amplitude_spectrum(Canvas& canvas, const Theme& theme, const Rect& panel,
                             const VisibilitySummary& summary);
void draw_phase_spectrum(Canvas& canvas, const Theme& theme, const Rect& panel,
                         const VisibilitySummary& summary);
/// Autocorrelations of one product: antennas down, frequency right, in dB above the median. Returns the
/// stretch for a colour bar.
Stretch draw_auto_spectra(Canvas& canvas, const Theme& theme, const Rect& panel,
                          const VisibilitySummary& summary, std::size_t product, const ColourMap& map);

/// Mean amplitude of one product in dB above its median, frequency up and time right; phase of the mean. Long
/// gaps in time are cut. The stretch is for a colour bar.
Stretch draw_waterfall_amplitude(Canvas& canvas, const Theme& theme, const Rect& panel,
                                 const VisibilitySummary& summary, std::size_t product, const ColourMap& map);
Stretch draw_waterfall_phase(Canvas& canvas, const Theme& theme, const Rect& panel,
                             const VisibilitySummary& summary, std::size_t product, const ColourMap& map);

/// One baseline's fringes: amplitude (up to `most`) and phase of the parallel products against time.
void draw_fringe(Canvas& canvas, const Theme& theme, const Rect& amplitude, const Rect& phase,
                 const VisibilitySummary& summary, const Fringe& fringe, double most);
/// What a time axis says.
std::string since_start_label(const VisibilitySummary& summary, const ScaledUnit& unit);
/// The time axis, and seconds per its unit.
std::pair<Axis, double> time_axis(const VisibilitySummary& summary);
std::pair<Axis, double> frequency_axis(const VisibilitySummary& summary);
/// Products of equal feeds, by number.
std::vector<std::size_t> parallel_products(const VisibilitySummary& summary);

}  // namespace apsyn
