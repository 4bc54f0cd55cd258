// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/layers/layer_transform.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/idg/cpu/layers/layer_phase.h"
#include "kernels/idg/plan/w_terms.h"
#include "libcore/system/parallel.h"

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
      columns_of_(n_threads),
      rows_(plan.n_u, 1, FftSign::minus),
      columns_(plan.n_v, columns_at_once, FftSign::minus) {}

template <class T>
void LayerTransform::add(View<const std::complex<T>, 2> grid, const std::vector<std::uint8_t>& row_used,
                         double w_lambda, View<double, 2> image) {
  constexpr std::size_t rows_at_once = 16;
  const std::size_t n_v = grid.extent(0), n_u = grid.extent(1), positive = (n_u + 1) / 2;
  if (work_.size() == 0) work_.resize_for_overwrite({n_v, plan_.n_u + kRowGap});
  parallel_for(n_threads_, (n_v + rows_at_once - 1) / rows_at_once, [&](std::size_t item, unsigned) {
    for (std::size_t v = item * rows_at_once; v < std::min(n_v, (item + 1) * rows_at_once); ++v) {
      if (!row_used[v]) continue;
      std::complex<double>* row = &work_(v, 0);
      for (std::size_t u = 0; u < positive; ++u) row[u] = std::complex<double>(grid(v, u));
      std::fill(row + positive, row + plan_.n_u - (n_u - positive), 0);
      for (std::size_t u = positive; u < n_u; ++u)
        row[plan_.n_u - n_u + u] = std::complex<double>(grid(v, u));
      rows_.execute(row);
    }
  });
  transform_columns(row_used, w_lambda, image);
}

void LayerTransform::transform_columns(const std::vector<std::uint8_t>& row_used, double w_lambda,
                                       View<double, 2> image) {
  const std::size_t n_x = plan_.image.n_x, n_y = plan_.image.n_y, n_v = plan_.n_v;
  const double cell = plan_.image.cell_rad;
  const double n_shift = plan_.w_handling == WHandling::kernel ? 1 - plan_.n_middle : 0;
  auto work = [&](std::size_t item, unsigned thread) {
    auto& [value, turned, cosine, sine] = columns_of_[thread];
    value.resize({columns_at_once, n_v});
    turned.resize_for_overwrite({columns_at_once, n_y});
    cosine.resize_for_overwrite({n_y});
    sine.resize_for_overwrite({n_y});
    const std::size_t first = item * columns_at_once, n = std::min(columns_at_once, n_x - first);
    // Pixel x is at l = (n_x/2 - x) cell, which the transform along u puts at index (n_x/2 - x) mod n_u.
    std::size_t index[columns_at_once];
    for (std::size_t x = 0; x < n; ++x) index[x] = (n_x / 2 + plan_.n_u - (first + x)) % plan_.n_u;
    for (std::size_t row = 0; row < row_used.size(); ++row) {
      const std::size_t v = index_in_all(row, row_used.size(), n_v);
      if (const std::size_t later = row + kRowsAhead; later < row_used.size() && row_used[later]) {
        for (const std::size_t x : {std::size_t{0}, n / 2, n - 1}) will_read(&work_(later, index[x]));
      }
      for (std::size_t x = 0; x < n && row_used[row]; ++x) value(x, v) = work_(row, index[x]);
    }
    columns_.execute(value.data());
    for (std::size_t x = 0; x < n; ++x) {
      const double l = (static_cast<double>(n_x / 2) - static_cast<double>(first + x)) * cell;
      layer_phases({l, -static_cast<double>(n_y / 2), cell, w_lambda, n_shift}, n_y, cosine.data(),
                   sine.data());
      // Pixel y is at index (y - n_y/2) mod n_v.
      const std::complex<double>* south = &value(x, n_v - n_y / 2);
      for (std::size_t y = 0; y < n_y; ++y) {
        const std::complex<double> field = y < n_y / 2 ? south[y] : value(x, y - n_y / 2);
        turned(x, y) = field.real() * cosine(y) + field.imag() * sine(y);
      }
    }
    for (std::size_t y = 0; y < n_y; ++y) {
      if (y + kRowsAhead < n_y) will_write(&image(y + kRowsAhead, first));
      for (std::size_t x = 0; x < n; ++x) image(y, first + x) += turned(x, y);
    }
  };
  parallel_for(n_threads_, (n_x + columns_at_once - 1) / columns_at_once, work);
}

void LayerTransform::correct(View<double, 2> image) const {
  correct_image(plan_, n_threads_, image);
}

void correct_image(const IdgPlan& plan, unsigned n_threads, View<double, 2> image) {
  const bool kernel = plan.w_handling == WHandling::kernel;
  const double phase = 2 * std::numbers::pi * plan.half_w_lambda;
  const SemicircleTransform transform(plan.kernel_beta, kernel ? phase * plan.n_half_range : 1);
  const double cell = plan.image.cell_rad;
  std::vector<double> eta_x(plan.image.n_x), eta_y(plan.image.n_y);
  for (std::size_t x = 0; x < eta_x.size(); ++x)
    eta_x[x] = 2 * (static_cast<double>(plan.image.n_x / 2) - static_cast<double>(x)) /
               static_cast<double>(plan.n_u);
  for (std::size_t y = 0; y < eta_y.size(); ++y)
    eta_y[y] = 2 * (static_cast<double>(y) - static_cast<double>(plan.image.n_y / 2)) /
               static_cast<double>(plan.n_v);
  const std::vector<double> taper_x = plan.taper.at(eta_x), taper_y = plan.taper.at(eta_y);
  parallel_for(n_threads, plan.image.n_y, [&](std::size_t y, unsigned) {
    const double m = (static_cast<double>(y) - static_cast<double>(plan.image.n_y / 2)) * cell;
    for (std::size_t x = 0; x < taper_x.size(); ++x) {
      const double l = (static_cast<double>(plan.image.n_x / 2) - static_cast<double>(x)) * cell;
      const double n = n_minus_one(l, m) + 1;
      double divisor = taper_x[x] * taper_y[y];
      if (kernel) {
        // Sum over layers -> integral: phi's transform at n - n_middle, in units of the layer step.
        divisor *= plan.half_w_lambda / plan.layer_step_lambda * transform(phase * (n - plan.n_middle));
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
