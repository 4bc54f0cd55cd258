// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/layers/layer_model.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/idg/cpu/layers/layer_phase.h"
#include "kernels/idg/cpu/layers/layer_transform.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Columns transformed together: 8 complex doubles fill two cache lines of every row.
constexpr std::size_t columns_at_once = 8;
constexpr std::size_t rows_at_once = 16;

}  // namespace

LayerModel::LayerModel(const IdgPlan& plan, unsigned n_threads)
    : plan_(plan),
      n_threads_(n_threads),
      scratch_(n_threads),
      rows_(plan.n_u, 1, FftSign::plus),
      columns_(plan.n_v, columns_at_once, FftSign::plus) {}

void LayerModel::set(View<const double, 3> images) {
  const std::size_t n_x = plan_.image.n_x, n_y = plan_.image.n_y;
  if (images.extent(1) != n_y || images.extent(2) != n_x)
    throw std::invalid_argument("degridder: the model's size is not the plan's");
  images_.resize_for_overwrite(images.shape());
  empty_.assign(images.extent(0), true);
  for (std::size_t plane = 0; plane < images.extent(0); ++plane) {
    View<double, 2> image = images_.view()[plane];
    parallel_for(n_threads_, n_y, [&](std::size_t y, unsigned) {
      const View<const double, 1> from = images[plane][y];
      std::copy(from.begin(), from.end(), image[y].begin());
    });
    correct_image(plan_, n_threads_, image);
    std::vector<std::uint8_t> row_empty(n_y, true);
    parallel_for(n_threads_, n_y, [&](std::size_t y, unsigned) {
      bool empty = true;
      for (double& pixel : image[y]) {
        if (std::isnan(pixel)) pixel = 0;
        if (pixel != 0) empty = false;
      }
      row_empty[y] = empty;
    });
    empty_[plane] = std::find(row_empty.begin(), row_empty.end(), false) == row_empty.end();
  }
}

void LayerModel::transform_columns(std::size_t plane, double w_lambda) {
  const std::size_t n_x = plan_.image.n_x, n_y = plan_.image.n_y;
  const double cell = plan_.image.cell_rad;
  const double n_shift = plan_.w_handling == WHandling::kernel ? 1 - plan_.n_middle : 0;
  auto work = [&](std::size_t item, unsigned thread) {
    auto& [block, pixel, cosine, sine] = scratch_[thread];
    block.resize({columns_at_once, plan_.n_v});
    pixel.resize_for_overwrite({columns_at_once, n_y});
    cosine.resize_for_overwrite({n_y});
    sine.resize_for_overwrite({n_y});
    const std::size_t first = item * columns_at_once, n = std::min(columns_at_once, n_x - first);
    bool empty[columns_at_once];
    std::fill_n(empty, n, true);
    for (std::size_t y = 0; y < n_y; ++y) {
      if (y + kRowsAhead < n_y) will_read(&images_(plane, y + kRowsAhead, first));
      for (std::size_t x = 0; x < n; ++x) {
        pixel(x, y) = images_(plane, y, first + x);
        empty[x] = empty[x] && pixel(x, y) == 0;
      }
    }
    for (std::size_t x = 0; x < n; ++x) {
      if (empty[x]) continue;
      const double l = (static_cast<double>(n_x / 2) - static_cast<double>(first + x)) * cell;
      layer_phases({l, -static_cast<double>(n_y / 2), cell, w_lambda, n_shift}, n_y, cosine.data(),
                   sine.data());
      for (std::size_t y = 0; y < n_y; ++y) {
        if (pixel(x, y) == 0) continue;
        const std::size_t index = y < n_y / 2 ? plan_.n_v - n_y / 2 + y : y - n_y / 2;
        block(x, index) = {pixel(x, y) * cosine(y), pixel(x, y) * sine(y)};
      }
    }
    columns_.execute(block.data());
    for (std::size_t row = 0; row < work_.extent(0); ++row) {
      const std::size_t v = index_in_all(row, work_.extent(0), plan_.n_v);
      if (row + kRowsAhead < work_.extent(0)) {
        will_write(&work_(row + kRowsAhead, first));
        will_write(&work_(row + kRowsAhead, first + n - 1));
      }
      for (std::size_t x = 0; x < n; ++x) work_(row, first + x) = block(x, v);
    }
  };
  parallel_for(n_threads_, (n_x + columns_at_once - 1) / columns_at_once, work);
}

template <class T>
void LayerModel::transform(double w_lambda, View<std::complex<T>, 3> grid) {
  const std::size_t n_x = plan_.image.n_x, n_u = plan_.n_u_stored(), n_v = plan_.n_v_stored();
  if (work_.size() == 0) work_.resize_for_overwrite({n_v, n_x + kRowGap});
  std::vector<std::size_t> nothing;  // planes
  for (std::size_t plane = 0; plane < grid.extent(2); ++plane)
    if (plane >= n_planes() || empty_[plane]) nothing.push_back(plane);
  parallel_for(n_threads_, nothing.empty() ? 0 : n_v, [&](std::size_t v, unsigned) {
    for (std::size_t u = 0; u < n_u; ++u)
      for (std::size_t plane : nothing) grid(v, u, plane) = 0;
  });
  for (std::size_t plane = 0; plane < n_planes(); ++plane) {
    if (empty_[plane]) continue;
    transform_columns(plane, w_lambda);
    parallel_for(n_threads_, (n_v + rows_at_once - 1) / rows_at_once, [&](std::size_t item, unsigned thread) {
      Buffer<std::complex<double>, 2>& row = scratch_[thread].block;
      row.resize_for_overwrite({1, plan_.n_u});
      for (std::size_t v = item * rows_at_once; v < std::min(n_v, (item + 1) * rows_at_once); ++v) {
        row.fill(0);
        // Pixel x is at l = (n_x/2 - x) cell: index (n_x/2 - x) mod n_u of the transform along u.
        const std::size_t half = n_x / 2;
        for (std::size_t x = 0; x <= half; ++x) row(0, half - x) = work_(v, x);
        for (std::size_t x = half + 1; x < n_x; ++x) row(0, half + plan_.n_u - x) = work_(v, x);
        rows_.execute(row.data());
        for (std::size_t u = 0; u < n_u; ++u)
          grid(v, u, plane) = std::complex<T>(row(0, index_in_all(u, n_u, plan_.n_u)));
      }
    });
  }
}

template void LayerModel::transform(double, View<std::complex<float>, 3>);
template void LayerModel::transform(double, View<std::complex<double>, 3>);

}  // namespace apsyn
