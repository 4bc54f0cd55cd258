// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/common/fft.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/plan_cost.h"
#include "kernels/idg/w_terms.h"
#include "libcore/core/error.h"
#include "libcore/core/units.h"

namespace apsyn {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;
/// taper_error() is that of visibilities at the edge of a subgrid's square. Over the whole square and sources
/// of random flux all over the image, the error of predicted visibilities was measured 1.1 to 3 times
/// smaller; that of images, whose short baselines add up, 6 to 20 times. Where single precision is taken to
/// its end the rounding of the uv grid, divided by the taper, is the larger part, so that a flatter taper
/// serves better.
double worst_over_mean(const IdgSettings& settings) {
  return settings.precision == Precision::single && settings.accuracy < 1e-5 ? 6 : 0.9;
}

/// The same for the error of a w phase, which small squares in much padding have all over.
double worst_over_mean_w(const IdgSettings& settings) {
  const auto square = static_cast<double>(settings.subgrid - settings.kernel_padding);
  const double share = std::min(1.0, square / (2 * static_cast<double>(settings.kernel_padding)));
  return 1 + (worst_over_mean(settings) - 1) * share;
}

/// Largest w phase that a subgrid's visibilities take on relative to their middle: six Chebyshev terms at
/// 1e-6.
constexpr double kMostTaskPhase = 1.1;
/// Below this many turns across the whole image, w asks for no kernel padding of its own.
constexpr double kSmallPhase = 0.1;

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

/// Least kernel padding for the accuracy without w, from taper_error().
std::size_t least_kernel_padding(const IdgSettings& settings, double wanted) {
  const std::size_t most = settings.subgrid == 0 ? 30 : settings.subgrid - 2;
  std::size_t support = 4;
  for (; support + 2 <= most; support += 2) {
    const double c = choose_taper_c(settings.taper, static_cast<double>(support), settings.padding, wanted);
    if (taper_error(Taper(settings.taper, c), static_cast<double>(support), settings.padding, {}) <= wanted)
      break;
  }
  return std::min(support, most);
}

/// Largest |w - w_layer| whose phase still fits into the kernel padding beside the taper.
double largest_half_w(const IdgPlan& plan, const Field& field, double limit, double most) {
  const Taper taper(plan.settings.taper, plan.taper_c);
  const auto support = static_cast<double>(
      plan.settings.kernel_padding - std::min(plan.settings.kernel_padding - 1, plan.settings.aterm_cells));
  auto fits = [&](double half_w) {
    return taper_error(taper, support, plan.settings.padding, {half_w, field.half_l, field.image_m}) <=
               limit &&
           taper_error(taper, support, plan.settings.padding, {half_w, field.half_m, field.image_l}) <= limit;
  };
  if (fits(most)) return most;
  double low = 0, high = most;
  for (int i = 0; i < 8; ++i) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

/// Layers for subgrids that take on the phase of their distance from one; as few as the kernel padding
/// allows.
bool use_chebyshev(IdgPlan& plan, const Field& field, double limit, double max_w) {
  // Close to the horizon the slope of n has no bound, and with it the phase's extent in uv.
  if (field.n_least_padded <= 0.4) return false;
  const double most = std::max(max_w / 2, 1e-9);
  const double largest = largest_half_w(plan, field, limit, most);
  if (largest <= most * 1e-6) return false;
  plan.w_handling = WHandling::chebyshev;
  plan.n_layers = 1;
  plan.half_w_lambda = most;
  plan.layer_step_lambda = 2 * most;
  plan.layer_slack_lambda = 0;
  if (largest < most) {
    // Subgrids may reach a little across the border, lest every path that crosses one be cut.
    constexpr double slack = 0.1;
    const double n_layers = std::ceil(most / largest * (1 + 2 * slack) * (1 - 1e-9));
    plan.n_layers = static_cast<std::size_t>(n_layers);
    plan.layer_step_lambda = 2 * most / n_layers;
    plan.layer_slack_lambda = slack * plan.layer_step_lambda;
    plan.half_w_lambda = plan.layer_step_lambda / 2 + plan.layer_slack_lambda;
  }
  plan.first_layer_lambda = plan.layer_step_lambda / 2;
  plan.n_middle = (1 + field.n_least_padded) / 2;
  plan.n_half_range = (1 - field.n_least_padded) / 2;
  plan.n_terms = chebyshev_terms(two_pi * plan.half_w_lambda * plan.n_half_range, plan.settings.accuracy / 8);
  plan.most_task_half_w_lambda =
      std::min(plan.half_w_lambda, kMostTaskPhase / (two_pi * std::max(plan.n_half_range, 1e-30)));
  plan.modelled_error = taper_error(
      Taper(plan.settings.taper, plan.taper_c), static_cast<double>(plan.settings.kernel_padding),
      plan.settings.padding,
      {plan.half_w_lambda, std::max(field.half_l, field.half_m), std::min(field.image_l, field.image_m)});
  return true;
}

/// Layers that every visibility is spread over by a kernel in w.
void use_kernel(IdgPlan& plan, const Field& field, double max_w, double taper_alone) {
  const double half_range = (1 - field.n_least_image) / 2;
  const SemicircleShape shape = semicircle_shape(plan.settings.accuracy / 4);
  const double step = 1 / (4 * half_range);
  plan.w_handling = WHandling::kernel;
  plan.n_layers = static_cast<std::size_t>(std::floor(max_w / step)) + shape.support;
  plan.layer_step_lambda = step;
  plan.layer_slack_lambda = 0;
  plan.half_w_lambda = static_cast<double>(shape.support) / 2 * step;
  plan.most_task_half_w_lambda = step / 2;
  // The layers that a visibility reaches are the n_terms ones from floor(w / step) on.
  plan.first_layer_lambda = (1 - static_cast<double>(shape.support) / 2) * step;
  plan.kernel_beta = shape.beta;
  plan.n_terms = shape.support;
  plan.n_middle = (1 + field.n_least_image) / 2;
  plan.n_half_range = half_range;
  plan.modelled_error = taper_alone;
}

/// Takes over `plan` when it is the cheapest yet.
struct Best {
  IdgPlan plan;
  double seconds = std::numeric_limits<double>::infinity();

  void offer(const IdgPlan& candidate, const IdgWorkload& work) {
    const double cost = modelled_seconds(candidate, work);
    if (cost >= seconds) return;
    seconds = cost;
    plan = candidate;
  }
};

/// Subgrids to try with a kernel padding.
std::vector<std::size_t> subgrid_sizes(const IdgSettings& settings, std::size_t kernel_padding) {
  if (settings.subgrid != 0) return {settings.subgrid};
  std::vector<std::size_t> sizes;
  for (std::size_t size = (kernel_padding + 8 + 7) / 8 * 8;
       size <= std::max<std::size_t>(128, kernel_padding + 16); size += size < 64 ? 8 : 16)
    sizes.push_back(size);
  return sizes;
}

/// Kernel paddings to try: more of it means fewer layers, and more subgrids.
std::vector<std::size_t> kernel_paddings(const IdgSettings& settings, double wanted, double w_phase) {
  if (settings.kernel_padding != 0) return {settings.kernel_padding};
  const std::size_t least = least_kernel_padding(settings, wanted) + settings.aterm_cells;
  const std::size_t most = settings.subgrid == 0 ? 112 : settings.subgrid - 2;
  std::vector<std::size_t> result{std::min(least, most)};
  if (w_phase > kSmallPhase)
    for (std::size_t more : {2, 4, 6, 8, 12, 16, 24, 32, 48})
      if (least + more <= most) result.push_back(least + more);
  return result;
}

}  // namespace

IdgPlan make_idg_plan(const ImageGeometry& image, const IdgSettings& settings, const IdgWorkload& work) {
  check(image, settings);
  IdgPlan plan;
  plan.image = image;
  plan.settings = settings;
  if (plan.settings.accuracy == 0)
    plan.settings.accuracy = settings.precision == Precision::single ? 2e-6 : 2e-11;
  // A taper that leaves errors below 1e-10 falls so low at the edge of a field padded by 1.5 that rounding in
  // float64, divided by it, is what remains.
  if (plan.settings.padding == 0) plan.settings.padding = plan.settings.accuracy < 2e-10 ? 2.0 : 1.5;
  const IdgSettings asked = plan.settings;
  const double corner = static_cast<double>(image.n_x + image.n_y) * image.cell_rad;
  const double w_phase = work.max_w_lambda * corner * corner;
  const double wanted = asked.accuracy * worst_over_mean(asked) * (w_phase > kSmallPhase ? 0.5 : 1);
  Best best;
  for (const std::size_t kernel_padding : kernel_paddings(asked, wanted, w_phase)) {
    plan.settings.kernel_padding = kernel_padding;
    // What A-terms need is not there for the taper.
    const double support =
        static_cast<double>(kernel_padding - std::min(kernel_padding - 1, asked.aterm_cells));
    plan.taper_c = choose_taper_c(asked.taper, support, asked.padding, wanted);
    const double taper_alone = taper_error(Taper(asked.taper, plan.taper_c), support, asked.padding, {});
    for (const std::size_t subgrid : subgrid_sizes(asked, kernel_padding)) {
      if (kernel_padding >= subgrid)
        throw UsageError("--kernel-padding {}: must be smaller than --subgrid {}", kernel_padding, subgrid);
      plan.settings.subgrid = subgrid;
      auto padded = [&](std::size_t n) {
        const double wished = std::ceil(static_cast<double>(n) * asked.padding);
        return fast_fft_length(std::max(static_cast<std::size_t>(wished), subgrid));
      };
      const std::size_t n_u = padded(image.n_x), n_v = padded(image.n_y);
      plan.n_u = n_u;
      plan.n_v = n_v;
      const Field field = measure_field(plan);
      IdgPlan by_kernel = plan;
      use_kernel(by_kernel, field, work.max_w_lambda, taper_alone);
      best.offer(by_kernel, work);
      IdgPlan one_layer = plan;
      one_layer.w_handling = WHandling::chebyshev;
      one_layer.n_layers = 1;
      if (modelled_seconds(one_layer, work) >= best.seconds) continue;
      const double limit = std::max(asked.accuracy * worst_over_mean_w(plan.settings), 1.3 * taper_alone);
      if (use_chebyshev(plan, field, limit, work.max_w_lambda)) best.offer(plan, work);
    }
  }
  return best.plan;
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
