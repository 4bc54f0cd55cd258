// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/multiscale.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace apsyn::reference {
namespace {

double& at(HogbomImage& image, long x, long y) {
  return image.pixels[static_cast<std::size_t>(y * static_cast<long>(image.nx) + x)];
}

/// Their equation 3: a quadratic under a Hann window, of sum 1.
HogbomImage kernel_of(double width) {
  const long half = std::lround(std::ceil(width / 2)), n = 2 * half + 1;
  HogbomImage kernel{std::size_t(n), std::size_t(n), std::vector<double>(std::size_t(n * n))};
  double sum = 0;
  for (long y = -half; y <= half; ++y)
    for (long x = -half; x <= half; ++x) {
      const double r = std::sqrt(double(x * x + y * y)), edge = double(n + 1) / 2;
      if (r > edge) continue;
      const double cosine = std::cos(std::numbers::pi * r / (2 * edge));
      const double value = width == 0 ? 1 : cosine * cosine * (1 - r * r / (width * width));
      sum += at(kernel, x + half, y + half) = value;
    }
  for (double& value : kernel.pixels) value /= sum;
  return kernel;
}

/// image (*) kernel on an array that is larger by `more` pixels at every edge.
HogbomImage convolved(HogbomImage image, HogbomImage kernel, long more) {
  const long nx = long(image.nx), ny = long(image.ny), half = long(kernel.nx / 2);
  HogbomImage out{image.nx + std::size_t(2 * more), image.ny + std::size_t(2 * more), {}};
  out.pixels.resize(out.nx * out.ny);
  for (long j = -half; j <= half; ++j)
    for (long i = -half; i <= half; ++i) {
      const double weight = at(kernel, i + half, j + half);
      for (long y = std::max(0L, -more - j); y < std::min(ny, ny + more - j); ++y)
        for (long x = std::max(0L, -more - i); x < std::min(nx, nx + more - i); ++x)
          at(out, x + i + more, y + j + more) += weight * at(image, x, y);
    }
  return out;
}

struct Peak {
  std::size_t pixel = 0;
  double height = 0;
};

Peak highest(const HogbomImage& image, const std::vector<bool>& allowed) {
  Peak peak;
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    if (allowed[i] && std::abs(image.pixels[i]) > peak.height) peak = {i, std::abs(image.pixels[i])};
  return peak;
}

struct Scale {
  HogbomImage kernel, once, twice;  ///< the PSF smoothed
  double bias = 1, peak = 1;
};

}  // namespace

std::vector<ScaleStep> multiscale(HogbomImage& dirty, const HogbomImage& psf, const MultiscaleTask& task) {
  std::vector<Scale> scales;
  for (const double width : task.widths) {
    Scale scale{kernel_of(width), {}, {}};
    const long half = long(scale.kernel.nx / 2);
    scale.once = convolved(psf, scale.kernel, half);
    scale.twice = convolved(scale.once, scale.kernel, half);
    if (width > 0) scale.bias = std::pow(task.bias, -1 - std::log2(width / (4 * task.beam)));
    const long cx = long(psf.nx / 2) + 2 * half, cy = long(psf.ny / 2) + 2 * half;
    scale.peak = at(scale.twice, cx, cy);
    const long reach = long(task.search_reach);
    for (long y = 0; y < long(scale.twice.ny); ++y)
      for (long x = 0; x < long(scale.twice.nx); ++x)
        if (std::abs(x - cx) > reach || std::abs(y - cy) > reach) at(scale.twice, x, y) = 0;
    scales.push_back(std::move(scale));
  }
  std::vector<ScaleStep> steps;
  while (steps.size() < task.n_steps) {
    std::size_t best = 0;
    double best_biased = 0;
    HogbomImage smoothed;
    for (std::size_t s = 0; s < scales.size(); ++s) {
      HogbomImage trial = convolved(dirty, scales[s].kernel, 0);
      const double biased = highest(trial, task.allowed).height * scales[s].bias;
      if (!(biased > best_biased)) continue;
      best_biased = biased;
      best = s;
      smoothed = std::move(trial);
    }
    const double level = (1 - task.sub_minor_gain) * best_biased / scales[best].bias;
    std::vector<bool> high(task.allowed);
    for (std::size_t i = 0; i < high.size(); ++i)
      if (!(std::abs(smoothed.pixels[i]) > level)) high[i] = false;
    for (Peak peak = highest(smoothed, high); peak.height > level && steps.size() < task.n_steps;
         peak = highest(smoothed, high)) {
      const double flux = task.gain / scales[best].peak * smoothed.pixels[peak.pixel];
      const std::size_t x = peak.pixel % dirty.nx, y = peak.pixel / dirty.nx;
      subtract(smoothed, scales[best].twice, x, y, flux);
      subtract(dirty, scales[best].once, x, y, flux);
      steps.push_back({best, x, y, flux});
    }
  }
  return steps;
}

}  // namespace apsyn::reference
