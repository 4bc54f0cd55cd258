// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/plan/cost.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "kernels/common/math/matrix_product.h"
#include "kernels/idg/plan/w_terms.h"

namespace apsyn {
namespace {

/// Throughput of PCI Express 5 with 16 lanes, as measured.
constexpr double kBusBytesPerSecond = 5e10;

/// How often the paths of baselines, along time and along frequency, are cut by the borders of squares.
double count_cuts(const IdgPlan& plan, const IdgWorkload& work, double share_of_time,
                  double share_of_channels = 1) {
  const double cells =
      static_cast<double>(plan.n_u) * plan.image.cell_rad / static_cast<double>(plan.bucket());
  return work.n_baselines * (share_of_time * work.time_track_lambda * cells + 1) *
         (share_of_channels * work.channel_track_lambda * cells + 1);
}

/// CPUs join what different baselines of a block, and of a slot of A-terms, have in a square and in as much
/// of w as a subgrid takes: no more subgrids than there are of these, and than visibilities fill. Baselines
/// are taken to become fewer by a factor of e with every tenth of the longest, and w to grow with their
/// lengths. MWA-128T, a minute, squares of 10, 14, 18, 50 cells: 2500, 2080, 1820, 1160 for 2850, 2160, 1810,
/// 1120 counted.
double count_joined(const IdgPlan& plan, const IdgWorkload& work) {
  constexpr double tenth = 0.1, block_values = 14e6;  // of a block as idg-grid reads it, all planes together
  constexpr int n_rings = 12;
  const double per_lambda = static_cast<double>(plan.n_u) * plan.image.cell_rad,
               // Neighbours are joined in squares a little smaller than a subgrid holds.
      side = 0.8 * static_cast<double>(plan.bucket()) / per_lambda;
  double outer = std::hypot(work.max_u_lambda, work.max_v_lambda);
  const double longest = outer, w_side = 2 * plan.max_task_half_w_lambda * longest / work.max_w_lambda;
  auto longer = [&](double length) { return std::exp(-length / (tenth * longest)); };
  const double blocks = std::ceil(work.n_visibilities * static_cast<double>(work.n_planes) / block_values),
               times = blocks + std::max(0.0, work.n_row_slots - 1), bands = std::max(1.0, work.n_chan_slots),
               cuts = count_cuts(plan, work, 1 / times, 1 / bands),
               visibilities = work.n_visibilities / (times * bands);
  double n = 0;
  for (int ring = 0; ring < n_rings; ++ring) {
    const double inner = ring + 1 < n_rings ? outer / 2 : 0;
    const double share = (longer(inner) - longer(outer)) / (1 - longer(longest));
    const double places = std::max(
        1.0, std::numbers::pi / 2 * (outer * outer - inner * inner) / (side * std::min(side, 0.8 * w_side)));
    n += std::max(places * (1 - std::exp(-share * cuts / places)), share * visibilities / 8192);
    outer = inner;
  }
  return times * bands * std::min(n, cuts);
}

double estimate_subgrids(const IdgPlan& plan, const IdgWorkload& work) {
  const auto bucket = static_cast<double>(plan.bucket());
  const double least = work.n_visibilities / 8192;
  if (work.n_baselines == 0) return std::max(least, work.n_visibilities / 1000 * 20 / bucket);
  const bool joined =
      work.device == Device::Kind::cpu && (plan.settings.aterm_cells == 0 || work.n_row_slots > 0) &&
      std::isfinite(work.max_u_lambda) && std::isfinite(work.max_v_lambda) &&
      work.max_u_lambda + work.max_v_lambda > 0 && work.max_w_lambda > 0 && work.n_visibilities > 0;
  // Those of an interval of time may hold few visibilities each.
  const double most = work.n_visibilities / (joined && work.is_interval ? 1 : 32);
  return std::clamp(joined ? count_joined(plan, work) : count_cuts(plan, work, 1), least,
                    std::max(least, most));
}

/// Chebyshev terms of a typical subgrid: w changes about as fast along a baseline's path as u and v do. A GPU
/// expands each subgrid in as few as its own w takes, and its subgrids are cut by blocks in time: on an H100,
/// MWA-128T, 480 s, kernel paddings of 10, 12 and 14 cells (6, 10 and 12 terms at most) took 0.79, 0.80 and
/// 0.77 s to grid.
double typical_terms(const IdgPlan& plan, bool gpu) {
  if (plan.w_handling == WHandling::kernel) return static_cast<double>(plan.n_terms);
  const double across =
      static_cast<double>(plan.bucket()) / (static_cast<double>(plan.n_u) * plan.image.cell_rad);
  const double half_w = std::min(plan.max_task_half_w_lambda, across / (gpu ? 16 : 2));
  return static_cast<double>(
      chebyshev_terms(2 * std::numbers::pi * half_w * plan.n_half_range, plan.settings.accuracy / 8));
}

/// Pixels of a subgrid that take time. A CPU computes a quarter of them, as its matrix products need it: in
/// groups of rows and whole vectors of columns, so that subgrids of 24 take as long as those of 32. It
/// matters in short intervals of time, where subgrids are most of the work; the figures of others were fitted
/// to whole observations without it.
double worked_pixels(const IdgPlan& plan, const IdgWorkload& work) {
  const std::size_t side = plan.settings.subgrid;
  if (work.device != Device::Kind::cpu || !work.is_interval) return static_cast<double>(side * side);
  const auto up = [](std::size_t n, std::size_t step) { return (n + step - 1) / step * step; };
  const std::size_t lanes = plan.settings.precision == Precision::single ? 16 : 8;
  return static_cast<double>(4 * up(side / 2, matrix_product_rows) * up(side / 2, lanes));
}

}  // namespace

PlanCost modelled_cost(const IdgPlan& plan, const IdgWorkload& work) {
  const double side2 = worked_pixels(plan, work);
  const auto planes = static_cast<double>(work.n_planes);
  const bool single = plan.settings.precision == Precision::single, gpu = work.device == Device::Kind::cuda;
  const double terms = typical_terms(plan, gpu),
               cells = static_cast<double>(plan.n_u) * static_cast<double>(plan.n_v);
  const double outputs = plan.w_handling == WHandling::kernel ? terms : 1;
  double visibility_ns, pixel_ns, cell_ns;
  if (gpu) {
    const bool tensor = outputs == 1 && is_fast_on_gpu(plan);
    // Measured on an H200; bins of w, nodes of tracks, and cuts that the estimate does not count, are the
    // subgrids' share.
    visibility_ns = side2 * planes * (tensor ? 1e-5 : 2e-4 * terms);
    pixel_ns = tensor ? 0.09 : 0.046;
    // Columns go straight into the image where their length allows, otherwise cuFFT transforms layers: 28 of
    // five planes of 6144 x 6144 cells in 0.30 s on an H100.
    cell_ns = !is_fast_on_gpu(plan) ? 0.055 : plan.n_v % 2048 == 0 ? 0.0105 : 0.016;
  } else {
    // Half of the places are their tracks' and channels' nodes'.
    visibility_ns = single ? 8 + planes * (1.5 + 0.7 * terms) : (5 + 12 * planes) * terms;
    pixel_ns = (single ? 1 : 3) * (5 + 2.5 * terms / outputs);
    cell_ns = 6;
  }
  return {.visibility_s = 1e-9 * visibility_ns,
          .subgrids_s = 1e-9 * estimate_subgrids(plan, work) * side2 * planes * outputs * pixel_ns,
          .layer_s = 1e-9 * cells * planes * cell_ns,
          .travel_s = gpu ? planes * sizeof(std::complex<float>) / kBusBytesPerSecond : 0};
}

}  // namespace apsyn

