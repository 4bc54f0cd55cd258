// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/spread_tables.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/common/math/matrix_product.h"
#include "kernels/idg/plan/w_terms.h"
#include "kernels/idg/tracks/track_nodes.h"

namespace apsyn {
namespace {

constexpr double pi = std::numbers::pi;
/// Fraction of the wanted accuracy that interpolation in w may use up, an RMS like that of the spread kernel.
constexpr double w_share = 0.2;

std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

double cells_per_lambda(const IdgPlan& plan, std::size_t axis) {
  return static_cast<double>(axis == 0 ? plan.n_u : plan.n_v) * plan.image.cell_rad;
}

double n_at(double l, double m) {
  return std::sqrt(std::max(0.0, 1 - l * l - m * m));
}

/// Chebyshev coefficients of f through its values at as many nodes.
template <class F>
std::vector<double> chebyshev_series(std::size_t n, F f) {
  std::vector<double> value(n), series(n);
  for (std::size_t i = 0; i < n; ++i)
    value[i] = f(std::cos(pi * (static_cast<double>(i) + 0.5) / static_cast<double>(n)));
  for (std::size_t k = 0; k < n; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      sum += value[i] *
             std::cos(pi * static_cast<double>(k) * (static_cast<double>(i) + 0.5) / static_cast<double>(n));
    series[k] = sum * (k == 0 ? 1 : 2) / static_cast<double>(n);
  }
  return series;
}

template <class T>
WNodes<T> chebyshev_nodes(std::size_t n) {
  WNodes<T> nodes;
  nodes.terms.n_terms = nodes.terms.n_powers = n;
  for (std::size_t m = 0; m < n; ++m) {
    const double angle = pi * (static_cast<double>(m) + 0.5) / static_cast<double>(n);
    nodes.node.push_back(std::cos(angle));
    for (std::size_t k = 0; k < n; ++k)
      nodes.terms.matrix.push_back(static_cast<T>(
          (k == 0 ? 1 : 2) * std::cos(static_cast<double>(k) * angle) / static_cast<double>(n)));
  }
  return nodes;
}

}  // namespace

template <class T>
std::size_t SpreadTables<T>::half_cells(double reach) const {
  return static_cast<std::size_t>(
      std::ceil(oversampling * reach + static_cast<double>(taps.width) / 2 + 0.5 + 1e-6));
}

template <class T>
SubgridTables<T>::SubgridTables(const IdgPlan& plan, double kernel_share)
    : plan_(plan), kernel_(plan.w_handling == WHandling::kernel) {
  const double cell = plan.image.cell_rad;
  n_middle_ = plan.n_middle;
  if (!kernel_) {
    const double least =
        n_at(static_cast<double>(plan.image.n_x / 2) * cell, static_cast<double>(plan.image.n_y / 2) * cell);
    n_middle_ = (1 + least) / 2;
    n_half_range_ = (1 - least) / 2;
  }
  const FoldedShape folded = shape(1);
  n_offset_.resize({folded.rows, folded.columns});
  for (std::size_t y = 0; y < folded.half; ++y)
    for (std::size_t x = 0; x < folded.half && !kernel_; ++x)
      n_offset_(y, x) = n_at((static_cast<double>(x) + 0.5) * plan.coarse_l_rad(),
                             (static_cast<double>(y) + 0.5) * plan.coarse_m_rad()) -
                        n_middle_;
  const auto side = static_cast<double>(plan.settings.subgrid);
  coarse_.resize({2, folded.rows, folded.columns});
  for (std::size_t x = 0; x < folded.half; ++x)
    for (std::size_t k = 0; k < folded.half; ++k) {
      const double turn = 2 * pi * (static_cast<double>(x) + 0.5) / side;
      coarse_(0, x, k) = static_cast<T>(2 / side * std::cos(turn * static_cast<double>(k)));
      coarse_(1, x, k) = static_cast<T>(2 / side * std::sin(turn * static_cast<double>(k + 1)));
    }
  make_tables(plan.settings.accuracy * kernel_share);
  kernel_ ? make_kernel() : make_chebyshev(plan.settings.accuracy * w_share);
}

template <class T>
FoldedShape SubgridTables<T>::shape(std::size_t n_planes) const {
  const std::size_t half = plan_.settings.subgrid / 2;
  return {n_planes, half, round_up(half, matrix_product_rows), round_up(half, 64 / sizeof(T))};
}

template <class T>
void SubgridTables<T>::make_tables(double error) {
  const FoldedShape folded = shape(1);
  const auto side = static_cast<double>(plan_.settings.subgrid);
  const Taper& taper = plan_.taper;
  // About a tenth of an error in the padding leaks back between the coarse pixels of the image, where it is
  // divided by the taper.
  const double comes_back = 0.1 / taper(1 / plan_.settings.padding);
  auto share = [&](double eta) { return comes_back * taper(eta); };
  for (const SpreadKernel& kernel : spread_kernels(error, plan_.settings.padding, share)) {
    SpreadTables<T> own{SpreadTaps<T>(kernel), kernel.oversampling(), {}, {}};
    const double period = kernel.oversampling() * side;
    // Half the plan's square, plus the rounding of its middle.
    const std::size_t cells = own.half_cells(static_cast<double>(plan_.bucket()) + 1);
    own.fine.resize({2, cells, folded.columns});
    for (std::size_t j = 0; j < cells; ++j)
      for (std::size_t x = 0; x < folded.half; ++x) {
        const double angle =
            2 * pi * (static_cast<double>(j) + 0.5) * (static_cast<double>(x) + 0.5) / period;
        own.fine(0, j, x) = static_cast<T>(std::cos(angle));
        own.fine(1, j, x) = static_cast<T>(std::sin(angle));
      }
    std::vector<double> axis(folded.half);
    for (std::size_t x = 0; x < folded.half; ++x)
      axis[x] = taper((2 * static_cast<double>(x) + 1) / side) /
                kernel.transform((static_cast<double>(x) + 0.5) / period);
    own.factor.resize({folded.rows, folded.columns});
    for (std::size_t y = 0; y < folded.half; ++y)
      for (std::size_t x = 0; x < folded.half; ++x) own.factor(y, x) = static_cast<T>(axis[y] * axis[x]);
    tables_.push_back(std::move(own));
  }
}

/// Interpolating exp(-i z t) between n Chebyshev nodes leaves about z^n / (2^(n - 1) n!) T_n(t), z the w
/// phase of a pixel, which over the image is seldom the largest.
template <class T>
void SubgridTables<T>::make_chebyshev(double error) {
  constexpr std::size_t max_terms = 24, samples = 32;
  const double half_l = static_cast<double>(plan_.image.n_x / 2) * plan_.image.cell_rad,
               half_m = static_cast<double>(plan_.image.n_y / 2) * plan_.image.cell_rad;
  std::vector<double> part;
  for (std::size_t y = 0; y < samples; ++y)
    for (std::size_t x = 0; x < samples; ++x)
      part.push_back((n_at((static_cast<double>(x) + 0.5) / samples * half_l,
                           (static_cast<double>(y) + 0.5) / samples * half_m) -
                      n_middle_) /
                     std::max(n_half_range_, 1e-300));
  double scale = 1;
  const double needed = 2 * pi * plan_.half_w_lambda * n_half_range_;
  for (std::size_t n = 1; n <= max_terms; ++n) {
    scale /= n == 1 ? 1.0 : 2.0 * static_cast<double>(n);
    double power = 0;
    for (double each : part) power += std::pow(each * each, static_cast<double>(n));
    const double rms = scale * std::sqrt(power / static_cast<double>(part.size()) / 2);
    max_phase_.push_back(std::pow(error / rms, 1 / static_cast<double>(n)));
    nodes_.push_back(chebyshev_nodes<T>(n));
    if (max_phase_.back() > needed) break;
  }
}

/// Layer r's weight as a polynomial of t = 2 (w / step - layer) - 1.
template <class T>
void SubgridTables<T>::make_kernel() {
  constexpr std::size_t n_powers = sizeof(T) == sizeof(double) ? 22 : 14;
  WNodes<T> nodes;
  nodes.terms.n_terms = plan_.n_terms;
  nodes.terms.n_powers = n_powers;
  for (std::size_t r = 0; r < plan_.n_terms; ++r)
    for (double value : chebyshev_series(n_powers, [&](double t) {
           const double w = (t + 1) / 2 * plan_.layer_step_lambda;
           return semicircle_kernel(plan_.kernel_beta, (w - plan_.layer_w_lambda(r)) / plan_.half_w_lambda);
         }))
      nodes.terms.matrix.push_back(static_cast<T>(value));
  nodes_.push_back(std::move(nodes));
}

template <class T>
std::size_t SubgridTables<T>::terms_for(double half_w_lambda) const {
  if (kernel_) return plan_.n_terms;
  const double phase = 2 * pi * half_w_lambda * n_half_range_;
  std::size_t n = 1;
  while (n < max_phase_.size() && phase > max_phase_[n - 1]) ++n;
  return n;
}

template <class T>
SpreadTarget<T> SubgridTables<T>::aim(const SubgridTask& task, const TaskTables& task_tables) const {
  const SpreadTables<T>& tables = tables_[task_tables.tables];
  SpreadTarget<T> target;
  target.taps = &tables.taps;
  target.terms = &nodes(task_tables.n_terms).terms;
  target.n_u = 2 * task_tables.half_u;
  target.n_v = 2 * task_tables.half_v;
  target.scale_u = cells_per_lambda(plan_, 0) * tables.oversampling;
  target.scale_v = cells_per_lambda(plan_, 1) * tables.oversampling;
  target.origin_u = static_cast<double>(task_tables.half_u) - 0.5 -
                    static_cast<double>(task.centre_u) * tables.oversampling;
  target.origin_v = static_cast<double>(task_tables.half_v) - 0.5 -
                    static_cast<double>(task.centre_v) * tables.oversampling;
  target.phase_w = n_middle_ - 1;
  if (kernel_) {
    const double step = plan_.layer_step_lambda;
    target.w_origin = 0;
    target.w_middle = (static_cast<double>(task.layer) + 0.5) * step;
    target.w_scale = 2 / step;
  } else {
    target.w_origin = plan_.layer_w_lambda(task.layer);
    target.w_middle = task.w_lambda;
    target.w_scale = task.half_w_lambda > 0 ? 1 / task.half_w_lambda : 0;
  }
  return target;
}

template <class T>
TaskTables SubgridTables<T>::choose(const SubgridTask& task, std::size_t n_places, std::size_t n_planes,
                                    double reach_u, double reach_v) const {
  constexpr auto lanes = static_cast<double>(64 / sizeof(T));
  const FoldedShape folded = shape(n_planes);
  const auto values = 2 * static_cast<double>(n_planes), rows = static_cast<double>(folded.rows);
  TaskTables best;
  double best_cost = INFINITY;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const SpreadTables<T>& tables = tables_[i];
    const TaskTables tried{i, terms_for(task.half_w_lambda), tables.half_cells(reach_u),
                           tables.half_cells(reach_v)};
    const auto width = static_cast<double>(tables.taps.width);
    const auto half_u = static_cast<double>(tried.half_u), half_v = static_cast<double>(tried.half_v);
    // Multiply-adds of vectors: a visibility's taps, and the two products from cells to pixels.
    const double spread = width * std::ceil(width * values / lanes);
    const double product = 2 * rows *
                           (half_v * 2 * std::ceil(half_u * values / lanes) +
                            half_u * values * 2 * static_cast<double>(folded.columns) / lanes);
    const double cost = static_cast<double>(n_places) * spread + product;
    if (cost >= best_cost) continue;
    best_cost = cost;
    best = tried;
  }
  return best;
}

