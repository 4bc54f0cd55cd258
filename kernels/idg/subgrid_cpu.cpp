// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/subgrid_cpu.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/common/outer_sum.h"
#include "kernels/idg/w_terms.h"

namespace apsyn {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;
/// Visibilities per matrix product: A and B stay in the second-level cache.
constexpr std::size_t batch = 64;

std::size_t outputs_of(const IdgPlan& plan) {
  return plan.w_handling == WHandling::kernel ? plan.n_terms : 1;
}

/// cos and sin of theta (j + 1/2), j = 0 .. n-1, by doubling: log2(n) roundings instead of n.
template <class T>
void fill_phasors(double theta, std::size_t n, T* cosine, T* sine) {
  double step_cos = std::cos(theta), step_sin = std::sin(theta);
  cosine[0] = static_cast<T>(std::cos(theta / 2));
  sine[0] = static_cast<T>(std::sin(theta / 2));
  for (std::size_t done = 1; done < n; done *= 2) {
    const T c = static_cast<T>(step_cos), s = static_cast<T>(step_sin);
    const std::size_t more = std::min(done, n - done);
    for (std::size_t j = 0; j < more; ++j) {
      cosine[done + j] = cosine[j] * c - sine[j] * s;
      sine[done + j] = cosine[j] * s + sine[j] * c;
    }
    const double next = step_cos * step_cos - step_sin * step_sin;
    step_sin = 2 * step_cos * step_sin;
    step_cos = next;
  }
}

}  // namespace

template <class T>
SubgridTables<T>::SubgridTables(const IdgPlan& plan_, std::size_t n_data, PsfPlane psf)
    : plan(plan_), n_data_planes(n_data), n_planes(n_data + (psf == PsfPlane::last ? 1 : 0)) {
  const std::size_t side = plan.settings.subgrid, half = side / 2;
  n_outputs = outputs_of(plan);
  constexpr std::size_t group = outer_sum_columns<T>();
  table_columns = (side + group - 1) / group * group;
  taper.resize({half, half});
  coefficient.resize({plan.n_terms, half, half});
  const Taper window(plan.settings.taper, plan.taper_c);
  const double step_l = static_cast<double>(plan.n_u) * plan.image.cell_rad / static_cast<double>(side);
  const double step_m = static_cast<double>(plan.n_v) * plan.image.cell_rad / static_cast<double>(side);
  for (std::size_t y = 0; y < half; ++y)
    for (std::size_t x = 0; x < half; ++x) {
      const double ix = static_cast<double>(x) + 0.5, iy = static_cast<double>(y) + 0.5;
      taper(y, x) = window(2 * ix / static_cast<double>(side)) * window(2 * iy / static_cast<double>(side));
      if (plan.w_handling == WHandling::kernel) continue;
      const double l = ix * step_l, m = iy * step_m;
      const double n = std::sqrt(std::max(0.0, 1 - l * l - m * m));
      for (std::size_t r = 0; r < plan.n_terms; ++r)
        coefficient(r, y, x) =
            (r == 0 ? 1 : 2) * taper(y, x) * bessel_j(r, two_pi * plan.half_w_lambda * (n - plan.n_middle));
    }
  uv_phase.resize({side});
  for (std::size_t k = 0; k < side; ++k) {
    const double cell = static_cast<double>(k) - static_cast<double>(half);
    uv_phase.data()[k] =
        std::polar(1.0 / static_cast<double>(side),
                   -std::numbers::pi * cell * static_cast<double>(side - 1) / static_cast<double>(side));
  }
  fft = std::make_unique<ComplexFft<double>>(std::array<std::size_t, 2>{side, side}, 1, FftSign::plus);
}

template <class T>
SubgridMaker<T>::SubgridMaker(const SubgridTables<T>& tables) : tables_(tables) {
  const std::size_t side = tables.plan.settings.subgrid;
  n_rows_ = (tables.plan.n_terms * tables.n_planes * 2 * side + 7) / 8 * 8;
  a_.resize({batch, n_rows_});
  b_.resize({batch, tables.table_columns});
  c_.resize({n_rows_, tables.table_columns});
  image_.resize({side, side});
  cos_v_.resize(side / 2);
  sin_v_.resize(side / 2);
  term_.resize(tables.plan.n_terms);
}