namespace apsyn::idg_degrid {
namespace {

/// Nanoseconds of one of 16 threads, measured beside an H200 (tests/bench/README.md). Rows that travel: to be
/// added, for each visibility and plane, which takes as long as its 8 bytes on the bus.
constexpr double kAddedRow = 2.55;
/// Rows of nodes: for each visibility and plane, more with every node, and for each run.
constexpr double kMadeRow = 1.4, kMadeOfNode = 0.02, kMadeRun = 12;
/// What travels meanwhile: a place's plane, and a run's 16 bytes.
constexpr double kSentPlace = 2.3, kSentRun = 4.7;

}  // namespace

bool leaves_rows(const RowCounts& counts) {
  const auto planes = static_cast<double>(counts.n_planes),
             visibilities = static_cast<double>(counts.n_visibilities) * planes;
  const double nodes =
      static_cast<double>(counts.n_nodes) / static_cast<double>(std::max<std::uint64_t>(1, counts.n_tracks));
  const double made = visibilities * (kMadeRow + kMadeOfNode * nodes) +
                      static_cast<double>(counts.n_runs) * (kMadeRun + kSentRun) +
                      static_cast<double>(counts.n_places) * planes * kSentPlace;
  return made < visibilities * kAddedRow;
}

}  // namespace apsyn::idg_degrid
