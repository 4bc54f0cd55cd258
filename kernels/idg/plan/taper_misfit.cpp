// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/plan/taper_misfit.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/common/math/matrix_product.h"

namespace apsyn {

namespace {

constexpr double pi = std::numbers::pi;

std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

}  // namespace

MisfitTables::MisfitTables(const TaperCase& wanted) {
  const auto side = static_cast<double>(wanted.subgrid);
  const std::size_t n_nodes =
      std::min<std::size_t>(128, 16 + static_cast<std::size_t>(std::min(side, 1.5 * wanted.support)));
  nodes = gauss_legendre(n_nodes);
  for (double& x : nodes.x) x /= wanted.padding;
  for (double& w : nodes.weight) w /= 2;
  for (std::size_t i = 0; i < wanted.subgrid; ++i)
    pixels.push_back((2 * static_cast<double>(i) + 1) / side - 1);
  // K(x) = exp(-i pi x / 2) sin(pi L x / 2) / (L sin(pi x / 2))
  kernel.resize(round_up(n_nodes, matrix_product_rows) * wanted.subgrid);
  for (std::size_t r = 0; r < n_nodes; ++r)
    for (std::size_t i = 0; i < wanted.subgrid; ++i) {
      const double half = pi * (nodes.x[r] - pixels[i]) / 2, sine = std::sin(half);
      kernel[r * wanted.subgrid + i] = std::abs(sine) < 1e-14 ? 1 : std::sin(side * half) / (side * sine);
    }
}

Misfit::Misfit(const TaperCase& wanted, const MisfitTables& tables, std::vector<VisibilityPlace> places)
    : tables_(tables), places_(std::move(places)) {
  // Cells -L/2 .. L/2 - 1: their middle is half a cell below 0, and both edges are alike.
  edge_ = (static_cast<double>(wanted.subgrid) - 1) / 2 - std::floor(wanted.support / 2);
  phases_.push_back({});
  for (const ResidualPhase& phase : wanted.phases)
    if (std::abs(phase.half_w) > 1e-6) phases_.push_back(phase);
  node_wave_ = waves(tables_.nodes.x);
  pixel_wave_ = waves(tables_.pixels);
}

std::vector<Misfit::Complex> Misfit::of(const std::vector<double>& at_nodes,
                                        const std::vector<double>& at_pixels, std::size_t n) const {
  constexpr std::size_t columns_at_once = 64 / sizeof(double);
  const std::size_t n_nodes = tables_.nodes.x.size(), subgrid = tables_.pixels.size(),
                    n_cases = n_phases() * n_places();
  // Few functions: several cases side by side.
  const std::size_t together = std::max<std::size_t>(1, columns_at_once / (2 * n));
  const std::size_t columns = round_up(together * 2 * n, columns_at_once);
  const std::size_t n_rows = round_up(n_nodes, matrix_product_rows);
  std::vector<double> turned(subgrid * columns), sum(n_rows * columns);
  MatrixProduct<double> product{.n_rows = n_rows, .n_cols = columns, .n_k = subgrid};
  product.a = tables_.kernel.data();
  product.group_stride = subgrid;
  product.k_stride = 1;
  product.b = turned.data();
  product.c = sum.data();
  product.b_stride = product.c_stride = columns;
  std::vector<Complex> result(n_cases * n_nodes * n);
  for (std::size_t first = 0; first < n_cases; first += together) {
    const std::size_t n_now = std::min(together, n_cases - first);
    for (std::size_t i = 0; i < subgrid; ++i)
      for (std::size_t c = 0; c < n_now; ++c) {
        const Complex wave = pixel_wave_[(first + c) * subgrid + i];
        double* out = &turned[i * columns + c * 2 * n];
        for (std::size_t j = 0; j < n; ++j) {
          out[2 * j] = wave.real() * at_pixels[i * n + j];
          out[2 * j + 1] = wave.imag() * at_pixels[i * n + j];
        }
      }
    matrix_product(product);
    for (std::size_t c = 0; c < n_now; ++c)
      for (std::size_t r = 0; r < n_nodes; ++r) {
        const Complex wave = node_wave_[(first + c) * n_nodes + r];
        const double* in = &sum[r * columns + c * 2 * n];
        for (std::size_t j = 0; j < n; ++j)
          result[((first + c) * n_nodes + r) * n + j] =
              wave * at_nodes[r * n + j] - Complex(in[2 * j], in[2 * j + 1]);
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
