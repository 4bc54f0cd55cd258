// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/planes/images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "kernels/idg/cpu/layers/layer_transform.h"
#include "kernels/idg/cpu/planes/rows.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Columns transformed together: 8 complex floats fill a cache line of every row.
constexpr std::size_t columns_at_once = 8;
constexpr std::size_t rows_at_once = 8;

/// J_r(z) by its power series, for z of a few.
double small_bessel_j(std::size_t r, double z) {
  double term = 1;
  for (std::size_t k = 1; k <= r; ++k) term *= z / 2 / static_cast<double>(k);
  double sum = term;
  for (std::size_t k = 1; std::abs(term) > 1e-17; ++k)
    sum += term *= -z * z / 4 / static_cast<double>(k * (k + r));
  return sum;
}

/// Factors c_r of exp(-i z t) = sum_r (-i)^r c_r t^r, |t| <= 1, from as many terms of its Chebyshev series
/// (chebyshev_phase.h): z^r / r! but for the last ones, which stand for those that are left out.
std::array<double, 2 * max_term_pairs> phase_powers(double z, std::size_t n_terms) {
  // Chebyshev polynomials' coefficients [power], of order r - 1 and r.
  using Polynomial = std::array<double, 2 * max_term_pairs + 1>;
  std::array<double, 2 * max_term_pairs> factor{};
  Polynomial before{}, own{};
  own[0] = 1;
  for (std::size_t r = 0; r < n_terms; ++r) {
    const double bessel = (r == 0 ? 1 : 2) * small_bessel_j(r, z);
    // (-i)^r is (-i)^power but for a sign.
    for (std::size_t power = r % 2; power <= r; power += 2)
      factor[power] += ((r - power) % 4 == 0 ? 1 : -1) * bessel * own[power];
    Polynomial next{};
    for (std::size_t power = 0; power <= r; ++power) next[power + 1] = (r == 0 ? 1 : 2) * own[power];
    for (std::size_t power = 0; power <= r; ++power) next[power] -= r == 0 ? 0 : before[power];
    before = std::exchange(own, next);
  }
  return factor;
}

}  // namespace

PlaneCellsShape::PlaneCellsShape(const PlanesPlan& plan)
    : origin(plan.kernel.width()),
      n_columns(plan.n_u + 2 * plan.kernel.width() + 2),
      n_rows(plan.n_v / 2 + 2 * plan.kernel.width() + 2),
      row_stride((n_columns * pair_values + plane_row_overrun + 15) / 16 * 16) {}

PlaneScreens::PlaneScreens(const PlanesPlan& plan) {
  const std::size_t n_x = plan.image.n_x / 2 + 1, n_y = plan.image.n_y, n_terms = 2 * plan.n_pairs();
  const double middle = static_cast<double>(n_y / 2), cell = plan.image.cell_rad,
               phase = 2 * std::numbers::pi * plan.max_w_lambda;
  std::vector<double> along_x(n_x), along_y(n_y);
  for (std::size_t x = 0; x < n_x; ++x)
    along_x[x] = plan.kernel.transform(static_cast<double>(x) / static_cast<double>(plan.n_u));
  for (std::size_t y = 0; y < n_y; ++y)
    along_y[y] = plan.kernel.transform((static_cast<double>(y) - middle) / static_cast<double>(plan.n_v));
  of_term_.resize({n_terms, n_x, n_y});
  for (std::size_t x = 0; x < n_x; ++x)
    for (std::size_t y = 0; y < n_y; ++y) {
      if (y > n_y / 2) {  // as far from the middle as one that is made already
        for (std::size_t term = 0; term < n_terms; ++term)
          of_term_(term, x, y) = of_term_(term, x, n_y / 2 * 2 - y);
        continue;
      }
      const double less =
          n_minus_one(static_cast<double>(x) * cell, (static_cast<double>(y) - middle) * cell);
      const auto power = phase_powers(phase * (less + 1 - plan.n_middle), n_terms);
      // Re((-i)^r F): Re F, Im F, -Re F, -Im F; a pair's transform has both parts twice.
      const double scale = 0.5 / (along_x[x] * along_y[y]);
      for (std::size_t term = 0; term < n_terms; ++term)
        of_term_(term, x, y) = static_cast<float>(std::isnan(less) ? less
                                                  : term % 4 < 2   ? scale * power[term]
                                                                   : -scale * power[term]);
    }
}

