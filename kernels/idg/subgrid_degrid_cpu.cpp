// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/subgrid_degrid_cpu.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/common/folded_product.h"
#include "kernels/common/phasors.h"
#include "kernels/idg/aterm_math.h"
#include "kernels/idg/layer_transform.h"
#include "kernels/idg/taper.h"
#include "kernels/idg/w_terms.h"

namespace apsyn {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;
/// Visibilities interpolated before their phases are turned.
constexpr std::size_t batch = 256;

std::size_t round_up(std::size_t n, std::size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

std::size_t wrap(std::int64_t index, std::size_t n) {
  const auto size = static_cast<std::int64_t>(n);
  return static_cast<std::size_t>((index % size + size) % size);
}

template <class T>
void grow(Buffer<T, 1>& buffer, std::size_t size) {
  if (buffer.size() < size) buffer.resize({size});
}

/// cos and sin of 2 pi a b / period for a in [0, n_a) and b in [0, n_b), each plus its offset.
template <class T>
void fill_tables(Buffer<T, 2>& cosine, Buffer<T, 2>& sine, std::size_t n_a, double offset_a, std::size_t n_b,
                 double offset_b, double period) {
  cosine.resize({n_a, n_b});
  sine.resize({n_a, n_b});
  for (std::size_t a = 0; a < n_a; ++a)
    for (std::size_t b = 0; b < n_b; ++b) {
      const double angle =
          two_pi * (static_cast<double>(a) + offset_a) * (static_cast<double>(b) + offset_b) / period;
      cosine(a, b) = static_cast<T>(std::cos(angle));
      sine(a, b) = static_cast<T>(std::sin(angle));
    }
}

/// The widest half range of w that so many terms serve with the error.
double widest_half_w(const IdgPlan& plan, std::size_t n_terms, double error) {
  if (n_terms >= plan.n_terms || plan.n_half_range <= 0) return plan.half_w_lambda;
  double low = 0, high = plan.half_w_lambda;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (chebyshev_terms(two_pi * middle * plan.n_half_range, error) <= n_terms ? low : high) = middle;
  }
  return low;
}

}  // namespace

template <class T>
DegridTables<T>::DegridTables(const IdgPlan& plan_, const IdgSetup& setup_)
    : plan(plan_),
      setup(setup_),
      kernel(plan.settings.accuracy / 4, plan.settings.subgrid),
      weights(kernel),
      n_model_values(2 * setup.n_image_planes()),
      n_values(setup.n_data_planes == 1   ? 2
               : setup.n_data_planes == 2 ? 4
                                          : 8) {
  const std::size_t side = plan.settings.subgrid, half = side / 2;
  const double sides = static_cast<double>(side);
  fill_tables(cell_cosine, cell_sine, half + 1, 0, half, 0.5, sides);
  const double reach = ShortKernel::oversampling * (static_cast<double>(plan.bucket()) / 2 + 1);
  fill_tables(fine_cosine, fine_sine, half, 0.5, kernel.cells(reach) / 2, 0.5,
              ShortKernel::oversampling * sides);

  factor.resize({half, half});
  n.resize({half, half});
  const Taper window(plan.settings.taper, plan.taper_c);
  for (std::size_t x = 0; x < half; ++x)
    for (std::size_t y = 0; y < half; ++y) {
      const double ix = static_cast<double>(x) + 0.5, iy = static_cast<double>(y) + 0.5;
      factor(x, y) = static_cast<T>(window(2 * ix / sides) * window(2 * iy / sides) /
                                    (kernel.correction(ix) * kernel.correction(iy) * sides * sides));
      const double l = ix * plan.coarse_l_rad(), m = iy * plan.coarse_m_rad();
      n(x, y) = std::sqrt(std::max(0.0, 1 - l * l - m * m)) - plan.n_middle;
    }
  if (plan.w_handling == WHandling::kernel) return;
  for (std::size_t n_terms = 1; n_terms <= std::min(plan.n_terms, most_terms); ++n_terms) {
    half_w_lambda.push_back(widest_half_w(plan, n_terms, plan.settings.accuracy / 8));
    Buffer<T, 3>& table = coefficient.emplace_back();
    table.resize({n_terms, half, half});
    for (std::size_t r = 0; r < n_terms; ++r)
      for (std::size_t x = 0; x < half; ++x)
        for (std::size_t y = 0; y < half; ++y)
          table(r, x, y) =
              static_cast<T>((r == 0 ? 1 : 2) * bessel_j(r, two_pi * half_w_lambda.back() * n(x, y)));
  }
}

