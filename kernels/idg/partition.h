// SPDX-License-Identifier: GPL-3.0-or-later
// Which visibility goes to which subgrid. The uv plane is cut into squares of plan.bucket() cells; a subgrid
// takes the visibilities that fall into a square and one layer, of all baselines, and stands on the middle of
// their extent. Consecutive channels of a row that share a subgrid stay together as a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/idg/idg.h"

namespace apsyn {

struct VisibilityRun {
  std::uint32_t row = 0, first_channel = 0, n_channels = 0;
};

/// One subgrid.
struct SubgridTask {
  std::int64_t centre_u = 0, centre_v = 0;  ///< uv cells
  std::size_t layer = 0;  ///< its layer (Chebyshev), or the first of the n_terms layers it reaches (kernel)
  std::size_t first_run = 0, n_runs = 0;
  std::size_t n_visibilities = 0;
};

struct Partition {
  std::vector<SubgridTask> tasks;  ///< by layer, then v, then u
  std::vector<VisibilityRun> runs;
  std::uint64_t n_visibilities = 0;
};

/// The layers of a pass.
struct LayerRange {
  std::size_t first = 0, n = 0;
};

/// Only the tasks that touch the layers. DataError when a visibility's w exceeds what the plan was made for,
/// or u, v are beyond all bounds. The same for any number of threads.
Partition partition(const IdgPlan& plan, const GridBlock& block, const LayerRange& layers,
                    unsigned n_threads);

/// std::invalid_argument when the block's arrays differ in shape, or are not of `n_data_planes`.
void check_block(const GridBlock& block, std::size_t n_data_planes);

}  // namespace apsyn
