// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/solution_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/plot/density_plot.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxLines = 16;  ///< of one polarisation in a panel
constexpr std::size_t kFewPoints =
    64;  ///< in a panel of one line a polarisation, which are drawn as dots, too
constexpr Colour kFlagged{0.80f, 0.80f, 0.80f};

/// What a panel shows of a value.
struct Quantity {
  std::string label;  ///< short enough for the side of a small panel
  double (*of)(std::complex<double>) = nullptr;
  bool is_phase = false;
};

std::vector<Quantity> quantities_of(SolutionType type) {
  const Quantity amplitude{"Amp.", [](std::complex<double> v) { return std::abs(v); }, false};
  const Quantity phase{"Phase", [](std::complex<double> v) { return std::arg(v) / kRadPerDeg; }, true};
  switch (type) {
    case SolutionType::amplitude:
      return {amplitude};
    case SolutionType::phase:
      return {phase};
    case SolutionType::delay_s:
      return {{"ns", [](std::complex<double> v) { return v.real() * 1e9; }, false}};
    case SolutionType::tec_tecu:
      return {{"mTECU", [](std::complex<double> v) { return v.real() * 1e3; }, false}};
    default:
      return {amplitude, phase};
  }
}

std::vector<std::string> polarisation_names(std::size_t n_pol, ReceptorBasis basis) {
  const bool circular = basis == ReceptorBasis::circular;
  if (n_pol == 1) return {"both polarisations"};
  if (n_pol == 2) return circular ? std::vector<std::string>{"R", "L"} : std::vector<std::string>{"X", "Y"};
  return circular ? std::vector<std::string>{"RR", "RL", "LR", "LL"}
                  : std::vector<std::string>{"XX", "XY", "YX", "YY"};
}

/// At most kMaxLines indices, evenly chosen.
std::vector<std::size_t> chosen(std::size_t n) {
  std::vector<std::size_t> indices;
  const std::size_t n_chosen = std::min(n, kMaxLines);
  for (std::size_t i = 0; i < n_chosen; ++i)
    indices.push_back(n_chosen == 1 ? n / 2 : i * (n - 1) / (n_chosen - 1));
  return indices;
}

class Figure {
 public:
  Figure(const Solutions& solutions, const SolutionFigureOptions& options)
      : solutions_(solutions),
        options_(options),
        table_(solutions.tables.at(options.table)),
        quantities_(quantities_of(table_.type)),
        theme_(figure_theme(options.size)) {
    const bool against_time = options.against == SolutionAxis::time;
    const std::vector<double>& centres = against_time ? table_.time_mjd_s : table_.freq_hz;
    const std::vector<double>& lengths = against_time ? table_.interval_s : table_.width_hz;
    const double begin = centres.front() - 0.5 * lengths.front(), end = centres.back() + 0.5 * lengths.back();
    const ScaledUnit unit = against_time ? seconds_unit(std::max(end - begin, 1.0)) : hertz_unit(end);
    origin_ = against_time ? begin : 0;
    for (std::size_t i = 0; i < centres.size(); ++i) {
      x_.push_back((centres[i] - origin_) / unit.factor);
      half_.push_back(0.5 * lengths[i] / unit.factor);
    }
    low_x_ = (begin - origin_) / unit.factor;
    high_x_ = (end - origin_) / unit.factor;
    if (!(high_x_ > low_x_)) {
      low_x_ -= 0.5;
      high_x_ += 0.5;
    }
    x_label_ = fmt::format("{} ({})", against_time ? "Time" : "Frequency", unit.name);
    lines_ = chosen(against_time ? table_.n_chan() : table_.n_time());
  }

