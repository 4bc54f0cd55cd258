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

/// Upper limit on a subgrid's visibilities, so that threads share the work evenly.
constexpr std::uint32_t kMaxVisibilities = 8192;
/// With fewer visibilities than this, a subgrid costs more than its visibilities do.
constexpr std::uint32_t kFewVisibilities = kMaxVisibilities / 4;
/// Number of a layer's small sub-tables, in the order in which neighbours are joined, that one thread joins.
constexpr std::uint32_t kJoinedAtOnce = 128;
/// Coordinates farther than this from the middle, in uv cells, are refused.
constexpr double kFarthestCells = 1u << 30;

APSYN_CUT double lesser(double a, double b) {
  return b < a ? b : a;
}
APSYN_CUT double greater(double a, double b) {
  return a < b ? b : a;
}

/// Extent of folded visibilities: u and v in uv cells, w in wavelengths.
struct UvwBox {
  double min_u = INFINITY, max_u = -INFINITY, min_v = INFINITY, max_v = -INFINITY;
  double min_w = INFINITY, max_w = -INFINITY;

  APSYN_CUT void include(double u, double v, double w) {
    min_u = lesser(min_u, u), max_u = greater(max_u, u);
    min_v = lesser(min_v, v), max_v = greater(max_v, v);
    min_w = lesser(min_w, w), max_w = greater(max_w, w);
  }
  /// Whether all coordinates that went into it are numbers: a NaN widens nothing and would go unnoticed in a
  /// wider box.
  APSYN_CUT bool has_place() const { return min_u <= max_u && min_v <= max_v && min_w <= max_w; }
  APSYN_CUT UvwBox joined(const UvwBox& other) const {
    return {lesser(min_u, other.min_u),  greater(max_u, other.max_u), lesser(min_v, other.min_v),
            greater(max_v, other.max_v), lesser(min_w, other.min_w),  greater(max_w, other.max_w)};
  }
};

/// What the visibilities of a subgrid share with A-terms; all 0 without. `folded` is 0 where folded
/// visibilities and others may share a subgrid.
struct AtermKey {
  std::uint32_t response_p, response_q;  ///< indices into AtermBlock::jones, of the folded visibilities
  std::uint32_t row_slot, chan_slot;
  std::uint64_t folded;

  APSYN_CUT bool operator==(const AtermKey& other) const {
    return response_p == other.response_p && response_q == other.response_q && row_slot == other.row_slot &&
           chan_slot == other.chan_slot && folded == other.folded;
  }
};

/// Rows and channels that one subgrid takes. No padding, which a device would leave uninitialised.
struct SubTable {
  UvwBox box;
  std::uint32_t layer, n_visibilities, first_run, n_runs;
  AtermKey aterms;
};
static_assert(sizeof(SubTable) == sizeof(UvwBox) + 8 * sizeof(std::uint32_t) + sizeof(std::uint64_t));

/// The limits of a subgrid under a plan, and the layers of a pass.
struct CutLimits {
  double per_u, per_v;  ///< uv cells per wavelength
  double max_cells;     ///< from the cell below the visibilities to the one above them
  double max_w_extent, layer_step, layer_slack, last_layer;
  bool w_kernel;
  std::uint32_t reach;  ///< layers that a subgrid touches
  std::uint32_t first_layer, n_layers;
  double min_w, max_w;  ///< of the middle of a subgrid of the first and of the last layer, max_w excluded
  bool folds_apart;     ///< whether A-terms keep folded visibilities and others apart

  APSYN_CUT bool is_in_field(const UvwBox& box) const {
    const double u = (box.min_u + box.max_u) / 2, v = (box.min_v + box.max_v) / 2;
    return fabs(u) < kFarthestCells && fabs(v) < kFarthestCells;
  }
  APSYN_CUT bool is_in_plan(const UvwBox& box) const {
    return box.max_w <= layer_step * (last_layer + 1) * (1 + 1e-9);
  }
  /// For boxes in the plan.
  APSYN_CUT std::uint32_t layer_of(const UvwBox& box) const {
    const double w = w_kernel ? box.min_w : (box.min_w + box.max_w) / 2;
    return static_cast<std::uint32_t>(lesser(floor(w / layer_step), last_layer));
  }
  APSYN_CUT bool holds(const UvwBox& box, std::uint32_t layer) const {
    const double low = layer * layer_step, high = low + layer_step * (1 + 1e-9);
    return ceil(box.max_u) - floor(box.min_u) <= max_cells &&
           ceil(box.max_v) - floor(box.min_v) <= max_cells && box.max_w - box.min_w <= max_w_extent &&
           box.min_w >= low - layer_slack && box.max_w <= high + layer_slack;
  }
  /// Whether a subgrid whose first layer is `layer` touches the pass, which may have no layers.
  APSYN_CUT bool in_pass(std::uint32_t layer) const {
    return n_layers > 0 && layer < first_layer + n_layers && layer + reach > first_layer;
  }
  /// Whether the pass takes a whole subgrid, after small ones have been joined (joining does not depend on
  /// the pass). Between the pass's first and last layer only the layer decides: such subgrids may reach below
  /// min_w or above max_w by layer_slack.
  APSYN_CUT bool takes(const SubTable& table) const {
    const double w = (table.box.min_w + table.box.max_w) / 2;
    return in_pass(table.layer) && (table.layer != first_layer || w >= min_w) &&
           (table.layer + 1 != first_layer + n_layers || w < max_w);
  }
  APSYN_CUT bool join(const SubTable& a, const SubTable& b) const {
    return a.layer == b.layer && a.aterms == b.aterms &&
           a.n_visibilities + b.n_visibilities <= kMaxVisibilities && holds(a.box.joined(b.box), a.layer);
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
  return {centre_cell(box.min_u, box.max_u), centre_cell(box.min_v, box.max_v), (box.min_w + box.max_w) / 2,
          (box.max_w - box.min_w) / 2};
}

/// Where small sub-tables stand in the order in which neighbours are joined: by layer, v and u of squares a
/// little smaller than a subgrid holds, so that most of a square fits together, then by A-terms, and by w.
struct JoinPlace {
  std::uint32_t layer;
  std::int32_t v, u;
  float w;
};
APSYN_CUT JoinPlace join_place(const CutLimits& limits, const SubTable& table) {
  const double square = limits.max_cells * 0.8;
  const UvwBox& box = table.box;
  return {table.layer, static_cast<std::int32_t>(floor((box.min_v + box.max_v) / 2 / square + 0.5)),
          static_cast<std::int32_t>(floor((box.min_u + box.max_u) / 2 / square + 0.5)),
          static_cast<float>(box.min_w + box.max_w)};
}

}  // namespace idg
}  // namespace apsyn
