// SPDX-License-Identifier: GPL-3.0-or-later
// Constants of a plan for the CPU's subgrids, shared by all threads.
//
// A task's visibilities go onto fine cells (spread_kernel.h), once for each of a few w: the nodes between
// which their w phases are interpolated, relative to the middle of the task's own w, or the layers of the w
// kernel. The wider of two spread kernels needs fewer cells: which is cheaper depends on the task.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "kernels/idg/cpu/grid/folding.h"
#include "kernels/idg/cpu/grid/spread.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/partition/partition.h"

namespace apsyn {

/// One spread kernel.
template <class T>
struct SpreadTables {
  SpreadTaps<T> taps;
  double oversampling = 0;
  Buffer<T, 3> fine;    ///< [parity][cell][pixel] cos, sin of 2 pi (cell + 1/2) (pixel + 1/2) / fine period
  Buffer<T, 2> factor;  ///< [y][x] taper over the kernel's transforms, positive quadrant

  /// Number of cells on either side of the middle that visibilities within `reach` uv cells of it touch.
  std::size_t half_cells(double reach) const;
};

/// Nodes t in [-1, 1], with the polynomials that are 1 at one node and 0 at the others.
template <class T>
struct WNodes {
  std::vector<double> node;
  TermPolynomials<T> terms;
};

/// The tables and sizes used for one task.
struct TaskTables {
  std::size_t tables = 0, n_terms = 1;
  std::size_t half_u = 0, half_v = 0;  ///< fine cells
};

template <class T>
class SubgridTables {
 public:
  /// The spread kernel's RMS error over the image, including what leaks back from its padding, is
  /// `kernel_share` of the wanted accuracy. Averaging reduces it more in images than in predicted
  /// visibilities.
  SubgridTables(const IdgPlan& plan, double kernel_share);

  /// The cheapest tables for a task that spreads n_places points onto cells, all within reach_u and reach_v
  /// (uv cells) of its middle.
  TaskTables choose(const SubgridTask& task, std::size_t n_places, std::size_t n_planes, double reach_u,
                    double reach_v) const;
  const SpreadTables<T>& tables(std::size_t index) const { return tables_[index]; }
  /// Chebyshev: the nodes of n terms; kernel: n_terms layers, whatever n.
  const WNodes<T>& nodes(std::size_t n_terms) const { return nodes_[kernel_ ? 0 : n_terms - 1]; }
  FoldedShape shape(std::size_t n_planes) const;
  /// Where a task's visibilities lie among its fine cells, and their terms and phases.
  SpreadTarget<T> aim(const SubgridTask& task, const TaskTables& task_tables) const;

  bool kernel() const { return kernel_; }
  /// Subgrids per task and plane: 1 (Chebyshev) or the layers of the w kernel.
  std::size_t n_outputs() const { return kernel_ ? plan_.n_terms : 1; }
  const IdgPlan& plan() const { return plan_; }
  double n_middle() const { return n_middle_; }
  const Buffer<double, 2>& n_offset() const { return n_offset_; }  ///< [y][x] n - n_middle
  /// [parity][pixel][cell] 2 / L times cos, sin of 2 pi cell (pixel + 1/2) / L; cells of shape().
  const Buffer<T, 3>& coarse() const { return coarse_; }

 private:
  void make_tables(double error);
  void make_chebyshev(double error);
  void make_kernel();
  std::size_t terms_for(double half_w_lambda) const;

  IdgPlan plan_;
  bool kernel_;
  double n_middle_ = 1, n_half_range_ = 0;
  std::vector<SpreadTables<T>> tables_;
  std::vector<WNodes<T>> nodes_;
  std::vector<double> max_phase_;  ///< [n - 1] largest 2 pi half_w n_half_range that n nodes serve
  Buffer<double, 2> n_offset_;
  Buffer<T, 3> coarse_;
};

/// Fills the batch with the coordinates of channels at (u, v, w) metres, folded. take(done, n) adds the other
/// values of the next n channels at batch.n, and flush() empties a full batch.
template <class T, class Take, class Flush>
void for_channels(const std::array<double, 3>& uvw_m, const double* wavenumber, std::size_t n_channels,
                  SpreadBatch<T>& batch, Take take, Flush flush) {
  for (std::size_t done = 0; done < n_channels;) {
    const std::size_t n = std::min<std::size_t>(n_channels - done, batch.most() - batch.n);
    const double* k = wavenumber + done;
    for (std::size_t c = 0; c < n; ++c) {
      batch.u.data()[batch.n + c] = uvw_m[0] * k[c];
      batch.v.data()[batch.n + c] = uvw_m[1] * k[c];
      batch.w.data()[batch.n + c] = uvw_m[2] * k[c];
    }
    take(done, n);
    batch.n += n;
    done += n;
    if (batch.n == batch.most()) flush();
  }
}

/// Upper limit on the number of Chebyshev terms of a task. Larger w phases are left to the layers.
std::size_t max_task_terms(const IdgPlan& plan);
/// How many subgrids of all planes are computed before they are added to the grids.
std::size_t subgrids_per_chunk(const IdgPlan& plan, std::size_t n_planes);
std::uint64_t subgrid_bytes(const IdgPlan& plan, const IdgSetup& setup);

}  // namespace apsyn
