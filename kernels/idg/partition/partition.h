// SPDX-License-Identifier: GPL-3.0-or-later
// The assignment of visibilities to subgrids. A subgrid takes visibilities whose u, v lie between the whole
// cells of a square of plan.bucket() cells and whose w are near one layer; it stands on the middle of these
// cells, and takes w relative to the middle of theirs. Each baseline is cut into sub-tables of (time,
// channel), with A-terms of one row slot and one channel slot. Sub-tables with few visibilities are joined
// across baselines, with A-terms where both stations of the baselines have equal Jones matrices in these
// slots. Consecutive channels of a row that share a subgrid stay together as a run.
//
// Visibilities with w < 0 are folded: they count as their conjugates at (-u, -v, -w), with p and q exchanged
// (and XY with YX).
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/idg/idg.h"
#include "kernels/idg/partition/sub_table.h"

namespace apsyn {

/// One subgrid. All coordinates are of folded visibilities.
struct SubgridTask {
  std::int64_t centre_u = 0, centre_v = 0;  ///< uv cells
  double w_lambda = 0, half_w_lambda = 0;   ///< |w - w_lambda| <= half_w_lambda for all of its visibilities
  std::size_t layer = 0;  ///< its layer (Chebyshev), or the first of the n_terms layers it reaches (kernel)
  std::size_t first_run = 0, n_runs = 0;
  std::size_t n_visibilities = 0;
  idg::AtermKey aterms{};
};

struct Partition {
  std::vector<SubgridTask> tasks;   ///< by layer, then v, then u
  std::vector<VisibilityRun> runs;  ///< each task's together, tasks in any order; of others, too
  std::uint64_t n_visibilities = 0;
};

/// Limits to the joining of sub-tables.
struct JoinRules {
  /// Only sub-tables with fewer visibilities are joined. On a GPU, where a visibility costs far more than its
  /// share of a subgrid, they are small ones; the CPU gridder lets all be joined.
  std::uint32_t few = idg::kFewVisibilities;
  bool folds_apart = false;  ///< as folds_apart() says
  /// Whether tasks of one layer stand on the same cells where a subgrid holds them together, whatever their
  /// A-terms and w: their pixels can then be summed before they are transformed. Such tasks follow each
  /// other.
  bool share_cells = false;
};

/// Only the tasks that touch the layers. DataError when a visibility's u, v or w exceeds what the plan was
/// made for, or u, v are beyond all bounds. The same for any number of threads.
Partition partition(const IdgPlan& plan, const GridBlock& block, const LayerRange& layers, unsigned n_threads,
                    const JoinRules& rules = {});

/// Tasks from `first` on that stand on the same cells.
std::size_t n_on_same_cells(const Partition& partition, std::size_t first);

/// Whether an image plane would be another one if folded visibilities V^H were taken for visibilities, as XY
/// and YX would, but neither Stokes parameters nor XX and YY: those of A-terms then need subgrids of their
/// own.
bool folds_apart(const IdgSetup& setup);

/// The correlations of V^T.
constexpr std::size_t exchanged_correlations[4] = {0, 2, 1, 3};
/// The mix of correlations into image planes for folded visibilities, whose data are V^H.
std::array<std::complex<double>, 4> folded_mix(const std::array<std::complex<double>, 4>& mix);

/// Where uv cell k is in a grid of n cells, k mod n: at pixel centres exp(-2 pi i u l) does not change when u
/// grows by 1 / cell.
inline std::size_t grid_index(std::int64_t cell, std::size_t n) {
  const auto size = static_cast<std::int64_t>(n);
  return static_cast<std::size_t>((cell % size + size) % size);
}

/// std::invalid_argument when the block's arrays differ in shape or are not what the setup says.
void check_block(const GridBlock& block, const IdgSetup& setup);

}  // namespace apsyn
