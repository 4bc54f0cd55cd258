// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/clean/clean.h"
#include "kernels/clean/lazy_residual.h"

namespace apsyn {
namespace {

constexpr double kDivergence = 2;  // times the first peak
// Measuring the noise again must lower a noise threshold by this much to be worth another cycle.
constexpr double kWorthwhile = 0.95;
constexpr std::size_t kProgressStep = 256;

void check(View<double, 2> residual, View<const double, 2> psf, View<const std::uint8_t, 2> searchable,
           const CleanOptions& options) {
  if (residual.size() == 0 || psf.size() == 0 || searchable.shape() != residual.shape())
    throw std::invalid_argument("clean_hogbom: residual, psf and searchable must have pixels and fit");
  if (!(options.gain > 0 && options.gain <= 1) || !(options.cycle_gain > 0 && options.cycle_gain <= 1))
    throw std::invalid_argument("clean_hogbom: gains lie in (0, 1]");
  if (!(options.threshold_jy >= 0) || !(options.threshold_sigma >= 0))
    throw std::invalid_argument("clean_hogbom: thresholds are not negative");
  for (const double value : psf)
    if (!std::isfinite(value)) throw std::invalid_argument("clean_hogbom: the psf must be finite");
}

}  // namespace

CleanResult clean_hogbom(View<double, 2> residual, View<const double, 2> psf,
                         View<const std::uint8_t, 2> searchable, const CleanOptions& options) {
  check(residual, psf, searchable, options);
  LazyResidual lazy(residual, psf, searchable, options);
  const bool use_noise = options.threshold_sigma > 0;
  CleanResult result;
  double first_peak = 0;
  auto threshold_now = [&] {
    if (use_noise) lazy.flush();
    const double noise = use_noise ? robust_sigma(residual) : 0;
    return std::max(options.threshold_jy, options.threshold_sigma * noise);
  };
  result.threshold_jy = threshold_now();
  double cycle_end = 0;
  bool new_cycle = true;
  for (;;) {
    const auto peak = lazy.find_peak();
    result.peak_jy = peak ? peak->flux_jy : 0;
    const double height = std::abs(result.peak_jy);
    if (first_peak == 0) first_peak = height;
    if (new_cycle) cycle_end = use_noise ? (1 - options.cycle_gain) * height : 0;
    new_cycle = false;
    if (!peak) {
      result.stop = CleanStop::nothing_left;
      break;
    }
    const bool low = height <= result.threshold_jy;
    if (use_noise && (low || height <= cycle_end) && result.threshold_jy > options.threshold_jy) {
      const double threshold = threshold_now();
      const bool worthwhile = threshold < kWorthwhile * result.threshold_jy;
      if (!low || worthwhile) {
        result.threshold_jy = threshold;
        new_cycle = true;
        if (height > threshold) continue;
      }
    }
    if (height <= result.threshold_jy) {
      result.stop = result.threshold_jy > options.threshold_jy ? CleanStop::noise : CleanStop::threshold;
      break;
    }
    if (lazy.n_components() == options.max_iterations) {
      result.stop = CleanStop::iterations;
      break;
    }
    if (options.negative == NegativeComponents::stop && peak->flux_jy < 0) {
      result.stop = CleanStop::negative;
      break;
    }
    if (!(height <= kDivergence * first_peak)) {
      result.stop = CleanStop::divergence;
      break;
    }
    if (options.progress && lazy.n_components() % kProgressStep == 0) options.progress(lazy.n_components());
    lazy.subtract({peak->x, peak->y, options.gain * peak->flux_jy});
  }
  lazy.flush();
  result.components = lazy.take_components();
  return result;
}

double robust_sigma(View<const double, 2> image) {
  std::vector<double> values;
  values.reserve(image.size());
  for (const double value : image)
    if (std::isfinite(value)) values.push_back(value);
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double median = *middle;
  for (double& value : values) value = std::abs(value - median);
  std::nth_element(values.begin(), middle, values.end());
  return 1.4826022185056018 * *middle;
}

}  // namespace apsyn
