// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/ticks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "libcore/base/constants.h"

namespace apsyn {
namespace {

std::string true_minus(std::string text) {
  for (std::size_t at = text.find('-'); at != std::string::npos; at = text.find('-', at + 3))
    text.replace(at, 1, "\u2212");
  return text;
}

struct Step {
  double size = 1;
  int minors = 5;  ///< parts a step is divided into
};

Step nice_step(double span, int target) {
  const double raw = span / std::max(target, 1), decade = std::pow(10.0, std::floor(std::log10(raw)));
  if (raw <= 1.3 * decade) return {decade, 5};
  if (raw <= 2.6 * decade) return {2 * decade, 4};
  if (raw <= 6.5 * decade) return {5 * decade, 5};
  return {10 * decade, 5};
}

/// Decimals that multiples of `step` need.
int decimals_of(double step) {
  return std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
}

std::string power_of_ten(int exponent) {
  return true_minus(fmt::format("10^{{{}}}", exponent));
}

/// Ticks at 1, 2 and 5 (or at every whole number when `all`) within the decades.
std::vector<Tick> mantissa_ticks(double low, double high, const std::vector<int>& labelled) {
  std::vector<Tick> ticks;
  for (int decade = static_cast<int>(std::floor(low)); decade <= static_cast<int>(std::ceil(high)); ++decade)
    for (int mantissa = 1; mantissa <= 9; ++mantissa) {
      const double position = decade + std::log10(mantissa);
      if (position < low - 1e-9 || position > high + 1e-9) continue;
      const bool label = std::find(labelled.begin(), labelled.end(), mantissa) != labelled.end();
      const double value = mantissa * std::pow(10.0, decade);
      std::string text;
      if (label && decade >= -3 && decade <= 4) text = fmt::format("{:.{}f}", value, std::max(0, -decade));
      if (label && text.empty())
        text =
            mantissa == 1 ? power_of_ten(decade) : fmt::format("{}\u00d7{}", mantissa, power_of_ten(decade));
      ticks.push_back({position, true_minus(text)});
    }
  return ticks;
}

double pick_step(double span, int target, const std::vector<double>& steps) {
  for (double step : steps)
    if (span / step <= 1.35 * target) return step;  // a few too many beat far too few
  return steps.back();
}

/// Whole multiples of the last part (`unit_rad`), and whether the step needs decimals of it.
struct Sexagesimal {
  long long hours = 0;
  int minutes = 0, parts = 0;  ///< parts = how many of hours, minutes, seconds are written
  double seconds = 0;
  int decimals = 0;
};

/// `value` and `step` in seconds (of time or arc), rounded to the step's own decimals first.
Sexagesimal sexagesimal_of(double value_s, double step_s) {
  Sexagesimal out;
  out.decimals = step_s >= 0.999999 ? 0 : decimals_of(step_s);
  const double scale = std::pow(10.0, out.decimals);
  const double whole = std::round(value_s * scale);
  out.hours = static_cast<long long>(std::floor(whole / (3600 * scale)));
  const double rest = whole - static_cast<double>(out.hours) * 3600 * scale;
  out.minutes = static_cast<int>(rest / (60 * scale));
  out.seconds = (rest - out.minutes * 60 * scale) / scale;
  const auto multiple_of = [&](double unit) {
    return std::abs(step_s / unit - std::round(step_s / unit)) < 1e-9;
  };
  out.parts = step_s > 1 && multiple_of(3600) ? 1 : step_s > 1 && multiple_of(60) ? 2 : 3;
  return out;
}

std::string seconds_text(const Sexagesimal& s) {
  return fmt::format("{:0{}.{}f}", s.seconds, s.decimals == 0 ? 2 : 3 + s.decimals, s.decimals);
}

}  // namespace

std::string number_label(double value, double step) {
  if (std::abs(value) < 1e-9 * step) value = 0;
  const double size = std::max(std::abs(value), step);
  if (size < 1e6 && step >= 0.99e-5) return true_minus(fmt::format("{:.{}f}", value, decimals_of(step)));
  const int exponent = value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  if (value == 0) return "0";
  const double scale = std::pow(10.0, exponent);
  return true_minus(fmt::format("{:.{}f}\u00d7", value / scale, decimals_of(step / scale))) +
         power_of_ten(exponent);
}

std::string short_number(double value, int digits) {
  if (!std::isfinite(value)) return "none";
  if (value == 0) return "0";
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  if (exponent >= -3 && exponent < 6)
    return true_minus(fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent)));
  return true_minus(fmt::format("{:.{}f}\u00d7", value / std::pow(10.0, exponent), digits - 1)) +
         power_of_ten(exponent);
}

