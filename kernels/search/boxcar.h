// SPDX-License-Identifier: GPL-3.0-or-later
// Matched filters: sums over windows of several widths, each made of two shorter ones.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace apsyn {

/// S_w[t] = S_a[t] + S_b[t + a], w = a + b.
struct BoxcarStep {
  std::size_t width = 1;
  std::size_t first = 0, second = 0;  ///< earlier steps
};

/// The shortest way through `widths` (ascending, not empty; std::invalid_argument), intermediate widths
/// added. Step 0 is width 1, the values themselves.
struct BoxcarProgram {
  std::vector<BoxcarStep> steps;
  std::vector<std::size_t> wanted;  ///< the step of each asked width
  std::size_t longest() const { return steps.back().width; }
};
BoxcarProgram plan_boxcars(std::span<const std::size_t> widths);

/// 1, 2, 3, 4, 6, 8, 12 ... up to `longest`: no pulse loses more than 3 % to the steps between widths.
std::vector<std::size_t> default_widths(std::size_t longest);

/// out[t] = a[t] + b[t].
void add_windows(const float* a, const float* b, std::size_t n, float* out);
/// The largest of n values; n > 0.
float largest_of(const float* values, std::size_t n);
struct Range {
  float low = 0, high = 0;
};
Range range_of(const float* values, std::size_t n);
/// Replaces sums by sums / sqrt(weight), 0 where the weight is below `least`.
void divide_by_root(float* sums, const float* weights, float least, std::size_t n);

/// y -> (y - w (level + level_slope t)) (gain + gain_slope t), t counted from `first`; w null: of one weight.
struct DetrendRun {
  float level = 0, level_slope = 0, gain = 1, gain_slope = 0, first = 0, weight = 1;
};
void detrend(const float* sums, const float* weights, std::size_t n, const DetrendRun& run, float* out);

/// Sums over a piece of a series, always in the same order; `weights` null: sums with weights
/// are 0.
struct SeriesSums {
  double value = 0, square = 0, weight = 0, weight_square = 0, product = 0;  ///< product: of value and weight
};
SeriesSums sum_series(const float* values, const float* weights, std::size_t n);

}  // namespace apsyn