template <class T>
void SubgridMaker<T>::add_visibility(const GridBlock& block, const SubgridTask& task, std::size_t row,
                                     std::size_t chan) {
  const IdgPlan& plan = tables_.plan;
  const std::size_t side = plan.settings.subgrid, half = side / 2;
  const double wavenumber = block.wavenumber[chan];
  double u = block.uvw_m(row, 0) * wavenumber, v = block.uvw_m(row, 1) * wavenumber,
         w = block.uvw_m(row, 2) * wavenumber;
  const double path = block.path_m.size() == 0 ? 0.0 : block.path_m[row] * wavenumber;
  const double conjugate = w < 0 ? -1 : 1;
  u *= conjugate;
  v *= conjugate;
  w *= conjugate;
  const double per_u = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  const double per_v = static_cast<double>(plan.n_v) * plan.image.cell_rad;
  const double du = u * per_u - static_cast<double>(task.centre_u);
  const double dv = v * per_v - static_cast<double>(task.centre_v);

  double w_phase;
  if (plan.w_handling == WHandling::kernel) {
    w_phase = w * (plan.n_middle - 1);
    for (std::size_t r = 0; r < plan.n_terms; ++r)
      term_[r] =
          semicircle_kernel(plan.kernel_beta, (w - plan.layer_w_lambda(task.layer + r)) / plan.half_w_lambda);
  } else {
    const double dw = w - plan.layer_w_lambda(task.layer), t = dw / plan.half_w_lambda;
    w_phase = dw * (plan.n_middle - 1);
    term_[0] = 1;
    for (std::size_t r = 1; r < plan.n_terms; ++r)
      term_[r] = r == 1 ? t : 2 * t * term_[r - 1] - term_[r - 2];
  }

  T* a = a_.data() + n_pending_ * n_rows_;
  T* b = b_.data() + n_pending_ * tables_.table_columns;
  fill_phasors(two_pi * du / static_cast<double>(side), half, b, b + half);
  fill_phasors(two_pi * dv / static_cast<double>(side), half, cos_v_.data(), sin_v_.data());
  const std::complex<double> turn = std::polar(1.0, -two_pi * w_phase);
  const std::complex<double> path_turn = std::polar(1.0, -two_pi * path);
  const T* cos_v = cos_v_.data();
  const T* sin_v = sin_v_.data();
  for (std::size_t plane = 0; plane < tables_.n_planes; ++plane) {
    const bool psf = plane >= tables_.n_data_planes;
    const double weight = block.weight(row, chan, psf ? 0 : plane);
    std::complex<double> value = 0;
    if (weight != 0)
      value = psf ? weight : weight * std::complex<double>(block.data(row, chan, plane)) * path_turn;
    if (conjugate < 0) value = std::conj(value);
    value *= turn;
    for (std::size_t r = 0; r < plan.n_terms; ++r) {
      const T re = static_cast<T>(value.real() * term_[r]), im = static_cast<T>(value.imag() * term_[r]);
      T* rows = a + (r * tables_.n_planes + plane) * 2 * side;
      for (std::size_t y = 0; y < half; ++y) {
        rows[y] = re * cos_v[y];
        rows[half + y] = re * sin_v[y];
        rows[2 * half + y] = im * cos_v[y];
        rows[3 * half + y] = im * sin_v[y];
      }
    }
  }
  if (++n_pending_ == batch) flush();
}

template <class T>
void SubgridMaker<T>::flush() {
  if (n_pending_ == 0) return;
  outer_sum(n_pending_, n_rows_, tables_.table_columns, a_.data(), b_.data(), c_.data());
  n_pending_ = 0;
}