  Canvas draw() {
    find_ranges();
    const std::size_t n_ant = solutions_.antennas.size();
    const auto n_columns = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(n_ant) * 1.2)));
    const std::size_t n_rows = (n_ant + n_columns - 1) / n_columns;
    const double n_parts = static_cast<double>(quantities_.size());
    // Cells shrink as they become many, down to what can still be read.
    const double cell_width = std::max(theme_.px(1060) / static_cast<double>(n_columns), theme_.px(190));
    const double part_height = std::clamp(cell_width * 0.42, theme_.px(75), theme_.px(260));
    const double cell_height = n_parts * part_height + theme_.px(52);
    const double left = theme_.px(150), top = heading_height(theme_) + theme_.px(40);
    const double bottom = theme_.px(110), right = theme_.px(40);
    Canvas canvas(static_cast<std::size_t>(left + cell_width * static_cast<double>(n_columns) + right),
                  static_cast<std::size_t>(top + cell_height * static_cast<double>(n_rows) + bottom));
    draw_heading(canvas, theme_, theme_.px(50), static_cast<double>(canvas.width()) - theme_.px(100),
                 {options_.title, subtitle()});
    for (std::size_t ant = 0; ant < n_ant; ++ant) {
      const std::size_t row = ant / n_columns, column = ant % n_columns;
      const double x0 = left + cell_width * static_cast<double>(column);
      const double y0 = top + cell_height * static_cast<double>(row) + theme_.px(34);
      const bool lowest = ant + n_columns >= n_ant;
      for (std::size_t part = 0; part < quantities_.size(); ++part) {
        const Rect panel{std::round(x0), std::round(y0 + part_height * static_cast<double>(part)),
                         std::round(x0 + cell_width - theme_.px(14)),
                         std::round(y0 + part_height * static_cast<double>(part + 1))};
        draw_part(canvas, panel, ant, part, column == 0, lowest && part + 1 == quantities_.size());
        if (part == 0) {
          TextStyle style = theme_.small_text();
          const std::string& name = solutions_.antennas[ant].name;
          canvas.text(fitted(name.empty() ? std::to_string(ant) : name, style, panel.width()),
                      {panel.x0, panel.y0 - theme_.px(7)}, style);
        }
      }
    }
    TextStyle style = theme_.text();
    style.align_x = AlignX::centre;
    canvas.text(x_label_,
                {left + 0.5 * cell_width * static_cast<double>(n_columns),
                 static_cast<double>(canvas.height()) - theme_.px(30)},
                style);
    return canvas;
  }

 private:
  bool good(std::size_t i, std::size_t line, std::size_t ant, std::size_t pol) const {
    const auto [time, chan] = indices(i, line);
    return table_.weight(time, options_.direction, ant, chan, pol) > 0;
  }
  double value(const Quantity& quantity, std::size_t i, std::size_t line, std::size_t ant,
               std::size_t pol) const {
    if (!good(i, line, ant, pol)) return NAN;
    const auto [time, chan] = indices(i, line);
    const double value = quantity.of(table_.values(time, options_.direction, ant, chan, pol));
    return std::isfinite(value) ? value : NAN;
  }
  std::pair<std::size_t, std::size_t> indices(std::size_t i, std::size_t line) const {
    return options_.against == SolutionAxis::time ? std::pair{i, line} : std::pair{line, i};
  }

  /// One range for all antennas, so that panels compare; outliers may leave it.
  void find_ranges() {
    bool any = false;
    for (const Quantity& quantity : quantities_) {
      std::vector<double> all;
      for (std::size_t ant = 0; ant < solutions_.antennas.size(); ++ant)
        for (std::size_t pol = 0; pol < table_.values.extent(4); ++pol)
          for (const std::size_t line : lines_)
            for (std::size_t i = 0; i < x_.size(); ++i)
              if (const double y = value(quantity, i, line, ant, pol); std::isfinite(y)) all.push_back(y);
      any |= !all.empty();
      if (quantity.is_phase || all.empty()) {
        ranges_.push_back({-180, 180});
        continue;
      }
      std::sort(all.begin(), all.end());
      constexpr double kTail = 0.002;
      const auto at = [&](double share) {
        return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
      };
      double low = at(kTail), high = at(1 - kTail);
      if (low >= 0 && low < 0.6 * high) low = 0;  // an axis from zero where that costs little
      const double margin = high > low ? 0.08 * (high - low) : std::max(0.1 * std::abs(high), 1e-30);
      ranges_.push_back({low == 0 ? 0 : low - margin, high + margin});
    }
    if (!any) throw FailureError("{}: every solution that would be drawn is flagged", solutions_.source);
  }

  void draw_part(Canvas& canvas, const Rect& panel, std::size_t ant, std::size_t part, bool with_y,
                 bool with_x) {
    const Quantity& quantity = quantities_[part];
    Axis x = linear_axis(low_x_, high_x_, "", panel.width() < theme_.px(180) ? 2 : 3);
    Axis y = linear_axis(ranges_[part].low, ranges_[part].high, with_y ? quantity.label : "", 3);
    if (quantity.is_phase) y.ticks = phase_ticks();
    // The numbers at the edges of panels on top of each other would meet.
    if (quantities_.size() > 1 && panel.height() < theme_.px(200))
      for (Tick& tick : y.ticks)
        if (std::abs(y.fraction(tick.value) - 0.5) > 0.42) tick.label.clear();
    for (Axis* axis : {&x, &y})
      if (axis == &x ? !with_x : !with_y)
        for (Tick& tick : axis->ticks) tick.label.clear();
    const Plot plot{panel, x, y};
    draw_plot_background(canvas, theme_, plot);
    const std::size_t n_pol = table_.values.extent(4);
    // Grey where any polarisation of all that is drawn has no solution.
    const auto is_flagged = [&](std::size_t i) {
      return std::none_of(lines_.begin(), lines_.end(), [&](std::size_t line) {
        for (std::size_t pol = 0; pol < n_pol; ++pol)
          if (!good(i, line, ant, pol)) return false;
        return true;
      });
    };
    const auto half = [&](std::size_t i) { return half_[i] > 0 ? half_[i] : 0.5 * (high_x_ - low_x_); };
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (!is_flagged(i)) continue;
      std::size_t last = i;
      while (last + 1 < x_.size() && is_flagged(last + 1)) ++last;
      canvas.fill(Rect{std::max(panel.x0, plot.at(x_[i] - half(i), 0).x), panel.y0,
                       std::min(panel.x1, plot.at(x_[last] + half(last), 0).x), panel.y1},
                  kFlagged);
      i = last;
    }
    std::vector<Series> series;
    for (std::size_t pol = 0; pol < n_pol; ++pol)
      for (const std::size_t line : lines_) {
        Series one{{}, {}, series_colour(pol, std::max<std::size_t>(2, n_pol)), ""};
        for (std::size_t i = 0; i < x_.size(); ++i) {
          const double value = this->value(quantity, i, line, ant, pol);
          // A line is not drawn through a turn of the phase, or through a gap.
          const bool turns = quantity.is_phase && !one.y.empty() && std::abs(value - one.y.back()) > 180;
          const bool gap = i > 0 && x_[i] - x_[i - 1] > 1.5 * (half_[i] + half_[i - 1]) && half_[i] > 0;
          if (turns || gap) {
            one.x.push_back(x_[i]);
            one.y.push_back(NAN);
          }
          one.x.push_back(x_[i]);
          one.y.push_back(value);
        }
        series.push_back(std::move(one));
      }
    draw_lines(canvas, theme_, plot, series);
    if (x_.size() <= kFewPoints && lines_.size() <= 2) draw_dots(canvas, theme_, plot, series);
    draw_plot_frame(canvas, theme_, plot);
    if (ant == 0 && part == 0 && n_pol > 1) {
      std::vector<Series> legend;
      const std::vector<std::string> names = polarisation_names(n_pol, solutions_.basis);
      for (std::size_t pol = 0; pol < n_pol; ++pol)
        legend.push_back({{}, {}, series_colour(pol, n_pol), names[pol]});
      const Rect line{panel.x0, 0, static_cast<double>(canvas.width()) - theme_.px(40),
                      heading_height(theme_) + theme_.px(38)};
      draw_legend(canvas, theme_, {line.x0, line.y1, line.x1, line.y1}, legend);
    }
  }

  std::string subtitle() const {
    std::string text = table_.term;
    if (!table_.direction.empty())
      text += ", direction " + solutions_.directions[table_.direction[options_.direction]].name;
    text += fmt::format(", {} time{} and {} channel{}", table_.n_time(), table_.n_time() == 1 ? "" : "s",
                        table_.n_chan(), table_.n_chan() == 1 ? "" : "s");
    if (options_.against == SolutionAxis::time && table_.interval_s[0] > 0)
      text += ", from " + format_fits_utc(from_mjd_seconds(origin_), 0) + " UTC";
    return text;
  }

  const Solutions& solutions_;
  const SolutionFigureOptions& options_;
  const SolutionTable& table_;
  std::vector<Quantity> quantities_;
  Theme theme_;
  double origin_ = 0, low_x_ = 0, high_x_ = 1;
  std::vector<double> x_, half_;  ///< centres and half the lengths in the unit of the axis
  std::string x_label_;
  std::vector<std::size_t> lines_;  ///< channels, or times
  std::vector<Bounds> ranges_;      ///< of the quantities
};

}  // namespace

SolutionAxis longer_axis(const SolutionTable& table) {
  return table.n_chan() > table.n_time() ? SolutionAxis::frequency : SolutionAxis::time;
}

Canvas draw_solutions(const Solutions& solutions, const SolutionFigureOptions& options) {
  return Figure(solutions, options).draw();
}

}  // namespace apsyn
