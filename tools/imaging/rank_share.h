// SPDX-License-Identifier: GPL-3.0-or-later
// How processes share the gridding or the prediction of a field. Each takes a range of |w| and the layers in
// it, so that a layer is transformed by one process (by two at the border of ranges) and only images or
// visibilities are exchanged: transforming all layers in every process limits scaling (Hodgson 2025,
// section 5.6). With fewer layers than processes, the processes of one range share its rows.
#pragma once

#include <cstddef>

#include "kernels/idg/idg.h"
#include "kernels/idg/plan/cost.h"
#include "libcore/base/view.h"
#include "libcore/system/ranks.h"
#include "tools/imaging/w_ranges.h"

namespace apsyn::imaging {

struct RankShare {
  LayerRange layers;
  std::size_t part = 0, n_parts = 1;  ///< of the rows of every block

  /// The rows of this share among n rows: [first_row(n), first_row(n) + n_rows(n)).
  std::size_t first_row(std::size_t n) const { return n * part / n_parts; }
  std::size_t n_rows(std::size_t n) const { return n * (part + 1) / n_parts - first_row(n); }

  struct Rows {
    std::size_t skip = 0, n = 0;
  };
  /// The rows among [first, first + n), of a block of n_block rows, that belong to this share: skip `skip`,
  /// take `n`. Fields divide the same block into different parts.
  Rows rows_of_part(std::size_t first, std::size_t n, std::size_t n_block) const;
};

/// A share that divides rows but not layers.
RankShare share_rows(const Ranks& ranks, std::size_t n_layers);

/// Shares that take about the same time by the plan's cost.
RankShare share_of(const Ranks& ranks, const IdgPlan& plan, const PlanCost& cost,
                   const WHistogram& visibilities);

// Sums the images of all processes. GPUs of one machine add theirs directly where they can reach each other's
// memory, so that only one image is copied to the host; images of other machines are sent to the first
// process.

/// Adds the images of a machine's processes to those of its first, one after another, on its GPU. True when
/// this process's images have been added to another's.
bool add_on_machine(Gridder& gridder, const Ranks& ranks);

/// Call it once all passes have ended. In the first process it returns the summed images; those of the others
/// must not be used.
Buffer<double, 3> take_summed_images(Gridder& gridder, const Ranks& ranks);

}  // namespace apsyn::imaging