template <class T>
void SubgridPredictor<T>::place_visibilities(const GridBlock& block, const Partition& partition,
                                             const SubgridTask& task) {
  const IdgPlan& plan = tables_.plan;
  const bool kernel = plan.w_handling == WHandling::kernel;
  const double per_u = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  const double per_v = static_cast<double>(plan.n_v) * plan.image.cell_rad;
  const double layer_w = kernel ? 0 : plan.layer_w_lambda(task.layer);
  const double task_w = kernel ? 0 : task.w_lambda;
  double reach_u = 0, reach_v = 0;
  places_.clear();
  for (std::size_t i = task.first_run; i < task.first_run + task.n_runs; ++i) {
    const VisibilityRun& run = partition.runs[i];
    const double sign = block.uvw_m(run.row, 2) < 0 ? -1 : 1;
    const double u_m = sign * block.uvw_m(run.row, 0) * per_u, v_m = sign * block.uvw_m(run.row, 1) * per_v,
                 w_m = sign * block.uvw_m(run.row, 2);
    const double path_m = block.path_m.size() == 0 ? 0.0 : sign * block.path_m[run.row];
    for (std::uint32_t chan = run.first_channel; chan < run.first_channel + run.n_channels; ++chan) {
      const double wavenumber = block.wavenumber[chan], w = w_m * wavenumber;
      Place place;
      place.row = run.row;
      place.chan = chan;
      place.u = ShortKernel::oversampling * (u_m * wavenumber - static_cast<double>(task.centre_u));
      place.v = ShortKernel::oversampling * (v_m * wavenumber - static_cast<double>(task.centre_v));
      place.w_lambda = w - task_w;
      place.turns = (w - layer_w) * (plan.n_middle - 1) + path_m * wavenumber;
      place.conjugate = sign < 0;
      reach_u = std::max(reach_u, std::abs(place.u));
      reach_v = std::max(reach_v, std::abs(place.v));
      places_.push_back(place);
    }
  }
  n_fine_u_ = tables_.kernel.cells(reach_u);
  n_fine_v_ = tables_.kernel.cells(reach_v);
}

template <class T>
void SubgridPredictor<T>::choose_terms(const SubgridTask& task) {
  const auto& half_w = tables_.half_w_lambda;
  if (tables_.plan.w_handling == WHandling::kernel) {
    n_terms_ = tables_.plan.n_terms;
  } else {
    const auto enough = std::lower_bound(half_w.begin(), half_w.end() - 1, task.half_w_lambda * (1 - 1e-9));
    n_terms_ = static_cast<std::size_t>(enough - half_w.begin()) + 1;
  }
  cell_stride_ = round_up(n_terms_ * tables_.n_values, folded_product_columns<T>());
  grow(term_pixel_, 4 * tables_.n.size() * cell_stride_);
}