namespace {
std::uint64_t bytes_per_subgrid(const IdgPlan& plan, std::size_t n_planes) {
  const std::size_t value = plan.settings.precision == Precision::single ? 8 : 16;
  const std::size_t n_outputs = plan.w_handling == WHandling::kernel ? plan.n_terms : 1;
  return std::uint64_t{plan.settings.subgrid} * plan.settings.subgrid * n_planes * n_outputs * value;
}
}  // namespace

std::size_t max_task_terms(const IdgPlan& plan) {
  if (plan.w_handling == WHandling::kernel) return plan.n_terms;
  return chebyshev_terms(2 * pi * plan.max_task_half_w_lambda * plan.n_half_range,
                         plan.settings.accuracy / 8);
}

std::size_t subgrids_per_chunk(const IdgPlan& plan, std::size_t n_planes) {
  // The subgrids should still be in a cache when they are added.
  constexpr std::uint64_t chunk_bytes = 16'000'000;
  return std::clamp<std::uint64_t>(chunk_bytes / bytes_per_subgrid(plan, n_planes), 8, 1024);
}

std::uint64_t unused_bytes(const IdgPlan& plan, const IdgSetup& setup, std::size_t n_subgrids) {
  const std::size_t n_chunk = subgrids_per_chunk(plan, setup.n_planes());
  return (n_chunk - std::min(n_chunk, n_subgrids)) * bytes_per_subgrid(plan, setup.n_planes());
}

std::uint64_t subgrid_bytes(const IdgPlan& plan, const IdgSetup& setup) {
  const std::size_t n_planes = setup.n_planes();
  // Cells and their transforms, for up to four planes together and twice as many cells per side as a subgrid
  // has.
  const std::uint64_t values = 2 * (setup.aterms == AtermMode::none ? std::min<std::size_t>(n_planes, 4) : 4),
                      side = plan.settings.subgrid,
                      value = plan.settings.precision == Precision::single ? 4 : 8;
  // A-terms take four planes of data, and the PSF one, of which four at once become nodes.
  const std::uint64_t tracks = track_values(2 * std::max<std::size_t>(n_planes, 5), 2 * 4);
  const std::uint64_t per_thread = ((max_task_terms(plan) + 3) * 4 * side * side * values + tracks) * value;
  return subgrids_per_chunk(plan, n_planes) * bytes_per_subgrid(plan, n_planes) +
         setup.n_threads * per_thread;
}

template struct SpreadTables<float>;
template struct SpreadTables<double>;
template class SubgridTables<float>;
template class SubgridTables<double>;

}  // namespace apsyn
