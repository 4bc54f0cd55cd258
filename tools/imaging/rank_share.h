// SPDX-License-Identifier: GPL-3.0-or-later
// How processes share the gridding or the prediction of a field: each has a range of |w| and its w layers, so
// that layers are transformed once, but for those that two share, and only images or visibilities travel
// (Hodgson 2025, section 5.6, finds that transforming all layers everywhere ends the scaling). Where there
// are fewer layers than processes, those of one range share its rows.
#pragma once

#include <cstddef>

#include "kernels/idg/idg.h"
#include "kernels/idg/plan/cost.h"
#include "libcore/system/ranks.h"
#include "tools/imaging/w_ranges.h"

namespace apsyn::imaging {

struct RankShare {
  LayerRange layers;
  std::size_t part = 0, n_parts = 1;  ///< of the rows of every block

  /// Of n rows those of this share: [first, first + n).
  std::size_t first_row(std::size_t n) const { return n * part / n_parts; }
  std::size_t n_rows(std::size_t n) const { return n * (part + 1) / n_parts - first_row(n); }

  struct Rows {
    std::size_t skip = 0, n = 0;
  };
  /// Of rows [first, first + n) of a block of n_block those of this share: n after so many of them. Blocks
  /// are the same for every field, what a field cuts them into is not.
  Rows rows_of_part(std::size_t first, std::size_t n, std::size_t n_block) const;
};

/// The rows alone.
RankShare share_rows(const Ranks& ranks, std::size_t n_layers);

/// Shares that take about as long at the plan's cost.
RankShare share_of(const Ranks& ranks, const IdgPlan& plan, const PlanCost& cost,
                   const WHistogram& visibilities);

}  // namespace apsyn::imaging