template <class T>
void SubgridPredictor<T>::load_pixels(const SubgridTask& task, View<const std::complex<T>, 3> grid) {
  const IdgPlan& plan = tables_.plan;
  const std::size_t side = plan.settings.subgrid, half = side / 2, values = tables_.n_model_values;
  constexpr std::size_t group = folded_product_columns<T>();
  const std::size_t stride = round_up(side * values, group);
  if (even_.size() == 0) {
    even_.resize({half + 1, stride});
    odd_.resize({half + 1, stride});
    pixel_.resize({side, stride});
  }
  const std::size_t start = wrap(task.centre_u - static_cast<std::int64_t>(half), plan.n_u);
  const std::size_t first_part = std::min(side, plan.n_u - start) * values;
  std::vector<T> rows(2 * side * values);
  auto cells = [&](std::int64_t v, T* row) {
    const T* from = reinterpret_cast<const T*>(&grid(wrap(task.centre_v + v, plan.n_v), 0, 0));
    std::copy_n(from + start * values, first_part, row);
    std::copy_n(from, side * values - first_part, row + first_part);
  };
  // P(y) = sum_k G_k exp(-2 pi i k y / L) = sum cos (G_k + G_-k) + sum sin (-i) (G_k - G_-k).
  auto store = [&](const T* above, const T* below, std::size_t n, T* even, T* odd) {
    for (std::size_t i = 0; i < n; i += 2) {
      even[i] = above[i] + below[i];
      even[i + 1] = above[i + 1] + below[i + 1];
      odd[i] = above[i + 1] - below[i + 1];
      odd[i + 1] = below[i] - above[i];
    }
  };
  std::vector<T> zero(side * values, T(0));
  for (std::size_t k = 0; k <= half; ++k) {
    T* above = rows.data();
    T* below = rows.data() + side * values;
    if (k < half) cells(static_cast<std::int64_t>(k), above);
    if (k > 0) cells(-static_cast<std::int64_t>(k), below);
    store(k < half ? above : zero.data(), k > 0 ? below : zero.data(), side * values, &even_(k, 0),
          &odd_(k, 0));
  }
  FoldedProduct<T> product;
  product.n_k = half + 1;
  product.n_rows = half;
  product.block_size = stride;
  product.cosine = tables_.cell_cosine.data();
  product.sine = tables_.cell_sine.data();
  product.table_stride = half;
  product.even = even_.data();
  product.odd = odd_.data();
  product.k_stride = stride;
  product.plus = &pixel_(half, 0);
  product.minus = &pixel_(half - 1, 0);
  product.out_row_stride = stride;
  folded_product(product);

  for (std::size_t k = 0; k <= half; ++k)
    for (std::size_t y = 0; y < side; ++y) {
      const T* row = &pixel_(y, 0);
      store(k < half ? row + (half + k) * values : zero.data(),
            k > 0 ? row + (half - k) * values : zero.data(), values, &even_(k, y * values),
            &odd_(k, y * values));
    }
  folded_product(product);
}

template <class T>
void SubgridPredictor<T>::apply_aterms(const GridBlock& block, const SubgridTask& task) {
  const std::size_t side = tables_.plan.settings.subgrid, in = tables_.n_model_values, out = tables_.n_values;
  const auto& mix = tables_.setup.mix;
  if (mixed_.size() == 0) mixed_.resize({side, side * out});
  // Of the conjugate of a folded visibility everything is the conjugate but the phase.
  const T conjugate = task.folded ? -1 : 1;
  using Matrix = AtermMatrix<T>;
  auto jones = [&](std::size_t station, std::size_t x, std::size_t y) {
    const auto* a = &block.aterms.jones(task.row_slot, task.chan_slot, station, y, side - 1 - x, 0);
    auto value = [&](std::size_t i) {
      return AtermValue<T>{static_cast<T>(a[i].real()), conjugate * static_cast<T>(a[i].imag())};
    };
    return Matrix{value(0), value(1), value(2), value(3)};
  };
  for (std::size_t x = 0; x < side; ++x)
    for (std::size_t y = 0; y < side; ++y) {
      const T* pixel = &pixel_(x, y * in);
      AtermValue<T> corr[4];
      for (std::size_t s = 0; s < mix.size(); ++s)
        for (std::size_t c = 0; c < 4; ++c)
          corr[c] = corr[c] + AtermValue<T>{pixel[2 * s], pixel[2 * s + 1]} *
                                  AtermValue<T>{static_cast<T>(mix[s][c].real()),
                                                conjugate * static_cast<T>(mix[s][c].imag())};
      const Matrix result =
          aterm_forward(jones(task.station_p, x, y), Matrix{corr[0], corr[1], corr[2], corr[3]},
                        jones(task.station_q, x, y));
      T* to = &mixed_(x, y * out);
      const AtermValue<T> all[4] = {result.xx, result.xy, result.yx, result.yy};
      for (std::size_t c = 0; c < 4; ++c) {
        to[2 * c] = all[c].re;
        to[2 * c + 1] = all[c].im;
      }
    }
}

