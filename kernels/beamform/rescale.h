// SPDX-License-Identifier: GPL-3.0-or-later
// Beams as 8-bit integers. Values that are exactly 0 are missing: they count in no statistics.
//
// Voltages: q = clip(round(x / step), -127, 127), one step for a beam: the RMS of a component becomes 24
// steps; missing ones stay 0.
// Products: q = clip(round((x - offset) / step), 1, 255) with offset and step of each product and channel:
// the mean becomes level 64 and the standard deviation 16 levels, so that pulses of 12 sigma still fit; 0
// stands for missing data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace apsyn {

/// x = offset + step q.
struct LinearScale {
  float offset = 0, step = 1;
};

/// Times that the scales of products are taken from, the first ones of a recording.
inline constexpr std::size_t kScaleTimes = 256;
/// Times that the step of voltages is taken from: at least 4096 values, so good to 1 %.
std::size_t voltage_scale_times(std::size_t values_per_time);

/// 1 where nothing tells.
float voltage_step(std::span<const float> values);
void quantise_voltages(std::span<const float> values, float step, std::int8_t* out);

/// values [time][n]: a scale for each of n.
std::vector<LinearScale> product_scales(std::span<const float> values, std::size_t n);
/// values [n]
void quantise_products(std::span<const float> values, std::span<const LinearScale> scales, std::uint8_t* out);

}  // namespace apsyn