PlaneImages::PlaneImages(const PlanesPlan& plan, unsigned n_threads)
    : plan_(plan),
      shape_(plan),
      n_threads_(n_threads),
      screens_(plan),
      scratch_(n_threads),
      along_u_(plan.n_u, 1, FftSign::minus),
      along_v_(plan.n_v, 1, FftSign::minus) {}

void PlaneImages::transform_rows(const TermCells& cells, const std::vector<std::uint8_t>& row_used) {
  const std::size_t n_u = plan_.n_u, n_x = plan_.image.n_x, half = n_x / 2;
  rows_.resize_for_overwrite({plan_.n_pairs(), shape_.n_rows, 2, (n_x + 7) / 8 * 8 + kRowGap});
  row_made_ = row_used;
  const std::size_t n_items = (shape_.n_rows + rows_at_once - 1) / rows_at_once;
  // Cell i is u = i - n_u / 2 - origin, and those beyond half a period repeat.
  const std::size_t first_u = (2 * n_u - n_u / 2 - shape_.origin) % n_u;
  parallel_for(n_threads_, plan_.n_pairs() * n_items, [&](std::size_t item, unsigned thread) {
    Buffer<std::complex<float>, 2>& row = scratch_[thread].row;
    row.resize_for_overwrite({2, (n_u + 7) / 8 * 8});
    const std::size_t pair = item / n_items, first = item % n_items * rows_at_once;
    for (std::size_t v = first; v < std::min(shape_.n_rows, first + rows_at_once); ++v) {
      if (!row_used[v]) continue;
      float* from = cells.data + pair * cells.pair_stride + v * cells.row_stride;
      std::complex<float>*even = &row(0, 0), *odd = &row(1, 0);
      split_terms(n_u - first_u, from, even + first_u, odd + first_u);
      split_terms(first_u, from + pair_values * (n_u - first_u), even, odd);
      for (std::size_t i = n_u; i < shape_.n_columns; ++i) {
        const std::size_t u = (first_u + i) % n_u;
        const float* cell = from + pair_values * i;
        even[u] += std::complex<float>(cell[0], cell[1]);
        odd[u] += std::complex<float>(cell[2], cell[3]);
      }
      std::fill(from, from + cells.row_stride, 0.0f);
      along_u_.execute(even);
      along_u_.execute(odd);
      std::complex<float>*sum = &rows_(pair, v, 0, 0), *difference = &rows_(pair, v, 1, 0);
      // Pixel x is at l = (n_x/2 - x) cell, index (n_x/2 - x) mod n_u of the transform along u.
      const std::size_t west = std::min(n_x, half + 1);
      combine_terms(west, even + half, odd + half, sum, difference);
      combine_terms(n_x - west, even + n_u - 1, odd + n_u - 1, sum + west, difference + west);
    }
  });
}

/// Adds rows of v < 0 and of v > n_v / 2 to the rows at -v that they also stand for.
void PlaneImages::fold_rows() {
  const std::size_t origin = shape_.origin, last = origin + plan_.n_v / 2, n_x = plan_.image.n_x;
  const auto fold = [&](std::size_t from, std::size_t to) {
    if (!row_made_[from]) return;
    for (std::size_t pair = 0; pair < plan_.n_pairs(); ++pair)
      for (std::size_t part = 0; part < 2; ++part) {
        const std::complex<float>* other = &rows_(pair, from, 1 - part, 0);
        std::complex<float>* own = &rows_(pair, to, part, 0);
        for (std::size_t x = 0; x < n_x; ++x) own[x] = row_made_[to] ? own[x] + other[x] : other[x];
      }
    row_made_[to] = 1;
  };
  for (std::size_t i = 1; i <= origin; ++i) fold(origin - i, origin + i);
  for (std::size_t row = last + 1; row < shape_.n_rows; ++row) fold(row, 2 * last - row);
}