std::vector<Tick> linear_ticks(double low, double high, int target) {
  if (!(low < high) || !std::isfinite(low) || !std::isfinite(high))
    throw std::invalid_argument("linear_ticks: an empty range");
  const Step step = nice_step(high - low, target);
  const double minor = step.size / step.minors, slack = 1e-9 * (high - low);
  std::vector<Tick> ticks;
  const double first = std::ceil((low - slack) / minor), last = std::floor((high + slack) / minor);
  // beyond 2^53 a count would stand still
  if (!(std::max(std::abs(first), std::abs(last)) < 1e15))
    throw std::invalid_argument("linear_ticks: the range is too narrow for its values");
  for (double i = first; i <= last; ++i) {
    const bool labelled = std::abs(std::remainder(i, step.minors)) < 0.5;
    const double value = labelled ? std::round(i / step.minors) * step.size : i * minor;
    ticks.push_back({value, labelled ? number_label(value, step.size) : ""});
  }
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, int target) {
  if (!(low < high) || !std::isfinite(low) || !std::isfinite(high) || high - low > 400)
    throw std::invalid_argument("log_ticks: an empty range");
  const double decades = high - low;
  if (decades < 0.7) {
    std::vector<Tick> ticks = linear_ticks(std::pow(10.0, low), std::pow(10.0, high), target);
    for (Tick& tick : ticks) tick.value = std::log10(tick.value);
    return ticks;
  }
  if (decades <= 2.2) return mantissa_ticks(low, high, {1, 2, 5});
  if (decades <= target) return mantissa_ticks(low, high, {1});
  const int step = static_cast<int>(std::ceil(decades / target));
  std::vector<Tick> ticks;
  for (int decade = static_cast<int>(std::ceil(low)); decade <= high; ++decade)
    ticks.push_back({static_cast<double>(decade), decade % step == 0 ? power_of_ten(decade) : ""});
  return ticks;
}

std::vector<Tick> phase_ticks() {
  std::vector<Tick> ticks;
  for (int degrees = -180; degrees <= 180; degrees += 30)
    ticks.push_back({static_cast<double>(degrees),
                     degrees % 90 == 0 ? true_minus(fmt::format("{}\u00b0", degrees)) : ""});
  return ticks;
}

double right_ascension_step(double span_rad, int target) {
  static const std::vector<double> steps_s = {1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01,  0.02, 0.05, 0.1,
                                              0.2,  0.5,  1,    2,    5,    10,   15,    30,   60,   120,
                                              300,  600,  900,  1800, 3600, 7200, 10800, 21600};
  const double second = kTwoPi / 86400;
  return pick_step(span_rad / second, target, steps_s) * second;
}

double declination_step(double span_rad, int target) {
  static const std::vector<double> steps_arcsec = {
      1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1,  0.2,   0.5,   1,     2,     5,     10,
      15,   30,   60,   120,  300,  600,  900,  1800, 3600, 7200, 18000, 36000, 54000, 72000, 108000};
  return pick_step(span_rad / kRadPerArcsec, target, steps_arcsec) * kRadPerArcsec;
}

std::string right_ascension_label(double ra_rad, double step_rad) {
  const double second = kTwoPi / 86400;
  Sexagesimal s = sexagesimal_of(ra_rad / second, step_rad / second);
  s.hours = ((s.hours % 24) + 24) % 24;
  std::string text = fmt::format("{}^{{h}}", s.hours);
  if (s.parts >= 2) text += fmt::format("{:02}^{{m}}", s.minutes);
  if (s.parts >= 3) text += seconds_text(s) + "^{s}";
  return text;
}

std::string declination_label(double dec_rad, double step_rad) {
  const Sexagesimal s = sexagesimal_of(std::abs(dec_rad) / kRadPerArcsec, step_rad / kRadPerArcsec);
  const bool zero = s.hours == 0 && s.minutes == 0 && s.seconds == 0;
  std::string text = fmt::format("{}{}\u00b0", zero ? "" : dec_rad < 0 ? "\u2212" : "+", s.hours);
  if (s.parts >= 2) text += fmt::format("{:02}\u2032", s.minutes);
  if (s.parts >= 3) text += seconds_text(s) + "\u2033";
  return text;
}

}  // namespace apsyn
