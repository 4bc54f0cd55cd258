// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/stretch.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

/// From this ratio of the maximum above the median and the noise on, an even scale would show little but the
/// maximum.
constexpr double kAsinhDynamicRange = 20;

/// At most about a million finite values, evenly spaced over the plane.
std::vector<double> sampled(View<const double, 2> plane) {
  std::vector<double> values;
  const std::size_t stride = std::max<std::size_t>(1, plane.size() / 1000003);
  for (std::size_t i = 0; i < plane.size(); i += stride)
    if (std::isfinite(plane.data()[i])) values.push_back(plane.data()[i]);
  return values;
}

double quantile(std::vector<double>& values, double fraction) {
  if (values.empty()) return 0;
  const auto at = values.begin() + std::lround(fraction * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// 0 and 1, 2, 5 times powers of ten of both signs: the most welcome first.
std::vector<double> round_values(double low, double high, double smallest) {
  std::vector<double> values = {0};
  const int top = static_cast<int>(std::floor(std::log10(std::max(std::abs(low), std::abs(high)))));
  const int bottom = static_cast<int>(std::floor(std::log10(smallest)));
  for (double mantissa : {1.0, 5.0, 2.0})
    for (int decade = top; decade >= std::max(bottom, top - 12); --decade)
      for (double sign : {1.0, -1.0}) values.push_back(sign * mantissa * std::pow(10.0, decade));
  return values;
}

}  // namespace

StretchKind parse_stretch(std::string_view name) {
  for (StretchKind kind : {StretchKind::linear, StretchKind::sqrt, StretchKind::log, StretchKind::asinh})
    if (name == stretch_name(kind)) return kind;
  throw UsageError("--stretch {}: no such stretch: use linear, sqrt, log or asinh", name);
}

std::string stretch_name(StretchKind kind) {
  switch (kind) {
    case StretchKind::sqrt:
      return "sqrt";
    case StretchKind::log:
      return "log";
    case StretchKind::asinh:
      return "asinh";
    default:
      return "linear";
  }
}

double Stretch::operator()(double value) const {
  switch (kind) {
    case StretchKind::sqrt:
      return std::sqrt(std::max(0.0, value - low) / (high - low)) + 0 * value;
    case StretchKind::log:
      return std::isnan(value) ? value : value <= 0 ? 0.0 : std::log(value / low) / std::log(high / low);
    case StretchKind::asinh:
      return (std::asinh(value / soft) - std::asinh(low / soft)) /
             (std::asinh(high / soft) - std::asinh(low / soft));
    default:
      return (value - low) / (high - low);
  }
}

std::vector<Tick> Stretch::ticks(double spacing) const {
  const int target = std::clamp(static_cast<int>(0.7 / spacing), 2, 6);
  std::vector<Tick> ticks;
  if (kind == StretchKind::log) {
    ticks = log_ticks(std::log10(low), std::log10(high), target);
    for (Tick& tick : ticks)
      tick.value = (tick.value - std::log10(low)) / (std::log10(high) - std::log10(low));
    return ticks;
  }
  if (kind == StretchKind::linear) {
    ticks = linear_ticks(low, high, target);
    for (Tick& tick : ticks) tick.value = (*this)(tick.value);
    return ticks;
  }
  const double smallest = kind == StretchKind::asinh ? soft / 2 : (high - low) / 1000;
  for (double value : round_values(low, high, smallest)) {
    const double at = (*this)(value);
    if (value < low || value > high) continue;
    const bool crowded = std::any_of(ticks.begin(), ticks.end(),
                                     [&](const Tick& other) { return std::abs(other.value - at) < spacing; });
    if (!crowded) ticks.push_back({at, short_number(value, 1)});
  }
  return ticks;
}

PlaneStatistics plane_statistics(View<const double, 2> plane) {
  PlaneStatistics out;
  for (std::size_t y = 0; y < plane.extent(0); ++y)
    for (std::size_t x = 0; x < plane.extent(1); ++x) {
      const double value = plane(y, x);
      if (!std::isfinite(value)) continue;
      if (out.n_finite == 0 || value > out.maximum) out.maximum = value, out.x_max = x, out.y_max = y;
      if (out.n_finite == 0 || value < out.minimum) out.minimum = value;
      ++out.n_finite;
    }
  std::vector<double> values = sampled(plane);
  out.median = quantile(values, 0.5);
  for (double& value : values) value = std::abs(value - out.median);
  out.noise = 1.4826 * quantile(values, 0.5);
  return out;
}

std::pair<double, double> percentile_range(View<const double, 2> plane, double percent) {
  std::vector<double> values = sampled(plane);
  const double low = quantile(values, 1 - percent / 100);
  return {low, quantile(values, percent / 100)};
}

Stretch default_stretch(const PlaneStatistics& s) {
  Stretch stretch;
  stretch.low = std::max(s.minimum, s.median - 3 * s.noise);
  stretch.high = s.maximum;
  if (s.noise > 0 && s.maximum - s.median >= kAsinhDynamicRange * s.noise) {
    stretch.kind = StretchKind::asinh;
    stretch.soft = 3 * s.noise;
  }
  return stretch;
}

}  // namespace apsyn
