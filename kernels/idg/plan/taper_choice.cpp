// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/plan/taper_choice.h"

#include <algorithm>
#include <cmath>

#include "kernels/idg/plan/taper_fit.h"

namespace apsyn::idg {
namespace {

/// taper_error() is that of visibilities at the edge of a subgrid's square. Over the whole square and sources
/// of random flux all over the image, the error of predicted visibilities was measured 1.1 to 3 times
/// smaller; that of images, whose short baselines add up, 6 to 20 times. Where single precision is taken to
/// its end the rounding of the uv grid, divided by the taper, is the larger part, so that a flatter taper
/// serves better.
double worst_over_mean(const IdgSettings& settings) {
  return settings.precision == Precision::single && settings.accuracy < 1e-5 ? 6 : 0.9;
}

double n_at(double l, double m) {
  return std::sqrt(std::max(0.0, 1 - l * l - m * m));
}

bool fitted(const IdgSettings& settings) {
  return settings.taper == TaperKind::least_misfit;
}

/// Cells that A-terms need are not available to the taper.
double support_of(const IdgSettings& settings) {
  const std::size_t free = settings.free_cells();
  return static_cast<double>(free - std::min(free - 1, settings.aterm_cells));
}

std::vector<ResidualPhase> phases_of(const IdgPlan& plan, const Field& field, double half_w) {
  std::vector<ResidualPhase> phases{{half_w, field.half_l, field.image_m}};
  if (plan.n_u != plan.n_v || plan.image.n_x != plan.image.n_y)
    phases.push_back({half_w, field.half_m, field.image_l});
  return phases;
}

TaperCase case_of(const IdgSettings& settings) {
  const double support = support_of(settings);
  // The subgrid is not chosen yet: assume one with a square of medium size.
  const std::size_t subgrid = settings.subgrid != 0 ? settings.subgrid : settings.kernel_padding / 2 * 2 + 16;
  // Rounding of the uv grid's cells, to which many visibilities are added and whose layers are summed; and of
  // Jones matrices, which are always float32.
  const double rounding = settings.precision == Precision::single ? std::max(3e-7, settings.accuracy / 1000)
                          : settings.aterm_cells != 0             ? 1e-13
                                                                  : 2e-15;
  return {.subgrid = subgrid,
          .support = support,
          .padding = settings.padding,
          .phases = {},
          .rounding = rounding};
}

}  // namespace

Field measure_field(const IdgPlan& plan) {
  const double cell = plan.image.cell_rad;
  Field field{};
  field.half_l = static_cast<double>(plan.n_u) * cell / 2;
  field.half_m = static_cast<double>(plan.n_v) * cell / 2;
  field.image_l = static_cast<double>(plan.image.n_x / 2) * cell;
  field.image_m = static_cast<double>(plan.image.n_y / 2) * cell;
  field.n_min_image = n_at(field.image_l, field.image_m);
  field.n_min_padded = n_at(field.half_l, field.half_m);
  return field;
}

double allowed_taper_error(const IdgSettings& settings, bool with_w) {
  // Its model is a mean over the square. In double precision fields are often sparse, and few visibilities at
  // the edge of their subgrids, which stand on their middle, err by two or three times as much.
  if (fitted(settings)) return (settings.precision == Precision::single ? 0.9 : 0.4) * settings.accuracy;
  if (!with_w) return settings.accuracy * worst_over_mean(settings);
  const std::size_t free = settings.free_cells();
  const double share =
      std::min(1.0, static_cast<double>(settings.subgrid - free) / (2 * static_cast<double>(free)));
  return settings.accuracy * (1 + (worst_over_mean(settings) - 1) * share);
}

ChosenTaper taper_without_w(const IdgSettings& settings, double wanted, double enough) {
  if (fitted(settings)) {
    const FittedTaper fit = fit_taper(case_of(settings), enough);
    return {fit.taper, fit.error};
  }
  const double support = support_of(settings);
  const Taper taper(settings.taper, choose_taper_c(settings.taper, support, settings.padding, wanted));
  return {taper, taper_error(taper, support, settings.padding, {})};
}

std::size_t min_kernel_padding(const IdgSettings& settings, double wanted) {
  const std::size_t most = settings.subgrid == 0 ? 30 : settings.subgrid - 2;
  IdgSettings tried = settings;
  tried.aterm_cells = 0;
  for (tried.kernel_padding = 4; tried.kernel_padding + 2 <= most; tried.kernel_padding += 2)
    if (taper_without_w(tried, wanted, wanted).error <= wanted) break;
  return std::min(tried.kernel_padding, most);
}

ChosenTaper taper_with_w(const IdgPlan& plan, const Field& field, double half_w, double enough) {
  const std::vector<ResidualPhase> phases = phases_of(plan, field, half_w);
  if (fitted(plan.settings)) {
    TaperCase wanted = case_of(plan.settings);
    wanted.phases = phases;
    const FittedTaper fit = fit_taper(wanted, enough);
    return {fit.taper, fit.error};
  }
  double worst = 0;
  for (const ResidualPhase& phase : phases)
    worst = std::max(worst, taper_error(plan.taper, support_of(plan.settings), plan.settings.padding, phase));
  return {plan.taper, worst};
}

double largest_half_w(const IdgPlan& plan, const Field& field, double limit, double most,
                      const HalfWMatters& matters) {
  auto fits = [&](double half_w) { return taper_with_w(plan, field, half_w, limit).error <= limit; };
  if (fits(most)) return most;
  double low = 0, high = most;
  while (high - low > 1.5 * kHalfWStep * most && matters(low, high)) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace apsyn::idg