void PlaneImages::transform_columns(View<double, 2> image) {
  const std::size_t n_v = plan_.n_v, n_x = plan_.image.n_x, n_y = plan_.image.n_y, south = n_y / 2;
  parallel_for(
      n_threads_, (n_x + columns_at_once - 1) / columns_at_once, [&](std::size_t item, unsigned thread) {
        auto& [unused, column, pixel] = scratch_[thread];
        column.resize_for_overwrite({columns_at_once, (n_v + 7) / 8 * 8});
        pixel.resize_for_overwrite({columns_at_once, n_y});
        const std::size_t first = item * columns_at_once, n = std::min(columns_at_once, n_x - first);
        for (std::size_t pair = 0; pair < plan_.n_pairs(); ++pair) {
          const std::size_t stride = column.extent(1);
          for (std::size_t v = 0; v <= n_v / 2; ++v) {
            const std::size_t row = shape_.origin + v;
            std::complex<float>*to = &column(0, v), *opposite = v == 0 ? to : &column(0, n_v - v);
            const std::complex<float>*sum = &rows_(pair, row, 0, first),
                  *difference = &rows_(pair, row, 1, first);
            if (!row_made_[row])
              for (std::size_t x = 0; x < columns_at_once; ++x) to[x * stride] = opposite[x * stride] = 0;
            else if (to == opposite)
              for (std::size_t x = 0; x < columns_at_once; ++x) to[x * stride] = sum[x] + difference[x];
            else
              for (std::size_t x = 0; x < columns_at_once; ++x) {
                to[x * stride] = sum[x];
                opposite[x * stride] = difference[x];
              }
          }
          for (std::size_t x = 0; x < n; ++x) {
            along_v_.execute(&column(x, 0));
            const std::size_t at = first + x, from_middle = at > n_x / 2 ? at - n_x / 2 : n_x / 2 - at;
            const float *even = screens_.even(pair, from_middle), *odd = screens_.odd(pair, from_middle);
            float* to = &pixel(x, 0);
            if (pair == 0) std::fill(to, to + n_y, 0.0f);
            // Pixel y is at index (y - n_y/2) mod n_v.
            add_terms(south, &column(x, n_v - south), even, odd, to);
            add_terms(n_y - south, &column(x, 0), even + south, odd + south, to + south);
          }
        }
        for (std::size_t y = 0; y < n_y; ++y)
          for (std::size_t x = 0; x < n; ++x) image(y, first + x) = static_cast<double>(pixel(x, y));
      });
}

void PlaneImages::make(const TermCells& cells, const std::vector<std::uint8_t>& row_used,
                       View<double, 2> image) {
  transform_rows(cells, row_used);
  fold_rows();
  transform_columns(image);
}

std::uint64_t PlaneImages::bytes(const PlanesPlan& plan, unsigned n_threads) {
  const PlaneCellsShape shape(plan);
  const std::uint64_t complex = sizeof(std::complex<float>), n_x = plan.image.n_x, n_y = plan.image.n_y;
  return 2 * plan.n_pairs() *
             (shape.n_rows * (n_x + 8 + kRowGap) * complex + (n_x / 2 + 1) * n_y * sizeof(float)) +
         n_threads * (complex * (2 * (plan.n_u + 8) + columns_at_once * (plan.n_v + 8)) +
                      columns_at_once * n_y * sizeof(float));
}

}  // namespace apsyn
