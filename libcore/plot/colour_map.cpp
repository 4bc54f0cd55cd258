// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/colour_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr std::size_t kColours = 1024;

double to_srgb(double linear) {
  return linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
}

/// Linear-light red, green, blue; may lie outside 0..1.
std::array<double, 3> linear_from_oklch(double lightness, double chroma, double hue_rad) {
  const double a = chroma * std::cos(hue_rad), b = chroma * std::sin(hue_rad);
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

bool in_gamut(const std::array<double, 3>& rgb) {
  return std::all_of(rgb.begin(), rgb.end(), [](double v) { return v >= -1e-9 && v <= 1 + 1e-9; });
}

/// From black-blue through violet and orange to pale yellow.
Colour ember(double t) {
  const double hue = (-80 + 182 * t) * kRadPerDeg;  // from blue-violet, 280 degrees
  const double chroma = 0.02 + 0.155 * std::sin(kPi * std::pow(t, 0.85));
  return from_oklch(0.12 + 0.86 * t, chroma, hue);
}

/// Paper to dark blue.
Colour ink(double t) {
  return from_oklch(1.0 - 0.80 * t, 0.14 * std::sin(kPi * std::pow(t, 0.7)), (230 + 45 * t) * kRadPerDeg);
}

Colour helix(double t) {
  const double angle = kTwoPi * (0.5 / 3 + 1 - 1.5 * t), amplitude = 1.2 * t * (1 - t) / 2;
  const double c = std::cos(angle), s = std::sin(angle);
  auto cut = [](double v) { return static_cast<float>(std::clamp(v, 0.0, 1.0)); };
  return {cut(t + amplitude * (-0.14861 * c + 1.78277 * s)),
          cut(t + amplitude * (-0.29227 * c - 0.90649 * s)), cut(t + amplitude * 1.97294 * c)};
}

}  // namespace

Colour from_oklch(double lightness, double chroma, double hue_rad) {
  lightness = std::clamp(lightness, 0.0, 1.0);
  double low = 0, high = chroma;
  if (in_gamut(linear_from_oklch(lightness, chroma, hue_rad))) low = chroma;
  while (low < chroma && high - low > 1e-6) {
    const double middle = (low + high) / 2;
    (in_gamut(linear_from_oklch(lightness, middle, hue_rad)) ? low : high) = middle;
  }
  const auto rgb = linear_from_oklch(lightness, low, hue_rad);
  auto component = [&](int i) {
    return static_cast<float>(to_srgb(std::clamp(rgb[static_cast<std::size_t>(i)], 0.0, 1.0)));
  };
  return {component(0), component(1), component(2)};
}

std::vector<std::string> ColourMap::names() {
  return {"ember", "ink", "helix", "grey", "phase"};
}

ColourMap::ColourMap(std::string_view name) {
  Colour (*colour)(double) = nullptr;
  if (name == "ember") colour = ember;
  if (name == "ink") colour = ink;
  if (name == "helix") colour = helix;
  if (name == "grey")
    colour = [](double t) {
      return Colour{static_cast<float>(t), static_cast<float>(t), static_cast<float>(t)};
    };
  if (name == "phase") colour = [](double t) { return from_oklch(0.70, 0.13, kTwoPi * t); };
  if (colour == nullptr)
    throw UsageError("--colour-map {}: no such colour map: use ember, ink, helix, grey or phase", name);
  for (std::size_t i = 0; i < kColours; ++i)
    table_.push_back(colour(static_cast<double>(i) / (kColours - 1)));
}

Colour ColourMap::operator()(double value) const {
  if (std::isnan(value)) return missing();
  const double index = std::clamp(value, 0.0, 1.0) * (kColours - 1);
  return table_[static_cast<std::size_t>(std::lround(index))];
}

}  // namespace apsyn
