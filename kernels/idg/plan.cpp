// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/common/fft.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/subgrid_cpu.h"
#include "kernels/idg/w_terms.h"
#include "libcore/core/error.h"
#include "libcore/core/units.h"

namespace apsyn {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;
/// taper_error() is that of visibilities at the edge of a subgrid's square; over the whole square the error
/// was measured 6 to 20 times smaller. Where single precision is taken to its end the rounding of the uv
/// grid, divided by the taper, is the larger part, so that a flatter taper serves better.
double worst_over_mean(const IdgSettings& settings) {
  return settings.precision == Precision::single && settings.accuracy < 1e-5 ? 6 : 2;
}

/// Largest w phase that a subgrid's visibilities take on relative to their middle: six Chebyshev terms at
/// 1e-6.
constexpr double kMostTaskPhase = 1.1;

/// What the geometry of the field means for the w phase.
struct Field {
  double half_l, half_m;                 ///< of the padded field
  double image_l, image_m;               ///< largest |l|, |m| of the image
  double n_least_image, n_least_padded;  ///< 0 when the corner is beyond the horizon
};

double n_at(double l, double m) {
  return std::sqrt(std::max(0.0, 1 - l * l - m * m));
}

Field measure_field(const IdgPlan& plan) {
  const double cell = plan.image.cell_rad;
  Field field{};
  field.half_l = static_cast<double>(plan.n_u) * cell / 2;
  field.half_m = static_cast<double>(plan.n_v) * cell / 2;
  field.image_l = static_cast<double>(plan.image.n_x / 2) * cell;
  field.image_m = static_cast<double>(plan.image.n_y / 2) * cell;
  field.n_least_image = n_at(field.image_l, field.image_m);
  field.n_least_padded = n_at(field.half_l, field.half_m);
  return field;
}

void check(const ImageGeometry& image, const IdgSettings& settings) {
  constexpr std::size_t largest = 1u << 17;
  if (image.n_x < 1 || image.n_y < 1 || image.n_x > largest || image.n_y > largest)
    throw UsageError("--size {} {}: sides from 1 to {} pixels", image.n_x, image.n_y, largest);
  if (!(image.cell_rad > 0) || !std::isfinite(image.cell_rad))
    throw UsageError("--scale {} rad: give a positive pixel size", image.cell_rad);
  if (settings.accuracy != 0 && !(settings.accuracy >= 1e-12 && settings.accuracy <= 0.1))
    throw UsageError("--accuracy {}: give a relative error from 1e-12 to 0.1", settings.accuracy);
  if (settings.padding != 0 && !(settings.padding >= 1.05 && settings.padding <= 4))
    throw UsageError("--padding {}: give a factor from 1.05 to 4", settings.padding);
  if (settings.subgrid != 0 && (settings.subgrid < 8 || settings.subgrid > 512 || settings.subgrid % 2 != 0))
    throw UsageError("--subgrid {}: give an even number of cells from 8 to 512", settings.subgrid);
  if (settings.subgrid != 0 && settings.kernel_padding >= settings.subgrid)
    throw UsageError("--kernel-padding {}: must be smaller than --subgrid {}", settings.kernel_padding,
                     settings.subgrid);
}

/// Accuracy -> kernel padding and subgrid, from taper_error().
void choose_sizes(IdgSettings& settings, double wanted, double w_phase) {
  // A taper that leaves errors below 1e-10 falls so low at the edge of a field padded by 1.5 that rounding in
  // float64, divided by it, is what remains.
  if (settings.padding == 0) settings.padding = settings.accuracy < 2e-10 ? 2.0 : 1.5;
  if (settings.kernel_padding == 0) {
    std::size_t support = 4;
    const std::size_t most = settings.subgrid == 0 ? 30 : settings.subgrid - 2;
    for (; support + 2 <= most; support += 2) {
      const double c = choose_taper_c(settings.taper, static_cast<double>(support), settings.padding, wanted);
      if (taper_error(Taper(settings.taper, c), static_cast<double>(support), settings.padding, {}) <= wanted)
        break;
    }
    // Room for the w phase that a subgrid takes on; more room means fewer layers.
    if (w_phase > 0.1) support += 4;
    settings.kernel_padding = std::min(support, most);
  }
  if (settings.subgrid == 0) settings.subgrid = (settings.kernel_padding + 12 + 7) / 8 * 8;
}

/// Largest |w - w_layer| whose phase still fits into the kernel padding beside the taper.
double largest_half_w(const IdgPlan& plan, const Field& field, double limit, double most) {
  const Taper taper(plan.settings.taper, plan.taper_c);
  const auto support = static_cast<double>(plan.settings.kernel_padding);
  auto fits = [&](double half_w) {
    return taper_error(taper, support, plan.settings.padding, {half_w, field.half_l, field.image_m}) <=
               limit &&
           taper_error(taper, support, plan.settings.padding, {half_w, field.half_m, field.image_l}) <= limit;
  };
  if (fits(most)) return most;
  double low = 0, high = most;
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

/// Operations of summing the visibilities into `n_terms` subgrids each and of transforming `n_layers` grids.
double cost(const IdgPlan& plan, double n_visibilities, double n_terms, double n_layers) {
  const double side = static_cast<double>(plan.settings.subgrid);
  const double cells = static_cast<double>(plan.n_u) * static_cast<double>(plan.n_v);
  // An FFT's and a screen's operation takes about ten times as long as one of the matrix product's.
  return n_visibilities * 2 * side * side * n_terms + n_layers * cells * (5 * std::log2(cells) + 40) * 10;
}

void choose_chebyshev(IdgPlan& plan, const Field& field, double limit, double max_w, double n_visibilities,
                      double& best_cost) {
  const double most = std::max(max_w / 2, 1e-9);
  const double largest = largest_half_w(plan, field, limit, most);
  if (largest <= most * 1e-6) return;
  const double half_range = (1 - field.n_least_padded) / 2;
  const double fewest = std::max(1.0, std::ceil(most / largest * (1 - 1e-9)));
  for (double factor : {1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0}) {
    const double n_layers = std::ceil(fewest * factor);
    const double half_w = most / n_layers;
    const auto n_terms = chebyshev_terms(two_pi * half_w * half_range, plan.settings.accuracy / 8);
    const double this_cost = cost(plan, n_visibilities, static_cast<double>(n_terms), n_layers);
    if (this_cost >= best_cost) continue;
    best_cost = this_cost;
    plan.w_handling = WHandling::chebyshev;
    plan.n_layers = static_cast<std::size_t>(n_layers);
    plan.half_w_lambda = half_w;
    plan.layer_step_lambda = 2 * half_w;
    plan.first_layer_lambda = half_w;
    plan.n_terms = n_terms;
    plan.n_middle = (1 + field.n_least_padded) / 2;
    plan.n_half_range = half_range;
    plan.most_task_half_w_lambda = std::min(half_w, kMostTaskPhase / (two_pi * std::max(half_range, 1e-30)));
  }
}

void choose_kernel(IdgPlan& plan, const Field& field, double max_w, double n_visibilities,
                   double& best_cost) {
  const double half_range = (1 - field.n_least_image) / 2;
  const SemicircleShape shape = semicircle_shape(plan.settings.accuracy / 4);
  const double step = 1 / (4 * half_range);
  const double n_layers = std::floor(max_w / step) + static_cast<double>(shape.support);
  const double this_cost = cost(plan, n_visibilities, static_cast<double>(shape.support), n_layers);
  if (this_cost >= best_cost) return;
  best_cost = this_cost;
  plan.w_handling = WHandling::kernel;
  plan.n_layers = static_cast<std::size_t>(n_layers);
  plan.layer_step_lambda = step;
  plan.half_w_lambda = static_cast<double>(shape.support) / 2 * step;
  // The layers that a visibility reaches are the n_terms ones from floor(w / step) on.
  plan.first_layer_lambda = (1 - static_cast<double>(shape.support) / 2) * step;
  plan.kernel_beta = shape.beta;
  plan.n_terms = shape.support;
  plan.n_middle = (1 + field.n_least_image) / 2;
  plan.n_half_range = half_range;
}

}  // namespace

IdgPlan make_idg_plan(const ImageGeometry& image, const IdgSettings& settings, double max_w_lambda,
                      double n_visibilities) {
  check(image, settings);
  IdgPlan plan;
  plan.image = image;
  plan.settings = settings;
  if (plan.settings.accuracy == 0)
    plan.settings.accuracy = settings.precision == Precision::single ? 2e-6 : 2e-11;
  const double wanted = plan.settings.accuracy * worst_over_mean(plan.settings);
  const double corner = static_cast<double>(image.n_x + image.n_y) * image.cell_rad;
  choose_sizes(plan.settings, wanted, max_w_lambda * corner * corner);
  if (plan.settings.kernel_padding >= plan.settings.subgrid)
    throw UsageError("--kernel-padding {}: must be smaller than --subgrid {}", plan.settings.kernel_padding,
                     plan.settings.subgrid);
  auto padded = [&](std::size_t n) {
    const double wished = std::ceil(static_cast<double>(n) * plan.settings.padding);
    return fast_fft_length(std::max(static_cast<std::size_t>(wished), plan.settings.subgrid));
  };
  plan.n_u = padded(image.n_x);
  plan.n_v = padded(image.n_y);
  const auto support = static_cast<double>(plan.settings.kernel_padding);
  plan.taper_c = choose_taper_c(plan.settings.taper, support, plan.settings.padding, wanted);
  const double taper_alone =
      taper_error(Taper(plan.settings.taper, plan.taper_c), support, plan.settings.padding, {});

  const Field field = measure_field(plan);
  const double limit = std::max(1.5 * wanted, 1.5 * taper_alone);
  double best_cost = std::numeric_limits<double>::infinity();
  // Close to the horizon the slope of n has no bound, and with it the phase's extent in uv.
  if (field.n_least_padded > 0.4)
    choose_chebyshev(plan, field, limit, max_w_lambda, n_visibilities, best_cost);
  choose_kernel(plan, field, max_w_lambda, n_visibilities, best_cost);
  plan.modelled_error =
      plan.w_handling == WHandling::chebyshev
          ? taper_error(Taper(plan.settings.taper, plan.taper_c), support, plan.settings.padding,
                        {plan.half_w_lambda, std::max(field.half_l, field.half_m),
                         std::min(field.image_l, field.image_m)})
          : taper_alone;
  return plan;
}

std::uint64_t IdgPlan::bytes_per_layer(std::size_t n_planes) const {
  return std::uint64_t{n_u} * n_v * n_planes * (settings.precision == Precision::single ? 8 : 16);
}

std::uint64_t IdgPlan::fixed_bytes(std::size_t n_planes, unsigned n_threads) const {
  return std::uint64_t{n_u} * n_v * 16 + std::uint64_t{image.n_x} * image.n_y * 8 * n_planes +
         subgrid_bytes(*this, n_planes, n_threads);
}

std::vector<std::string> IdgPlan::describe() const {
  const bool kernel = w_handling == WHandling::kernel;
  return {
      fmt::format("image {} x {} pixels of {}, uv grid {} x {}", image.n_x, image.n_y,
                  format_angle(image.cell_rad), n_u, n_v),
      fmt::format("subgrid {}, kernel padding {}, padding {}, taper {} (c = {:.2f}), {} precision",
                  settings.subgrid, settings.kernel_padding, settings.padding,
                  settings.taper == TaperKind::pswf ? "pswf" : "kb", taper_c,
                  settings.precision == Precision::single ? "single" : "double"),
      fmt::format("w: {} layers every {:.6g} wavelengths, {} {}", n_layers, layer_step_lambda, n_terms,
                  kernel ? "layers per visibility" : "Chebyshev terms"),
      fmt::format("modelled error {:.1e}", std::max(modelled_error / 6, settings.accuracy / 8)),
  };
}

}  // namespace apsyn
