// SPDX-License-Identifier: GPL-3.0-or-later
// Dirty images of a made-up sky as an array sees it, with noise, and what tests of CLEAN measure in them.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "kernels/clean/deconvolve.h"
#include "libcore/base/constants.h"
#include "tests/reference/synthetic_array.h"

namespace apsyn::test {

using reference::PointSource;
using reference::UvSample;

/// Dirty images of several groups and polarisations over one sky, and their PSFs.
struct Field {
  std::size_t n = 0;
  Buffer<float, 4> dirty, psf, noise, model;
  std::vector<DeconvolutionGroup> groups;
};

inline Field copy_of(const Field& made) {
  Field field{made.n,
              Buffer<float, 4>(made.dirty.shape()),
              Buffer<float, 4>(made.psf.shape()),
              Buffer<float, 4>(made.noise.shape()),
              Buffer<float, 4>(made.model.shape()),
              made.groups};
  std::copy(made.dirty.begin(), made.dirty.end(), field.dirty.begin());
  std::copy(made.psf.begin(), made.psf.end(), field.psf.begin());
  std::copy(made.noise.begin(), made.noise.end(), field.noise.begin());
  return field;
}

inline std::vector<UvSample> stretched(std::vector<UvSample> coverage, double factor) {
  for (UvSample& uv : coverage) {
    uv.u *= factor;
    uv.v *= factor;
  }
  return coverage;
}

/// Noise as visibilities have it, of unit RMS in the image.
inline std::vector<double> image_noise(const std::vector<UvSample>& coverage, std::size_t n,
                                       std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  std::vector<double> noise(n * n);
  const double scale = 1 / std::sqrt(static_cast<double>(coverage.size()));
  std::vector<double> cos_x(n), sin_x(n);
  for (const UvSample& uv : coverage) {
    const double re = scale * normal(random), im = scale * normal(random);
    for (std::size_t x = 0; x < n; ++x) {
      cos_x[x] = std::cos(kTwoPi * uv.u * double(x));
      sin_x[x] = std::sin(kTwoPi * uv.u * double(x));
    }
    for (std::size_t y = 0; y < n; ++y) {
      const double c = std::cos(kTwoPi * uv.v * double(y)), s = std::sin(kTwoPi * uv.v * double(y));
      const double a = re * c - im * s, b = re * s + im * c;
      for (std::size_t x = 0; x < n; ++x) noise[y * n + x] += a * cos_x[x] - b * sin_x[x];
    }
  }
  return noise;
}

/// `flux(source, group, pol)` Jy; the coverage, of `n_uv` points, grows with frequency.
template <class Flux>
Field make_field(std::size_t n, const std::vector<PointSource>& sources, const std::vector<double>& freq_hz,
                 std::size_t n_pol, double noise_jy, Flux flux, std::size_t n_uv = 200) {
  Field field{n, {}, {}, {}, {}, {}};
  const std::size_t n_group = freq_hz.size();
  field.dirty.resize({n_group, n_pol, n, n});
  field.noise.resize({n_group, n_pol, n, n});
  field.model.resize({n_group, n_pol, n, n});
  field.psf.resize({n_group, 1, 2 * n, 2 * n});
  for (std::size_t g = 0; g < n_group; ++g) {
    field.groups.push_back({freq_hz[g], 1});
    const auto coverage = stretched(reference::make_coverage(n_uv, 11), 0.8 * freq_hz[g] / freq_hz.back());
    const auto psf = reference::dirty_image(coverage, {{double(n), double(n), 1}}, 2 * n, 2 * n);
    std::copy(psf.begin(), psf.end(), field.psf.view()[g][0].begin());
    for (std::size_t p = 0; p < n_pol; ++p) {
      std::vector<PointSource> seen = sources;
      for (std::size_t i = 0; i < seen.size(); ++i) seen[i].flux = flux(i, g, p);
      const auto clean = reference::dirty_image(coverage, seen, n, n);
      const auto noise = image_noise(coverage, n, 100 + g * n_pol + p);
      for (std::size_t i = 0; i < clean.size(); ++i) {
        field.noise.view()[g][p].data()[i] = static_cast<float>(noise_jy * noise[i]);
        field.dirty.view()[g][p].data()[i] = static_cast<float>(clean[i] + noise_jy * noise[i]);
      }
    }
  }
  return field;
}

inline CycleReport clean(Field& field, const DeconvolutionSettings& settings, double beam_pixels = 5) {
  Deconvolver deconvolver(settings, field.psf, field.groups, {field.dirty.extent(1), field.n, field.n},
                          beam_pixels);
  CycleReport report = deconvolver.minor_cycle(field.dirty, field.model);
  while (report.unfinished) report = deconvolver.minor_cycle(field.dirty, field.model);
  return report;
}

inline double rms(View<const float, 2> image) {
  double sum = 0;
  for (const float value : image) sum += double(value) * double(value);
  return std::sqrt(sum / double(image.size()));
}

inline double flux_around(View<const float, 2> model, double x, double y, double radius) {
  double sum = 0;
  for (std::size_t j = 0; j < model.extent(0); ++j)
    for (std::size_t i = 0; i < model.extent(1); ++i)
      if (std::hypot(double(i) - x, double(j) - y) <= radius) sum += double(model(j, i));
  return sum;
}

}  // namespace apsyn::test
