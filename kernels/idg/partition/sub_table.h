// SPDX-License-Identifier: GPL-3.0-or-later
// What one subgrid may hold, and which sub-tables of (time, channel) may share one. The same on CPU and GPU,
// to the last bit as long as neither contracts products and sums.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define APSYN_CUT __host__ __device__ __forceinline__
#else
#define APSYN_CUT inline
#endif

namespace apsyn {

/// Consecutive channels of a row that share a subgrid.
struct VisibilityRun {
  std::uint32_t row = 0, first_channel = 0, n_channels = 0;
};

namespace idg {

/// So that threads share the work evenly.
constexpr std::uint32_t kMostVisibilities = 8192;
/// Subgrids with fewer cost more for themselves than for their visibilities.
constexpr std::uint32_t kFewVisibilities = kMostVisibilities / 4;
/// Small sub-tables of a layer, in the order in which neighbours are joined, that one thread joins.
constexpr std::uint32_t kJoinedAtOnce = 128;
/// Beyond so many uv cells from the middle a coordinate is none.
constexpr double kFarthestCells = 1u << 30;

APSYN_CUT double lesser(double a, double b) {
  return b < a ? b : a;
}
APSYN_CUT double greater(double a, double b) {
  return a < b ? b : a;
}

/// Extent of folded visibilities: u and v in uv cells, w in wavelengths.
struct UvwBox {
  double least_u = INFINITY, most_u = -INFINITY, least_v = INFINITY, most_v = -INFINITY;
  double least_w = INFINITY, most_w = -INFINITY;

  APSYN_CUT void include(double u, double v, double w) {
    least_u = lesser(least_u, u), most_u = greater(most_u, u);
    least_v = lesser(least_v, v), most_v = greater(most_v, v);
    least_w = lesser(least_w, w), most_w = greater(most_w, w);
  }
  /// Whether all that it includes are numbers: one that is not widens nothing, and would hide in a wider box.
  APSYN_CUT bool has_place() const { return least_u <= most_u && least_v <= most_v && least_w <= most_w; }
  APSYN_CUT UvwBox joined(const UvwBox& other) const {
    return {lesser(least_u, other.least_u), greater(most_u, other.most_u),  lesser(least_v, other.least_v),
            greater(most_v, other.most_v),  lesser(least_w, other.least_w), greater(most_w, other.most_w)};
  }
};

/// Rows and channels that one subgrid takes. The A-term key is 0 without A-terms. No padding, which a device
/// would leave uninitialised.
struct SubTable {
  UvwBox box;
  std::uint32_t layer, n_visibilities, first_run, n_runs;
  std::uint32_t station_p, station_q, row_slot, chan_slot;
  std::uint64_t folded;
};
static_assert(sizeof(SubTable) == sizeof(UvwBox) + 8 * sizeof(std::uint32_t) + sizeof(std::uint64_t));

/// The limits of a subgrid under a plan, and the layers of a pass.
struct CutLimits {
  double per_u, per_v;  ///< uv cells per wavelength
  double most_cells;    ///< from the cell below the visibilities to the one above them
  double most_w_extent, layer_step, layer_slack, last_layer;
  bool w_kernel;
  std::uint32_t reach;  ///< layers that a subgrid touches
  std::uint32_t first_layer, n_layers;
  double least_w, most_w;  ///< of the middle of a subgrid of the first and of the last layer, most_w excluded

  APSYN_CUT bool is_in_field(const UvwBox& box) const {
    const double u = (box.least_u + box.most_u) / 2, v = (box.least_v + box.most_v) / 2;
    return fabs(u) < kFarthestCells && fabs(v) < kFarthestCells;
  }
  APSYN_CUT bool is_in_plan(const UvwBox& box) const {
    return box.most_w <= layer_step * (last_layer + 1) * (1 + 1e-9);
  }
  /// For boxes in the plan.
  APSYN_CUT std::uint32_t layer_of(const UvwBox& box) const {
    const double w = w_kernel ? box.least_w : (box.least_w + box.most_w) / 2;
    return static_cast<std::uint32_t>(lesser(floor(w / layer_step), last_layer));
  }
  APSYN_CUT bool holds(const UvwBox& box, std::uint32_t layer) const {
    const double low = layer * layer_step, high = low + layer_step * (1 + 1e-9);
    return ceil(box.most_u) - floor(box.least_u) <= most_cells &&
           ceil(box.most_v) - floor(box.least_v) <= most_cells && box.most_w - box.least_w <= most_w_extent &&
           box.least_w >= low - layer_slack && box.most_w <= high + layer_slack;
  }
  /// Whether a subgrid whose first layer is `layer` touches the pass, which may have no layers.
  APSYN_CUT bool in_pass(std::uint32_t layer) const {
    return n_layers > 0 && layer < first_layer + n_layers && layer + reach > first_layer;
  }
  /// Whether the pass takes a whole subgrid, once small ones have been joined: others join as they do
  /// without. Of subgrids between its first and its last layer the layer decides alone: they may reach below
  /// least_w or above most_w by layer_slack.
  APSYN_CUT bool takes(const SubTable& table) const {
    const double w = (table.box.least_w + table.box.most_w) / 2;
    return in_pass(table.layer) && (table.layer != first_layer || w >= least_w) &&
           (table.layer + 1 != first_layer + n_layers || w < most_w);
  }
  APSYN_CUT bool join(const SubTable& a, const SubTable& b) const {
    return a.layer == b.layer && a.n_visibilities + b.n_visibilities <= kMostVisibilities &&
           holds(a.box.joined(b.box), a.layer);
  }
};

/// A subgrid of L cells, -L/2 .. L/2 - 1 from its centre, stands on the middle of the cells between which its
/// visibilities lie: then as many cells are free on either side, or one less above where the number of these
/// cells is odd, at least half the kernel padding.
struct SubTableCentre {
  std::int64_t u, v;  ///< uv cells
  double w_lambda, half_w_lambda;
};
APSYN_CUT std::int64_t centre_cell(double least, double most) {
  return static_cast<std::int64_t>(floor((floor(least) + ceil(most) + 1) / 2));
}
APSYN_CUT SubTableCentre centre_of(const UvwBox& box) {
  return {centre_cell(box.least_u, box.most_u), centre_cell(box.least_v, box.most_v),
          (box.least_w + box.most_w) / 2, (box.most_w - box.least_w) / 2};
}

/// Where small sub-tables stand in the order in which neighbours are joined: by layer, v and u of squares a
/// little smaller than a subgrid holds, so that most of a square fits together, and by w.
struct JoinPlace {
  std::uint32_t layer;
  std::int32_t v, u;
  float w;
};
APSYN_CUT JoinPlace join_place(const CutLimits& limits, const SubTable& table) {
  const double square = limits.most_cells * 0.8;
  const UvwBox& box = table.box;
  return {table.layer, static_cast<std::int32_t>(floor((box.least_v + box.most_v) / 2 / square + 0.5)),
          static_cast<std::int32_t>(floor((box.least_u + box.most_u) / 2 / square + 0.5)),
          static_cast<float>(box.least_w + box.most_w)};
}

}  // namespace idg
}  // namespace apsyn