/// Sums and differences over the quadrants, odd ones times i for each odd axis.
template <class T>
void SubgridPredictor<T>::fold_pixels() {
  const std::size_t side = tables_.plan.settings.subgrid, half = side / 2, out = tables_.n_values;
  const bool mixed = !tables_.setup.mix.empty();
  const Buffer<T, 2>& from = mixed ? mixed_ : pixel_;
  const std::size_t in = mixed ? out : tables_.n_model_values, quadrant = half * half * out;
  for (std::size_t x = 0; x < half; ++x)
    for (std::size_t y = 0; y < half; ++y) {
      const T* pp = &from(half + x, (half + y) * in);
      const T* pm = &from(half + x, (half - 1 - y) * in);
      const T* mp = &from(half - 1 - x, (half + y) * in);
      const T* mm = &from(half - 1 - x, (half - 1 - y) * in);
      const T scale = tables_.factor(x, y);
      T* to = folded_.data() + (x * half + y) * out;
      for (std::size_t c = 0; c < in; c += 2) {
        for (std::size_t part = 0; part < 2; ++part) {
          const std::size_t i = c + part, turned = c + 1 - part;
          const T sign = part == 0 ? -scale : scale;  // i (re, im) = (-im, re)
          to[i] = scale * ((pp[i] + pm[i]) + (mp[i] + mm[i]));
          to[quadrant + turned] = -sign * ((pp[i] - pm[i]) + (mp[i] - mm[i]));
          to[2 * quadrant + turned] = -sign * ((pp[i] + pm[i]) - (mp[i] + mm[i]));
          to[3 * quadrant + i] = -scale * ((pp[i] - pm[i]) - (mp[i] - mm[i]));
        }
      }
      for (std::size_t q = 0; q < 4; ++q)
        for (std::size_t c = in; c < out; ++c) to[q * quadrant + c] = 0;
    }
}

template <class T>
void SubgridPredictor<T>::make_screen(double w_lambda) {
  const std::size_t n = tables_.n.size();
  screen_turns_.resize(n);
  screen_cosine_.resize(n);
  screen_sine_.resize(n);
  for (std::size_t i = 0; i < n; ++i) screen_turns_[i] = w_lambda * tables_.n.data()[i];
  unit_phasors(n, screen_turns_.data(), screen_cosine_.data(), screen_sine_.data());
}

/// term_pixel_ of one term: folded_ times the screen and i^r coefficient; as it is without a coefficient.
template <class T>
void SubgridPredictor<T>::expand_term(std::size_t term, const T* coefficient, bool screen) {
  const std::size_t out = tables_.n_values, pixels = tables_.n.size();
  static constexpr int turn_re[4] = {1, 0, -1, 0}, turn_im[4] = {0, 1, 0, -1};
  for (std::size_t q = 0; q < 4; ++q)
    for (std::size_t i = 0; i < pixels; ++i) {
      T re = 1, im = 0;
      if (screen) {
        re = screen_cosine_[i];
        im = screen_sine_[i];
      }
      if (coefficient != nullptr) {
        const T scale = coefficient[i];
        const T turned = scale * (re * T(turn_re[term % 4]) - im * T(turn_im[term % 4]));
        im = scale * (re * T(turn_im[term % 4]) + im * T(turn_re[term % 4]));
        re = turned;
      }
      const T* from = folded_.data() + (q * pixels + i) * out;
      T* to = term_pixel_.data() + (q * pixels + i) * cell_stride_ + term * out;
      for (std::size_t c = 0; c < out; c += 2) {
        to[c] = from[c] * re - from[c + 1] * im;
        to[c + 1] = from[c] * im + from[c + 1] * re;
      }
    }
}