template <class T>
void SubgridMaker<T>::finish(std::size_t plane, std::size_t output, View<std::complex<T>, 2> subgrid) {
  const IdgPlan& plan = tables_.plan;
  const std::size_t side = plan.settings.subgrid, half = side / 2, columns = tables_.table_columns;
  const bool kernel = plan.w_handling == WHandling::kernel;
  image_.fill(0);
  for (std::size_t r = kernel ? output : 0; r < (kernel ? output + 1 : plan.n_terms); ++r) {
    const T* c = c_.data() + (r * tables_.n_planes + plane) * 2 * side * columns;
    // (-i)^r of the Chebyshev expansion.
    static constexpr int turn_re[4] = {1, 0, -1, 0}, turn_im[4] = {0, -1, 0, 1};
    const std::complex<double> turn = kernel ? 1.0 : std::complex<double>(turn_re[r % 4], turn_im[r % 4]);
    for (std::size_t y = 0; y < half; ++y) {
      const T* re_cos = c + y * columns;
      const T* re_sin = re_cos + half * columns;
      const T* im_cos = re_sin + half * columns;
      const T* im_sin = im_cos + half * columns;
      std::complex<double>* north = &image_(half + y, 0);
      std::complex<double>* south = &image_(half - 1 - y, 0);
      for (std::size_t x = 0; x < half; ++x) {
        const double factor = kernel ? tables_.taper(y, x) : tables_.coefficient(r, y, x);
        const std::complex<double> scale = turn * factor;
        // V exp(-i (x theta_u + y theta_v)) for the four signs of x and y.
        const double rcc = re_cos[x], rcs = re_cos[half + x], rsc = re_sin[x], rss = re_sin[half + x];
        const double icc = im_cos[x], ics = im_cos[half + x], isc = im_sin[x], iss = im_sin[half + x];
        const std::complex<double> pp((rcc - rss) + (isc + ics), (icc - iss) - (rsc + rcs));
        const std::complex<double> pm((rcc + rss) + (isc - ics), (icc + iss) - (rsc - rcs));
        const std::complex<double> mp((rcc + rss) - (isc - ics), (icc + iss) + (rsc - rcs));
        const std::complex<double> mm((rcc - rss) - (isc + ics), (icc - iss) + (rsc + rcs));
        auto add = [&](std::complex<double>& pixel, const std::complex<double>& s) {
          pixel += std::complex<double>(s.real() * scale.real() - s.imag() * scale.imag(),
                                        s.real() * scale.imag() + s.imag() * scale.real());
        };
        add(north[half + x], pp);
        add(north[half - 1 - x], pm);
        add(south[half + x], mp);
        add(south[half - 1 - x], mm);
      }
    }
  }
  tables_.fft->execute(image_.data());
  for (std::size_t v = 0; v < side; ++v) {
    const std::complex<double>* row = &image_((v + half) % side, 0);
    for (std::size_t u = 0; u < side; ++u) {
      const std::complex<double> phase = tables_.uv_phase.data()[v] * tables_.uv_phase.data()[u];
      const std::complex<double> cell = row[(u + half) % side];
      subgrid(v, u) =
          std::complex<T>(static_cast<T>(cell.real() * phase.real() - cell.imag() * phase.imag()),
                          static_cast<T>(cell.real() * phase.imag() + cell.imag() * phase.real()));
    }
  }
}

template <class T>
void SubgridMaker<T>::make(const GridBlock& block, const Partition& partition, const SubgridTask& task,
                           std::size_t first_layer, std::size_t n_layers, View<std::complex<T>, 4> subgrids) {
  c_.fill(0);
  for (std::size_t i = task.first_run; i < task.first_run + task.n_runs; ++i) {
    const VisibilityRun& run = partition.runs[i];
    for (std::size_t chan = run.first_channel; chan < run.first_channel + run.n_channels; ++chan)
      add_visibility(block, task, run.row, chan);
  }
  flush();
  for (std::size_t plane = 0; plane < tables_.n_planes; ++plane)
    for (std::size_t output = 0; output < tables_.n_outputs; ++output) {
      const std::size_t layer = task.layer + output;
      if (layer >= first_layer && layer < first_layer + n_layers)
        finish(plane, output, subgrids[plane][output]);
    }
}

template struct SubgridTables<float>;
template struct SubgridTables<double>;
template class SubgridMaker<float>;
template class SubgridMaker<double>;

namespace {
std::uint64_t bytes_per_subgrid(const IdgPlan& plan, std::size_t n_planes) {
  const std::size_t value = plan.settings.precision == Precision::single ? 8 : 16;
  return std::uint64_t{plan.settings.subgrid} * plan.settings.subgrid * n_planes * outputs_of(plan) * value;
}
}  // namespace

std::size_t subgrids_per_chunk(const IdgPlan& plan, std::size_t n_planes) {
  constexpr std::uint64_t chunk_bytes = 64'000'000;
  return std::clamp<std::uint64_t>(chunk_bytes / bytes_per_subgrid(plan, n_planes), 8, 1024);
}

std::uint64_t subgrid_bytes(const IdgPlan& plan, std::size_t n_planes, unsigned n_threads) {
  const std::uint64_t side = plan.settings.subgrid,
                      value = plan.settings.precision == Precision::single ? 4 : 8;
  const std::uint64_t rows = plan.n_terms * n_planes * 2 * side;
  const std::uint64_t per_thread =
      (rows * (batch + side + 16) + (side + 16) * batch) * value + 16 * side * side;
  return subgrids_per_chunk(plan, n_planes) * bytes_per_subgrid(plan, n_planes) + n_threads * per_thread;
}

}  // namespace apsyn
