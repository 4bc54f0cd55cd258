// SPDX-License-Identifier: GPL-3.0-or-later
// Estimated time of gridding or degridding with a plan.
#pragma once

#include "kernels/idg/idg.h"

namespace apsyn {

/// Plans whose accuracy is this number or larger run on tensor cores, with measured errors of up to 5e-6 in
/// sums and 7.1e-6 in images, and their layers are transformed in float32.
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
  /// For copying each visibility to a GPU, which computes meanwhile. All plans copy the same number of
  /// visibilities, but ranges of w differ.
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

// Rows can be interpolated from nodes on the GPU and then copied to the host, or nodes are copied and the
// host interpolates the rows.

/// Counts of rows that are predicted together.
struct RowCounts {
  std::uint64_t n_visibilities = 0;
  std::uint64_t n_runs = 0;  ///< of consecutive channels, those of a row on a track
  std::uint64_t n_tracks = 0;
  std::uint64_t n_nodes = 0;   ///< and rows on tracks without
  std::uint64_t n_places = 0;  ///< nodes' channels, and visibilities on tracks without
  std::size_t n_planes = 1;
};

/// Whether it is faster to let the host make the rows.
bool leaves_rows(const RowCounts& counts);

}  // namespace apsyn::idg_degrid
