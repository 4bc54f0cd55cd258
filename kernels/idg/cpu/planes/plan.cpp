// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/idg/cpu/layers/layer_transform.h"
#include "kernels/idg/cpu/planes/spread_places.h"
#include "kernels/idg/plan/cost.h"
#include "kernels/idg/planes.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"

namespace apsyn {
namespace {

/// Fractions of the wanted accuracy that spreading and the expansion in w may use up, RMS over the image.
constexpr double spread_share = 0.4, w_share = 0.2;

/// Share of the wanted accuracy that rounding may use up, and rounding in float32: of transforms, and of the
/// sum in a cell of one value, which grows with the root of their number.
constexpr double rounding_share = 0.65, transform_rounding = 1e-7, sum_rounding = 3e-8;

/// By how much dividing an image by the kernel's transform magnifies the rounding of transforms along one
/// axis, RMS over the image.
double magnification(const SpreadKernel& kernel, std::size_t n_pixels, std::size_t n_cells) {
  constexpr int samples = 16;
  const double middle = kernel.transform(0),
               edge = static_cast<double>(n_pixels) / 2 / static_cast<double>(n_cells);
  double power = 0;
  for (int i = 0; i < samples; ++i)
    power += std::pow(middle / kernel.transform(edge * (i + 0.5) / samples), 2);
  return std::sqrt(power / samples);
}

/// Even lengths that FFTW transforms fastest: a Zen 4 core takes 0.27 us for 384 numbers, 0.33 for 400, 0.36
/// for 512, but 0.66 for 432 and 0.83 for 480.
std::size_t plane_length(double least) {
  std::size_t best = std::numeric_limits<std::size_t>::max();
  for (std::size_t factor : {std::size_t{32}, std::size_t{96}, std::size_t{160}, std::size_t{400}}) {
    while (static_cast<double>(factor) < least) factor *= 2;
    best = std::min(best, factor);
  }
  return best;
}

/// What n pairs of terms leave is to be an RMS of `error` over the image: of w up to the largest
/// 2 J_2n(z) / sqrt(2), of smaller ones z^(2 n) / (2 n)!. Empty where max_term_pairs do not suffice, or
/// powers are so large that they cancel each other.
std::vector<double> pairs_of_w(const PlanesPlan& plan, double error) {
  constexpr int samples = 24;
  constexpr double max_phase = 2.5;
  if (2 * std::numbers::pi * plan.max_w_lambda * plan.n_half_range > max_phase) return {};
  const double half_l = static_cast<double>(plan.image.n_x) / 2 * plan.image.cell_rad,
               half_m = static_cast<double>(plan.image.n_y) / 2 * plan.image.cell_rad;
  std::vector<double> phase;  // for a w of one wavelength
  for (int y = 0; y < samples; ++y)
    for (int x = 0; x < samples; ++x) {
      const double less = n_minus_one((x + 0.5) / samples * half_l, (y + 0.5) / samples * half_m);
      if (!std::isnan(less)) phase.push_back(2 * std::numbers::pi * (less + 1 - plan.n_middle));
    }
  std::vector<double> most;
  double factorial = 1;
  for (std::size_t n = 1; n <= max_term_pairs; ++n) {
    const auto order = static_cast<double>(2 * n);
    factorial *= order * (order - 1);
    double power = 0;
    for (const double each : phase) power += std::pow(each, 2 * order);
    const double rms = std::sqrt(power / static_cast<double>(phase.size())) / factorial;
    most.push_back(rms > 0 ? std::pow(error / rms, 1 / order) : INFINITY);
    // J_2n(z) is (z / 2)^2n / (2 n)! at most.
    if (most.back() * 2 * std::pow(std::numbers::sqrt2, -1 / order) < plan.max_w_lambda) continue;
    most.back() = plan.max_w_lambda;
    return most;
  }
  return {};
}

/// Places of a row: its channels, or the nodes of a mean baseline.
double places_per_row(const PlanesPlan& plan, const PlanesWorkload& work) {
  const double n_channels = work.all.n_visibilities / std::max(1.0, work.n_rows);
  const double turn = std::numbers::pi / 2 * static_cast<double>(plan.image.n_x + plan.image.n_y) *
                      plan.image.cell_rad * work.all.channel_track_lambda / 2;
  return std::min(n_channels, 5 + turn);
}

double sums_per_cell(const PlanesPlan& plan, const PlanesWorkload& work) {
  const auto width = static_cast<double>(plan.kernel.width());
  return work.n_rows * places_per_row(plan, work) * width * width /
         (static_cast<double>(plan.n_u) * static_cast<double>(plan.n_v) / 2);
}

/// Upper limits for an H200, which places every channel: 600 intervals of 65,000 visibilities, four pairs of
/// 512 x 512 cells, took 0.2 to 0.3 s with everything that the host does.
double modelled_gpu_seconds(const PlanesPlan& plan, const PlanesWorkload& work) {
  constexpr double visibility_ns = 3, cell_ns = 0.1;
  const double cells = static_cast<double>(plan.n_u) * static_cast<double>(plan.n_v);
  return 1e-9 * static_cast<double>(work.all.n_planes) *
         (work.all.n_visibilities * visibility_ns +
          2 * static_cast<double>(plan.n_pairs()) * cells * cell_ns);
}

/// What a GPU's gridder of subgrids takes for an interval beside its modelled time, most of it to be made: 17
/// ms for 256 x 256 pixels and 24 ms for 512 x 512.
constexpr double gpu_subgrids_s = 15e-3;

}  // namespace

double modelled_seconds(const PlanesPlan& plan, const PlanesWorkload& work) {
  const auto planes = static_cast<double>(work.all.n_planes),
             width = static_cast<double>(plan.kernel.width()), pairs = static_cast<double>(plan.n_pairs());
  const double vectors = std::ceil(width / 4), used_pairs = (1 + pairs) / 2,
               places = work.n_rows * places_per_row(plan, work),
               cells = static_cast<double>(plan.n_u) * static_cast<double>(plan.n_v);
  // Measured on a Zen 4 core; cells that no cache holds cost more.
  constexpr double row_ns = 60, place_ns = 15, plane_ns = 6, vector_ns = 0.5, kept_cell_ns = 1.6,
                   cell_ns = 2.6;
  constexpr double cache_bytes = 32e6;
  const double bytes = cells / 2 * pairs * pair_values * sizeof(float);
  return 1e-9 * (work.n_rows * row_ns +
                 places * (place_ns + planes * (plane_ns + vector_ns * width * vectors * used_pairs)) +
                 planes * 2 * pairs * cells * (bytes <= cache_bytes ? kept_cell_ns : cell_ns));
}

std::optional<PlanesPlan> plan_planes(const ImageGeometry& image, double accuracy,
                                      const PlanesWorkload& work) {
  constexpr double max_oversampling = 2.6;
  std::optional<PlanesPlan> best;
  double best_seconds = std::numeric_limits<double>::infinity();
  for (const SpreadKernel& kernel : spread_kernels(spread_share * accuracy, 1)) {
    const auto cells = [&](std::size_t n, double oversampling) {
      const auto pixels = static_cast<double>(n);
      return plane_length(std::max(oversampling * pixels, pixels + 2 * static_cast<double>(kernel.width())));
    };
    for (double oversampling = kernel.oversampling(); oversampling < max_oversampling; oversampling *= 1.15) {
      PlanesPlan plan{.image = image,
                      .accuracy = accuracy,
                      .n_u = cells(image.n_x, oversampling),
                      .n_v = cells(image.n_y, oversampling),
                      .kernel = kernel,
                      .max_w_lambda = work.all.max_w_lambda};
      const std::size_t margin = 2 * kernel.width() + 2;
      if (plan.n_u + margin > max_plane_columns || plan.n_v / 2 + margin > max_plane_rows) break;
      const double rounding = transform_rounding + sum_rounding * std::sqrt(sums_per_cell(plan, work));
      if (rounding * magnification(kernel, image.n_x, plan.n_u) * magnification(kernel, image.n_y, plan.n_v) >
          rounding_share * accuracy)
        continue;
      const double corner = n_minus_one(static_cast<double>(image.n_x / 2) * image.cell_rad,
                                        static_cast<double>(image.n_y / 2) * image.cell_rad);
      const double least = std::isnan(corner) ? 0 : 1 + corner;
      plan.n_middle = (1 + least) / 2;
      plan.n_half_range = (1 - least) / 2;
      plan.pairs_w_lambda = pairs_of_w(plan, w_share * accuracy);
      if (plan.pairs_w_lambda.empty()) return {};
      const double seconds = modelled_seconds(plan, work);
      if (seconds >= best_seconds) continue;
      best_seconds = seconds;
      best = plan;
    }
  }
  return best;
}

bool leaves_planes(const IdgSettings& asked) {
  return asked.precision == Precision::single && asked.aterm_cells == 0 && asked.subgrid == 0 &&
         asked.kernel_padding == 0 && asked.padding == 0 && asked.taper == TaperKind::automatic;
}

std::optional<PlanesPlan> planes_instead(const IdgPlan& plan, const IdgSettings& asked,
                                         const PlanesWorkload& work) {
  if (!work.all.is_interval || !leaves_planes(asked)) return {};
  std::optional<PlanesPlan> planes = plan_planes(plan.image, plan.settings.accuracy, work);
  // The cost model of subgrids leaves out dividing rows among them, of MWA-128T 1.9 ms for 8128 rows.
  constexpr double divided_row_s = 230e-9;
  const bool on_cpu = work.all.device == Device::Kind::cpu;
  const double of_planes = !planes  ? INFINITY
                           : on_cpu ? modelled_seconds(*planes, work)
                                    : modelled_gpu_seconds(*planes, work),
               of_subgrids =
                   modelled_seconds(plan, work.all) + (on_cpu ? work.n_rows * divided_row_s : gpu_subgrids_s);
  return of_planes < of_subgrids ? planes : std::nullopt;
}

std::vector<std::string> PlanesPlan::describe() const {
  return {fmt::format("image {} x {} pixels of {}, uv plane {} x {}", image.n_x, image.n_y,
                      format_angle(image.cell_rad), n_u, n_v),
          fmt::format(
              "no subgrids: spread kernel of {} cells, {} terms of w to {:.6g} wavelengths, single precision",
              kernel.width(), 2 * n_pairs(), max_w_lambda)};
}

}  // namespace apsyn
