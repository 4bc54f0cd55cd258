// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/layer_transform.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/idg/w_terms.h"
#include "libcore/core/parallel.h"

namespace apsyn {
namespace {

/// Columns gathered together: 8 complex doubles fill two cache lines of every row.
constexpr std::size_t columns_at_once = 8;

}  // namespace

double n_minus_one(double l, double m) {
  const double r2 = l * l + m * m;
  return r2 < 1 ? -r2 / (1 + std::sqrt(1 - r2)) : std::numeric_limits<double>::quiet_NaN();
}

LayerTransform::LayerTransform(const IdgPlan& plan, unsigned n_threads)
    : plan_(plan),
      n_threads_(n_threads),
      rows_(plan.n_u, 1, FftSign::minus),
      columns_(plan.n_v, columns_at_once, FftSign::minus) {}

template <class T>
void LayerTransform::add(View<const std::complex<T>, 2> grid, const std::vector<std::uint8_t>& row_used,
                         double w_lambda, View<double, 2> image) {
  constexpr std::size_t rows_at_once = 16;
  if (work_.size() == 0) work_.resize_for_overwrite({plan_.n_v, plan_.n_u});
  parallel_for(n_threads_, (plan_.n_v + rows_at_once - 1) / rows_at_once, [&](std::size_t item, unsigned) {
    for (std::size_t v = item * rows_at_once; v < std::min(plan_.n_v, (item + 1) * rows_at_once); ++v) {
      std::complex<double>* row = &work_(v, 0);
      if (!row_used[v]) {
        std::fill(row, row + plan_.n_u, 0);
        continue;
      }
      for (std::size_t u = 0; u < plan_.n_u; ++u) row[u] = std::complex<double>(grid(v, u));
      rows_.execute(row);
    }
  });
  transform_columns(w_lambda, image);
}

void LayerTransform::transform_columns(double w_lambda, View<double, 2> image) {
  const std::size_t n_x = plan_.image.n_x, n_y = plan_.image.n_y;
  const double cell = plan_.image.cell_rad;
  const double n_shift = plan_.w_handling == WHandling::kernel ? 1 - plan_.n_middle : 0;
  parallel_for(n_threads_, (n_x + columns_at_once - 1) / columns_at_once, [&](std::size_t item, unsigned) {
    Buffer<std::complex<double>, 2> block({columns_at_once, plan_.n_v});
    const std::size_t first = item * columns_at_once, last = std::min(n_x, first + columns_at_once);
    // Pixel x is at l = (n_x/2 - x) cell, which the transform along u puts at index (n_x/2 - x) mod n_u.
    for (std::size_t v = 0; v < plan_.n_v; ++v)
      for (std::size_t x = first; x < last; ++x)
        block(x - first, v) = work_(v, (n_x / 2 + plan_.n_u - x) % plan_.n_u);
    columns_.execute(block.data());
    for (std::size_t y = 0; y < n_y; ++y) {
      const double m = (static_cast<double>(y) - static_cast<double>(n_y / 2)) * cell;
      const std::size_t index = (y + plan_.n_v - n_y / 2) % plan_.n_v;
      for (std::size_t x = first; x < last; ++x) {
        const double l = (static_cast<double>(n_x / 2) - static_cast<double>(x)) * cell;
        const double phase = -2 * std::numbers::pi * w_lambda * (n_minus_one(l, m) + n_shift);
        const std::complex<double> value = block(x - first, index);
        image(y, x) += value.real() * std::cos(phase) - value.imag() * std::sin(phase);
      }
    }
  });
}

void LayerTransform::correct(View<double, 2> image) const {
  correct_image(plan_, n_threads_, image);
}

void correct_image(const IdgPlan& plan, unsigned n_threads, View<double, 2> image) {
  const Taper& taper = plan.taper;
  const SemicircleTransform transform(plan.kernel_beta);
  const bool kernel = plan.w_handling == WHandling::kernel;
  const double cell = plan.image.cell_rad;
  std::vector<double> taper_x(plan.image.n_x);
  for (std::size_t x = 0; x < taper_x.size(); ++x)
    taper_x[x] = taper(2 * (static_cast<double>(plan.image.n_x / 2) - static_cast<double>(x)) /
                       static_cast<double>(plan.n_u));
  parallel_for(n_threads, plan.image.n_y, [&](std::size_t y, unsigned) {
    const double iy = static_cast<double>(y) - static_cast<double>(plan.image.n_y / 2);
    const double taper_y = taper(2 * iy / static_cast<double>(plan.n_v)), m = iy * cell;
    for (std::size_t x = 0; x < taper_x.size(); ++x) {
      const double l = (static_cast<double>(plan.image.n_x / 2) - static_cast<double>(x)) * cell;
      const double n = n_minus_one(l, m) + 1;
      double divisor = taper_x[x] * taper_y;
      if (kernel) {
        // Sum over layers -> integral: phi's transform at n - n_middle, in units of the layer step.
        const double half = plan.half_w_lambda;
        divisor *=
            half / plan.layer_step_lambda * transform(2 * std::numbers::pi * half * (n - plan.n_middle));
      }
      image(y, x) = l * l + m * m < 1 ? image(y, x) / divisor : std::numeric_limits<double>::quiet_NaN();
    }
  });
}

template void LayerTransform::add(View<const std::complex<float>, 2>, const std::vector<std::uint8_t>&,
                                  double, View<double, 2>);
template void LayerTransform::add(View<const std::complex<double>, 2>, const std::vector<std::uint8_t>&,
                                  double, View<double, 2>);

}  // namespace apsyn