template <class T>
void SubgridPredictor<T>::make_fine_cells() {
  const std::size_t half = tables_.plan.settings.subgrid / 2, quadrant = half * half * cell_stride_;
  const std::size_t fine_row = n_fine_u_ * cell_stride_;
  grow(half_fine_, 2 * half * fine_row);
  grow(fine_, n_fine_v_ * fine_row);
  FoldedProduct<T> product;
  product.n_k = half;
  product.cosine = tables_.fine_cosine.data();
  product.sine = tables_.fine_sine.data();
  product.table_stride = tables_.fine_cosine.extent(1);
  product.n_rows = n_fine_u_ / 2;
  product.n_blocks = half;
  product.block_size = product.block_stride = cell_stride_;
  product.k_stride = half * cell_stride_;
  product.out_row_stride = cell_stride_;
  product.out_block_stride = fine_row;
  for (std::size_t parity = 0; parity < 2; ++parity) {
    product.even = term_pixel_.data() + parity * quadrant;
    product.odd = term_pixel_.data() + (2 + parity) * quadrant;
    product.plus = half_fine_.data() + parity * half * fine_row + n_fine_u_ / 2 * cell_stride_;
    product.minus = product.plus - cell_stride_;
    folded_product(product);
  }
  product.n_rows = n_fine_v_ / 2;
  product.n_blocks = 1;
  product.block_size = product.k_stride = product.out_row_stride = fine_row;
  product.even = half_fine_.data();
  product.odd = half_fine_.data() + half * fine_row;
  product.plus = fine_.data() + n_fine_v_ / 2 * fine_row;
  product.minus = product.plus - fine_row;
  folded_product(product);
}

template <class T>
template <class Out>
void SubgridPredictor<T>::interpolate_all(const SubgridTask& task, View<std::complex<Out>, 3> data) {
  const IdgPlan& plan = tables_.plan;
  const std::size_t n_terms = n_terms_, values = tables_.n_values;
  const double half_support = static_cast<double>(tables_.kernel.support()) / 2;
  const double middle_u = (static_cast<double>(n_fine_u_) - 1) / 2 - half_support;
  const double middle_v = (static_cast<double>(n_fine_v_) - 1) / 2 - half_support;
  const double half_w_lambda = plan.w_handling == WHandling::kernel ? 0 : tables_.half_w_lambda[n_terms - 1];
  alignas(64) std::uint32_t first[batch];
  alignas(64) T z[2 * batch], term[batch * most_terms], value[8 * batch], cosine[batch], sine[batch];
  alignas(64) double turns[batch];
  Interpolation<T> work;
  work.n_terms = n_terms;
  work.n_values = values;
  work.first = first;
  work.z = z;
  work.term = term;
  work.cell = fine_.data();
  work.n_u = n_fine_u_;
  work.cell_stride = cell_stride_;
  work.value = value;
  for (std::size_t begin = 0; begin < places_.size(); begin += batch) {
    const std::size_t n = std::min(batch, places_.size() - begin);
    for (std::size_t i = 0; i < n; ++i) {
      const Place& place = places_[begin + i];
      const double u = place.u + middle_u, v = place.v + middle_v, cell_u = std::ceil(u),
                   cell_v = std::ceil(v);
      first[i] = static_cast<std::uint32_t>(cell_v) * static_cast<std::uint32_t>(n_fine_u_) +
                 static_cast<std::uint32_t>(cell_u);
      z[2 * i] = static_cast<T>(2 * (cell_u - u) - 1);
      z[2 * i + 1] = static_cast<T>(2 * (cell_v - v) - 1);
      turns[i] = place.turns;
      T* t = term + i * n_terms;
      if (plan.w_handling == WHandling::kernel) {
        for (std::size_t r = 0; r < n_terms; ++r)
          t[r] = static_cast<T>(semicircle_kernel(
              plan.kernel_beta, (place.w_lambda - plan.layer_w_lambda(task.layer + r)) / plan.half_w_lambda));
      } else {
        const T x = static_cast<T>(place.w_lambda / half_w_lambda);
        t[0] = 1;
        for (std::size_t r = 1; r < n_terms; ++r) t[r] = r == 1 ? x : 2 * x * t[r - 1] - t[r - 2];
      }
    }
    work.n_visibilities = n;
    interpolate(tables_.weights, work);
    unit_phasors(n, turns, cosine, sine);
    for (std::size_t i = 0; i < n; ++i) {
      const Place& place = places_[begin + i];
      const T* from = value + i * values;
      std::complex<Out>* to = &data(place.row, place.chan, 0);
      for (std::size_t plane = 0; plane < data.extent(2); ++plane) {
        const T re = from[2 * plane] * cosine[i] - from[2 * plane + 1] * sine[i];
        const T im = from[2 * plane] * sine[i] + from[2 * plane + 1] * cosine[i];
        to[plane] += std::complex<Out>(static_cast<Out>(re), static_cast<Out>(place.conjugate ? -im : im));
      }
    }
  }
}

