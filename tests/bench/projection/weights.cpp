// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/projection/weights.h"

#include <cmath>
#include <numbers>

namespace apsyn::projection {

double interval_w_lambda(const Setup& setup, const Visibilities& visibilities, std::size_t interval) {
  const std::size_t first = interval * setup.interval,
                    last = std::min(visibilities.uvw_m.extent(0), first + setup.interval);
  double w_m = 0, wavenumber = 0;
  for (std::size_t row = first; row < last; ++row) w_m += visibilities.uvw_m(row, 2);
  for (double k : visibilities.wavenumber) wavenumber += k;
  return w_m / static_cast<double>(last - first) * wavenumber /
         static_cast<double>(visibilities.wavenumber.size());
}

std::vector<std::complex<double>> offset_ramps(std::size_t size) {
  std::vector<std::complex<double>> ramps(oversampling * size);
  const auto n = static_cast<double>(size);
  for (std::size_t s = 0; s < oversampling; ++s)
    for (std::size_t centred = 0; centred < size; ++centred) {
      const double shift = n / 2 - 1 + static_cast<double>(s) / oversampling;
      const double p = static_cast<double>(centred) - n / 2;
      ramps[s * size + transform_index(centred, size)] =
          std::polar(1 / n, -2 * std::numbers::pi * std::fmod(shift * p / n, 1.0));
    }
  return ramps;
}

std::vector<double> n_minus_one(const Setup& setup) {
  std::vector<double> out(setup.size * setup.size);
  const double step = static_cast<double>(setup.n_grid) * setup.cell_rad / static_cast<double>(setup.size);
  const double half = static_cast<double>(setup.size) / 2;
  for (std::size_t y = 0; y < setup.size; ++y)
    for (std::size_t x = 0; x < setup.size; ++x) {
      const double l = (static_cast<double>(x) - half) * step, m = (static_cast<double>(y) - half) * step;
      const double r2 = l * l + m * m;
      out[transform_index(y, setup.size) * setup.size + transform_index(x, setup.size)] =
          r2 < 1 ? -r2 / (1 + std::sqrt(1 - r2)) : NAN;
    }
  return out;
}

WeightMaker::WeightMaker(const Setup& setup)
    : size_(setup.size),
      n_1_(n_minus_one(setup)),
      taper_(size_ * size_),
      aterms_(setup.aterms.size()),
      fft_({size_, size_}, n_offsets, FftSign::plus) {
  for (const auto& ramp : offset_ramps(size_)) ramps_.emplace_back(ramp);
  for (std::size_t y = 0; y < size_; ++y)
    for (std::size_t x = 0; x < size_; ++x) {
      const std::size_t to = transform_index(y, size_) * size_ + transform_index(x, size_);
      taper_[to] = static_cast<float>(setup.taper[y] * setup.taper[x]);
      for (std::size_t s = 0; s < setup.aterms.extent(0); ++s)
        aterms_[s * size_ * size_ + to] = setup.aterms(s, y, x);
    }
}

void WeightMaker::make(double w_lambda, std::uint32_t p, std::uint32_t q,
                       std::complex<float>* weights) const {
  const std::size_t n_pixels = size_ * size_;
  std::vector<std::complex<float>> screen(n_pixels);
  for (std::size_t i = 0; i < n_pixels; ++i) {
    if (std::isnan(n_1_[i])) continue;
    const double turns = w_lambda * n_1_[i];
    const auto angle = static_cast<float>(-2 * std::numbers::pi * (turns - std::round(turns)));
    screen[i] = taper_[i] * std::complex<float>(std::cos(angle), std::sin(angle));
    if (!aterms_.empty()) screen[i] *= aterms_[p * n_pixels + i] * std::conj(aterms_[q * n_pixels + i]);
  }
  std::vector<std::complex<float>> shifted(n_pixels);
  const auto* in = reinterpret_cast<const float*>(shifted.data());
  for (std::size_t sv = 0; sv < oversampling; ++sv) {
    for (std::size_t y = 0; y < size_; ++y)
      for (std::size_t x = 0; x < size_; ++x)
        shifted[y * size_ + x] = screen[y * size_ + x] * ramps_[sv * size_ + y];
    for (std::size_t su = 0; su < oversampling; ++su) {
      const auto* ramp = reinterpret_cast<const float*>(ramps_.data() + su * size_);
      auto* out = reinterpret_cast<float*>(weights + (sv * oversampling + su) * n_pixels);
      for (std::size_t y = 0; y < size_; ++y)
        for (std::size_t x = 0; x < size_; ++x) {
          const std::size_t i = 2 * (y * size_ + x);
          out[i] = in[i] * ramp[2 * x] - in[i + 1] * ramp[2 * x + 1];
          out[i + 1] = in[i] * ramp[2 * x + 1] + in[i + 1] * ramp[2 * x];
        }
    }
  }
  fft_.execute(weights);
}

}  // namespace apsyn::projection
