// SPDX-License-Identifier: GPL-3.0-or-later
// The furniture that the figures share: sizes and colours, frames with ticks, colour bars, titles.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libcore/plot/canvas.h"
#include "libcore/plot/colour_map.h"
#include "libcore/plot/stretch.h"
#include "libcore/plot/text.h"
#include "libcore/plot/ticks.h"

namespace apsyn {

/// All lengths grow with the figure: `unit` is a thousandth of the side of its data area, but not so small
/// that letters could not be read.
struct Theme {
  double unit = 1;
  Colour ink{0.10f, 0.11f, 0.13f}, soft_ink{0.38f, 0.40f, 0.44f}, faint{0.86f, 0.87f, 0.89f};
  Colour accent{0.12f, 0.36f, 0.66f};
  double px(double thousandths) const { return thousandths * unit; }
  /// The pixels of a panel, its upper left corner and size given in thousandths.
  Rect rect(double x0, double y0, double width, double height) const {
    return {std::round(px(x0)), std::round(px(y0)), std::round(px(x0 + width)), std::round(px(y0 + height))};
  }
  TextStyle text(double size = 25) const { return {.size = px(size), .colour = ink}; }
  TextStyle small_text(double size = 20) const { return {.size = px(size), .colour = soft_ink}; }
  Pen frame_pen() const { return {ink, px(1.8), 1}; }
};

/// Texts are of 20 units or more, which are then 13 pixels from ascender to descender at least.
constexpr double kMinUnit = 0.65;
/// Of a figure whose data area is to have a longer side of `size` pixels.
Theme figure_theme(std::size_t size);

/// An axis of a plot: its range in the units of the ticks, and what they say.
struct Axis {
  double low = 0, high = 1;
  std::vector<Tick> ticks;
  std::string label;
  double fraction(double value) const { return (value - low) / (high - low); }
};
Axis linear_axis(double low, double high, const std::string& label, int n_ticks = 5);
/// low and high are log10 of the values.
Axis log_axis(double low_log10, double high_log10, const std::string& label, int n_ticks = 5);

struct Plot {
  Rect panel;
  Axis x, y;
  Point at(double x_value, double y_value) const {
    return {panel.x0 + x.fraction(x_value) * panel.width(), panel.y1 - y.fraction(y_value) * panel.height()};
  }
};
/// Paper and faint lines at the labelled ticks; draw before the data.
void draw_plot_background(Canvas& canvas, const Theme& theme, const Plot& plot);
/// Frame, ticks inwards, numbers and axis labels; draw after the data.
void draw_plot_frame(Canvas& canvas, const Theme& theme, const Plot& plot);
/// A heading above the upper left corner of a panel, as wide as the panel or as what a legend leaves of it.
void draw_panel_title(Canvas& canvas, const Theme& theme, const Rect& panel, const std::string& title,
                      std::optional<double> width = {});

/// A vertical colour bar with ticks and a label on its right side.
void draw_colour_bar(Canvas& canvas, const Theme& theme, const Rect& bar, const ColourMap& map,
                     const Stretch& stretch, const std::string& label);

/// Two lines above `panel`: what it is, and under which circumstances. Text that is too long ends in "...".
struct Heading {
  std::string title, subtitle;
};
void draw_heading(Canvas& canvas, const Theme& theme, double x, double width, const Heading& heading);
/// Space that draw_heading takes from the top of the canvas.
double heading_height(const Theme& theme);
/// Shortens `text` to `width` pixels.
std::string fitted(const std::string& text, const TextStyle& style, double width);

/// Remembers where texts stand so that later ones keep clear.
class TakenSpace {
 public:
  bool is_free(const Rect& box) const;
  void take(const Rect& box) { boxes_.push_back(box); }

 private:
  std::vector<Rect> boxes_;
};

/// Values [y][x] (y upwards) as colours in `panel`. Along each axis either one raster pixel shows a value,
/// or, where there are more values than canvas pixels, a canvas pixel shows the mean (or the maximum) of the
/// part of the values' area that it covers: few values stay crisp and many are averaged.
enum class Reduction { mean, maximum };
struct Raster {
  View<const double, 2> values;
  Rect range;  ///< the part shown, in indices; an index i covers i-0.5 .. i+0.5
  Reduction reduction = Reduction::mean;
};
/// The part shown as so many values, [y downwards][x]; NaN where nothing is finite.
Buffer<double, 2> reduce_raster(const Raster& raster, std::size_t width, std::size_t height);
void draw_raster(Canvas& canvas, const Rect& panel, const Raster& raster, const ColourMap& map,
                 const Stretch& stretch);
/// The same with a colour of one's own for each value, as image_pixel() makes them.
void draw_raster(Canvas& canvas, const Rect& panel, const Raster& raster,
                 const std::function<std::uint32_t(double)>& pixel_of);

}  // namespace apsyn