template <class T>
template <class Out>
void SubgridPredictor<T>::predict(const GridBlock& block, const Partition& partition, const SubgridTask& task,
                                  const LayerGrids<T>& layers, View<std::complex<Out>, 3> data) {
  const IdgPlan& plan = tables_.plan;
  place_visibilities(block, partition, task);
  grow(folded_, 4 * tables_.n.size() * tables_.n_values);
  const bool aterms = !tables_.setup.mix.empty();
  auto load = [&](std::size_t layer) {
    load_pixels(task, layers.grids[layer - layers.first_layer]);
    if (aterms) apply_aterms(block, task);
    fold_pixels();
  };
  const bool kernel = plan.w_handling == WHandling::kernel;
  if (!kernel) load(task.layer);
  choose_terms(task);
  if (kernel) {
    for (std::size_t r = 0; r < plan.n_terms; ++r) {
      const std::size_t layer = task.layer + r;
      if (layer >= layers.first_layer && layer < layers.first_layer + layers.grids.extent(0))
        load(layer);
      else
        std::fill(folded_.begin(), folded_.end(), T(0));
      expand_term(r, nullptr, false);
    }
  } else {
    make_screen(task.w_lambda - plan.layer_w_lambda(task.layer));
    const Buffer<T, 3>& coefficient = tables_.coefficient[n_terms_ - 1];
    for (std::size_t r = 0; r < n_terms_; ++r)
      expand_term(r, coefficient.data() + r * tables_.n.size(), true);
  }
  make_fine_cells();
  interpolate_all(task, data);
}

template struct DegridTables<float>;
template struct DegridTables<double>;
template class SubgridPredictor<float>;
template class SubgridPredictor<double>;
template void SubgridPredictor<float>::predict(const GridBlock&, const Partition&, const SubgridTask&,
                                               const LayerGrids<float>&, View<std::complex<float>, 3>);
template void SubgridPredictor<float>::predict(const GridBlock&, const Partition&, const SubgridTask&,
                                               const LayerGrids<float>&, View<std::complex<double>, 3>);
template void SubgridPredictor<double>::predict(const GridBlock&, const Partition&, const SubgridTask&,
                                                const LayerGrids<double>&, View<std::complex<float>, 3>);
template void SubgridPredictor<double>::predict(const GridBlock&, const Partition&, const SubgridTask&,
                                                const LayerGrids<double>&, View<std::complex<double>, 3>);

}  // namespace apsyn
