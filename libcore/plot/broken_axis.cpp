// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/broken_axis.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace apsyn {
namespace {

constexpr std::int64_t kShortGap = 3;    // bins
constexpr std::size_t kMaxBreaks = 64;   // more would hide the data
constexpr double kBreak = 0.012;         // of the axis, of one break
constexpr double kMaxOfBreaks = 0.2;     // of the axis, of all breaks
constexpr double kMaxMissing = 1.0 / 4;  // bins without data to those with, within the parts

/// Parts without their places; the number of bins without data in them.
std::size_t split_at_gaps(const std::vector<std::int64_t>& bins, std::vector<AxisPart>& parts) {
  const auto shortest =
      std::max<std::int64_t>(kShortGap, static_cast<std::int64_t>(0.01 * static_cast<double>(bins.size())));
  std::size_t n_column = 0;
  parts = {{bins.front(), 1}};
  for (std::size_t i = 1; i < bins.size(); ++i) {
    AxisPart& last = parts.back();
    if (bins[i] - bins[i - 1] - 1 > shortest)
      parts.push_back({bins[i], 1});
    else
      last.n_bin = static_cast<std::size_t>(bins[i] - last.first_bin) + 1;
  }
  for (const AxisPart& part : parts) n_column += part.n_bin;
  return n_column - bins.size();
}

/// The roundest value in [low, high] that is positive or 0.
Tick roundest(double low, double high) {
  for (int decade = static_cast<int>(std::ceil(std::log10(std::max(high, 1e-300))));; --decade)
    for (const double mantissa : {5.0, 2.0, 1.0}) {
      const double step = mantissa * std::pow(10.0, decade), value = std::ceil(low / step - 1e-9) * step;
      if (value <= high || step < 1e-12 * high) return {value, number_label(value, step)};
    }
}

}  // namespace

std::size_t BrokenAxis::n_column() const {
  std::size_t n = 0;
  for (const AxisPart& part : parts) n += part.n_bin;
  return n;
}

std::size_t BrokenAxis::column(std::int64_t bin) const {
  const std::int64_t wide = bin >> n_widened;
  std::size_t before = 0;
  for (const AxisPart& part : parts) {
    if (wide < part.first_bin + static_cast<std::int64_t>(part.n_bin))
      return before + static_cast<std::size_t>(wide - part.first_bin);
    before += part.n_bin;
  }
  throw std::out_of_range("broken axis: a bin without data");
}

BrokenAxis break_axis(const std::vector<std::int64_t>& bins, double bin_width) {
  if (bins.empty()) throw std::invalid_argument("broken axis: no bins");
  BrokenAxis axis{bin_width, 0, {}};
  std::vector<std::int64_t> used = bins;
  while (true) {
    const std::size_t n_missing = split_at_gaps(used, axis.parts);
    const bool too_many = axis.parts.size() - 1 > kMaxBreaks;
    if (!too_many && static_cast<double>(n_missing) <= kMaxMissing * static_cast<double>(used.size())) break;
    for (std::int64_t& bin : used) bin >>= 1;
    used.erase(std::unique(used.begin(), used.end()), used.end());
    ++axis.n_widened;
    axis.bin_width *= 2;
  }
  const double n_break = static_cast<double>(axis.parts.size() - 1);
  const double width = n_break > 0 ? std::min(kBreak, kMaxOfBreaks / n_break) : 0;
  const double per_bin = (1 - n_break * width) / static_cast<double>(axis.n_column());
  double at = 0;
  for (AxisPart& part : axis.parts) {
    part.begin = at;
    part.end = at + per_bin * static_cast<double>(part.n_bin);
    at = part.end + width;
  }
  return axis;
}

std::vector<Tick> broken_ticks(const BrokenAxis& axis, double unit, int target) {
  std::vector<Tick> ticks;
  for (const AxisPart& part : axis.parts) {
    const double low = axis.low(part) / unit, high = axis.high(part) / unit;
    const int share = static_cast<int>(std::lround(target * (part.end - part.begin)));
    std::vector<Tick> of_part = linear_ticks(low, high, std::max(1, share));
    const bool labelled =
        std::any_of(of_part.begin(), of_part.end(), [](const Tick& tick) { return !tick.label.empty(); });
    if (!labelled) of_part = {roundest(low, high)};
    for (const Tick& tick : of_part) {
      const double within = (tick.value - low) / (high - low);
      ticks.push_back({part.begin + within * (part.end - part.begin), tick.label});
    }
  }
  return ticks;
}

}  // namespace apsyn
