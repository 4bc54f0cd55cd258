// SPDX-License-Identifier: GPL-3.0-or-later
// What gridding or degridding by a plan would take.
#pragma once

#include "kernels/idg/idg.h"

namespace apsyn {

/// Plans of this accuracy and more are the tensor cores', whose sums err by 5e-6 and images by 7.1e-6 at most
/// as measured, and their layers are transformed in float32.
inline constexpr double kFastGpuAccuracy = 8e-6;
inline bool is_fast_on_gpu(const IdgPlan& plan) {
  return plan.settings.precision == Precision::single && plan.settings.accuracy >= kFastGpuAccuracy;
}

/// Seconds of one core, or of the GPU. The constants were measured (tests/bench/README.md): on a Zen 4 core
/// with AVX-512 and on an H200; their ratios matter, and differ little from one model to the next.
struct PlanCost {
  double visibility_s = 0;  ///< for each
  double subgrids_s = 0;    ///< for all
  double layer_s = 0;       ///< for each
  /// For each, on its way to a GPU, which computes meanwhile: no plan has more or fewer of them, but ranges
  /// of w do.
  double travel_s = 0;
};
PlanCost modelled_cost(const IdgPlan& plan, const IdgWorkload& work);

inline double modelled_seconds(const IdgPlan& plan, const IdgWorkload& work) {
  const PlanCost cost = modelled_cost(plan, work);
  return work.n_visibilities * cost.visibility_s + cost.subgrids_s +
         static_cast<double>(plan.n_layers) * cost.layer_s;
}

}  // namespace apsyn

namespace apsyn::idg_degrid {

// Whether rows are made of nodes on a GPU, and travel, or nodes travel, and the host makes rows of them.

/// What is known of rows that are predicted together.
struct RowCounts {
  std::uint64_t n_visibilities = 0;
  std::uint64_t n_runs = 0;  ///< of consecutive channels, those of a row on a track
  std::uint64_t n_tracks = 0;
  std::uint64_t n_nodes = 0;   ///< and rows on tracks without
  std::uint64_t n_places = 0;  ///< nodes' channels, and visibilities on tracks without
  std::size_t n_planes = 1;
};

/// Whether it takes less when the host makes the rows.
bool leaves_rows(const RowCounts& counts);

}  // namespace apsyn::idg_degrid
