// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/taper_misfit.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace apsyn {

namespace {

constexpr double pi = std::numbers::pi;

}  // namespace

Misfit::Misfit(const TaperCase& wanted, std::vector<VisibilityPlace> places)
    : subgrid_(wanted.subgrid), places_(std::move(places)) {
  const auto side = static_cast<double>(subgrid_);
  const std::size_t n_nodes =
      std::min<std::size_t>(128, 16 + static_cast<std::size_t>(std::min(side, 1.5 * wanted.support)));
  nodes_ = gauss_legendre(n_nodes);
  for (double& x : nodes_.x) x /= wanted.padding;
  for (double& w : nodes_.weight) w /= 2;
  for (std::size_t i = 0; i < subgrid_; ++i) pixels_.push_back((2 * static_cast<double>(i) + 1) / side - 1);
  // K(x) = exp(-i pi x / 2) sin(pi L x / 2) / (L sin(pi x / 2))
  kernel_.resize(n_nodes * subgrid_);
  for (std::size_t r = 0; r < n_nodes; ++r)
    for (std::size_t i = 0; i < subgrid_; ++i) {
      const double half = pi * (nodes_.x[r] - pixels_[i]) / 2, sine = std::sin(half);
      kernel_[r * subgrid_ + i] = std::abs(sine) < 1e-14 ? 1 : std::sin(side * half) / (side * sine);
    }
  // Cells -L/2 .. L/2 - 1: their middle is half a cell below 0, and both edges are alike.
  edge_ = (side - 1) / 2 - std::floor(wanted.support / 2);
  phases_.push_back({});
  for (const ResidualPhase& phase : wanted.phases)
    if (std::abs(phase.half_w) > 1e-6) phases_.push_back(phase);
  node_wave_ = waves(nodes_.x);
  pixel_wave_ = waves(pixels_);
}

std::vector<Misfit::Complex> Misfit::of(const std::vector<double>& at_nodes,
                                        const std::vector<double>& at_pixels, std::size_t n) const {
  const std::size_t n_nodes = nodes_.x.size();
  std::vector<Complex> result(n_phases() * n_places() * n_nodes * n), turned(subgrid_ * n), sum(n);
  for (std::size_t c = 0; c < n_phases() * n_places(); ++c) {
    for (std::size_t i = 0; i < subgrid_; ++i)
      for (std::size_t j = 0; j < n; ++j)
        turned[i * n + j] = pixel_wave_[c * subgrid_ + i] * at_pixels[i * n + j];
    for (std::size_t r = 0; r < n_nodes; ++r) {
      std::fill(sum.begin(), sum.end(), 0);
      for (std::size_t i = 0; i < subgrid_; ++i) {
        const double k = kernel_[r * subgrid_ + i];
        for (std::size_t j = 0; j < n; ++j) sum[j] += k * turned[i * n + j];
      }
      for (std::size_t j = 0; j < n; ++j)
        result[(c * n_nodes + r) * n + j] = node_wave_[c * n_nodes + r] * at_nodes[r * n + j] - sum[j];
    }
  }
  return result;
}

/// D and the half turn of K at the points: [phase][place][point].
std::vector<Misfit::Complex> Misfit::waves(const std::vector<double>& points) const {
  std::vector<Complex> result;
  for (const ResidualPhase& phase : phases_)
    for (const VisibilityPlace& place : places_)
      for (const double eta : points) {
        const double l = eta * phase.half_width_l;
        const double n = std::sqrt(std::max(0.0, 1 - l * l - phase.other_axis_max * phase.other_axis_max));
        result.push_back(std::polar(1.0, pi * (edge_ - place.from_edge) * eta - 2 * pi * phase.half_w * n));
      }
  return result;
}

}  // namespace apsyn
