// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "kernels/common/math/fft.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/plan/cost.h"
#include "kernels/idg/plan/layers.h"
#include "kernels/idg/plan/taper_choice.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"

namespace apsyn {
namespace {

using namespace idg;

/// With fewer turns than this across the whole image, w needs no additional kernel padding.
constexpr double kSmallPhase = 0.1;

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

/// Keeps `plan` if it is the cheapest so far.
struct Best {
  IdgPlan plan;
  double taper_error = 0;  ///< that may be, of a kernel's taper, or is, of the kernel padding's without w
  double seconds = std::numeric_limits<double>::infinity();

  void offer(const IdgPlan& candidate, double error, const IdgWorkload& work) {
    const double cost = modelled_seconds(candidate, work);
    if (cost >= seconds) return;
    seconds = cost;
    plan = candidate;
    taper_error = error;
  }
};

/// Where a kernel padding is too small for the accuracy, the error with w may be this many times the error
/// without.
constexpr double kMoreThanWithoutW = 1.3;

/// Error that the taper may have when w is included.
double taper_limit(const IdgSettings& settings, double error_without_w) {
  return std::max(allowed_taper_error(settings, true), kMoreThanWithoutW * error_without_w);
}

/// Fits the taper to the finished plan; takes more layers if its error turns out larger than estimated.
void settle_taper(Best& best, double max_w) {
  IdgPlan& plan = best.plan;
  if (plan.w_handling == WHandling::kernel) {
    const ChosenTaper chosen = taper_without_w(plan.settings, best.taper_error);
    plan.taper = chosen.taper;
    plan.modelled_error = chosen.error;
    return;
  }
  const double limit = 1.2 * taper_limit(plan.settings, best.taper_error);
  for (int attempt = 0;; ++attempt) {
    const ChosenTaper chosen = taper_with_w(plan, measure_field(plan), plan.half_w_lambda);
    plan.taper = chosen.taper;
    plan.modelled_error = chosen.error;
    if (chosen.error <= limit || attempt == 10) return;
    set_layers(plan, max_w, 0.9 * plan.half_w_lambda);
  }
}

/// Subgrid sizes to try with a kernel padding.
std::vector<std::size_t> subgrid_sizes(const IdgSettings& settings, std::size_t kernel_padding) {
  if (settings.subgrid != 0) return {settings.subgrid};
  std::vector<std::size_t> sizes;
  for (std::size_t size = (kernel_padding + 8 + 7) / 8 * 8;
       size <= std::max<std::size_t>(128, kernel_padding + 16); size += size < 64 ? 8 : 16)
    sizes.push_back(size);
  return sizes;
}

/// Kernel paddings to try: a larger one means fewer layers but more subgrids.
std::vector<std::size_t> kernel_paddings(const IdgSettings& settings, double wanted, double w_phase) {
  if (settings.kernel_padding != 0) return {settings.kernel_padding};
  const std::size_t least = min_kernel_padding(settings, wanted) + settings.aterm_cells;
  const std::size_t most = settings.subgrid == 0 ? 112 : settings.subgrid - 2;
  std::vector<std::size_t> result{std::min(least, most)};
  if (w_phase > kSmallPhase)
    for (std::size_t more : {2, 4, 6, 8, 12, 16, 24, 32, 48})
      if (least + more <= most) result.push_back(least + more);
  return result;
}

/// A plan without its layers.
struct Candidate {
  IdgPlan plan;
  Field field;
};

/// One plan for each subgrid size that goes with the kernel padding of `plan`.
std::vector<Candidate> candidates_of(IdgPlan plan) {
  const IdgSettings asked = plan.settings;
  std::vector<Candidate> candidates;
  for (const std::size_t subgrid : subgrid_sizes(asked, asked.kernel_padding)) {
    if (asked.kernel_padding >= subgrid)
      throw UsageError("--kernel-padding {}: must be smaller than --subgrid {}", asked.kernel_padding,
                       subgrid);
    plan.settings.subgrid = subgrid;
    auto padded = [&](std::size_t n) {
      const double wished = std::ceil(static_cast<double>(n) * asked.padding);
      return fast_fft_length(std::max(static_cast<std::size_t>(wished), subgrid));
    };
    plan.n_u = padded(plan.image.n_x);
    plan.n_v = padded(plan.image.n_y);
    candidates.push_back({plan, measure_field(plan)});
  }
  return candidates;
}

/// Whether different half_w between low and high (in steps) lead to different numbers of layers, and one of
/// these would make a candidate the cheapest so far.
bool half_w_matters(std::span<const Candidate> candidates, const Best& best, const IdgWorkload& work,
                    double low, double high) {
  const double max_w = work.max_w_lambda, step = kHalfWStep * max_half_w(max_w);
  std::optional<std::size_t> before;
  bool differs = false, wins = false;
  for (double half_w = high - step; half_w > low - step / 2; half_w -= step) {
    const std::size_t n_layers = count_layers(max_w, half_w);
    if (before == n_layers) continue;
    differs = before.has_value();
    before = n_layers;
    wins = wins || std::any_of(candidates.begin(), candidates.end(), [&](Candidate tried) {
             return use_chebyshev(tried.plan, tried.field, max_w, half_w) &&
                    modelled_seconds(tried.plan, work) < best.seconds;
           });
    if (differs && wins) return true;
  }
  return false;
}

}  // namespace

IdgPlan make_idg_plan(const ImageGeometry& image, const IdgSettings& settings, const IdgWorkload& work) {
  check(image, settings);
  IdgPlan plan;
  plan.image = image;
  plan.settings = settings;
  if (plan.settings.accuracy == 0)
    plan.settings.accuracy = settings.precision == Precision::single ? 2e-6 : 1e-11;
  // A taper that leaves errors below 1e-10 falls so low at the edge of a field padded by 1.5 that rounding in
  // float64, divided by it, is what remains.
  if (plan.settings.padding == 0) plan.settings.padding = plan.settings.accuracy < 2e-10 ? 2.0 : 1.5;
  if (plan.settings.taper == TaperKind::automatic) plan.settings.taper = TaperKind::least_misfit;
  const IdgSettings asked = plan.settings;
  const double corner = static_cast<double>(image.n_x + image.n_y) * image.cell_rad;
  const double w_phase = work.max_w_lambda * corner * corner;
  const double wanted = allowed_taper_error(asked, false) * (w_phase > kSmallPhase ? 0.5 : 1);
  const double most = max_half_w(work.max_w_lambda);
  const bool fitted = asked.taper == TaperKind::least_misfit;
  Best best;
  IdgPlan before;
  for (const std::size_t kernel_padding : kernel_paddings(asked, wanted, w_phase)) {
    plan.settings.kernel_padding = kernel_padding;
    plan.settings.subgrid = asked.subgrid;
    const IdgSettings of_padding = plan.settings;
    std::vector<Candidate> candidates = candidates_of(plan);
    std::optional<ChosenTaper> alone;  // without w: fitted when it matters, never for the whole sky
    double largest = -1;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      auto& [tried, field] = candidates[i];
      IdgPlan by_kernel = tried;
      use_kernel(by_kernel, field, work.max_w_lambda);
      best.offer(by_kernel, wanted, work);
      // Close to the horizon the slope of n has no bound, and with it the phase's extent in uv.
      if (field.n_min_padded <= 0.4) continue;
      // A fitted taper depends little on the size of the subgrid.
      const auto left = std::span(candidates).subspan(i, fitted ? candidates.size() - i : 1);
      const auto matters = [&](double low, double high) {
        return half_w_matters(left, best, work, low, high);
      };
      // Not with a single layer, either, if its subgrids take on as much of w as those of the plan before.
      IdgPlan one_layer = tried;
      one_layer.w_handling = WHandling::chebyshev;
      one_layer.max_task_half_w_lambda = before.max_task_half_w_lambda;
      one_layer.n_half_range = before.n_half_range;
      if (modelled_seconds(one_layer, work) >= best.seconds) continue;
      const bool known = largest >= 0 && fitted;
      if (!known && !matters(0, (1 + kHalfWStep) * most)) continue;
      const double allowed = allowed_taper_error(tried.settings, true);
      if (!alone) alone = taper_without_w(of_padding, wanted, allowed / kMoreThanWithoutW);
      tried.taper = alone->taper;
      if (!known)
        largest = largest_half_w(tried, field, taper_limit(tried.settings, alone->error), most, matters);
      if (!use_chebyshev(tried, field, work.max_w_lambda, largest)) continue;
      best.offer(tried, alone->error, work);
      before = tried;
    }
  }
  settle_taper(best, work.max_w_lambda);
  if (work.device == Device::Kind::cpu) {
    best.plan.max_u_lambda = work.max_u_lambda;
    best.plan.max_v_lambda = work.max_v_lambda;
  }
  return best.plan;
}

std::vector<std::string> IdgPlan::describe() const {
  const bool kernel = w_handling == WHandling::kernel;
  return {
      fmt::format("image {} x {} pixels of {}, uv grid {} x {}", image.n_x, image.n_y,
                  format_angle(image.cell_rad), n_u, n_v),
      fmt::format(
          "subgrid {}, kernel padding {} ({} cells free), padding {}, taper {} (c = {:.2f}), {} precision",
          settings.subgrid, settings.kernel_padding, settings.free_cells(), settings.padding,
          taper_name(settings.taper), taper.c(),
          settings.precision == Precision::single ? "single" : "double"),
      fmt::format("w: {} layers every {:.6g} wavelengths, {} {}", n_layers, layer_step_lambda, n_terms,
                  kernel ? "layers per visibility" : "Chebyshev terms"),
      fmt::format("modelled error {:.1e}",
                  std::max(settings.taper == TaperKind::least_misfit ? modelled_error : modelled_error / 6,
                           settings.accuracy / 8)),
  };
}

}  // namespace apsyn
