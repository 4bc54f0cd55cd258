// SPDX-License-Identifier: GPL-3.0-or-later
// Panels of figures: densities of points, lines over an axis, heat maps of rows.
#pragma once

#include <string>
#include <vector>

#include "libcore/base/density.h"
#include "libcore/plot/layout.h"

namespace apsyn {

/// A number of SI-prefixed units that keeps labels short: value in "unit" = value / factor.
struct ScaledUnit {
  double factor = 1;
  std::string name;
};
ScaledUnit seconds_unit(double span_s);           ///< ms, s, min, h
ScaledUnit wavelengths_unit(double wavelengths);  ///< λ, kλ, Mλ
ScaledUnit hertz_unit(double hz);                 ///< kHz, MHz, GHz

/// The y range that holds the counts but for the fraction `tail` at the lower end; empty: all bins.
struct Bounds {
  double low = 0, high = 1;
};
Bounds used_range(const Density& density, double tail);
/// Counts as shades (logarithmic) with a line through the medians. `x_unit` divides the density's x.
struct DensityPlot {
  const Density* density = nullptr;
  double x_unit = 1;
  bool medians = false;
};
void draw_density(Canvas& canvas, const Theme& theme, const Plot& plot, const DensityPlot& what);

struct Series {
  std::vector<double> x, y;  ///< NaN interrupts the line
  Colour colour;
  std::string name;
};
/// Lines within the panel; single points become dots.
void draw_lines(Canvas& canvas, const Theme& theme, const Plot& plot, const std::vector<Series>& series);
void draw_dots(Canvas& canvas, const Theme& theme, const Plot& plot, const std::vector<Series>& series);
/// Names and colours in the line above the panel, from the right. Returns the width that is left for a title.
double draw_legend(Canvas& canvas, const Theme& theme, const Rect& panel, const std::vector<Series>& series);
/// Well distinguishable colours of equal lightness.
Colour series_colour(std::size_t index, std::size_t n);

/// Whole-number ticks for rows 0 .. n-1 drawn top down.
Axis row_axis(std::size_t n, const std::string& label);

}  // namespace apsyn
