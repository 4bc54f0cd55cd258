// SPDX-License-Identifier: GPL-3.0-or-later
// From the visibilities of one task to its subgrids, on the CPU:
//
//   visibilities -> nodes of their channels               channel_nodes.h
//   -> nodes of their baselines' tracks                  track_nodes.h
//   -> fine cells of each w node                         cpu/grid/spread.h
//   -> images, by two real matrix products               cpu/grid/folding.h, matrix_product.h
//   -> times taper and the node's w screen, summed
//   -> A-terms and the mix of correlations, if any       subgrid_aterms.h
//   -> summed over tasks on the same cells
//   -> uv cells, by two more products
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/idg/cpu/grid/folding.h"
#include "kernels/idg/cpu/grid/spread.h"
#include "kernels/idg/cpu/spread_tables.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/partition/partition.h"
#include "kernels/idg/tracks/channel_product.h"
#include "kernels/idg/tracks/track_nodes.h"

namespace apsyn {

/// One thread's memory.
template <class T>
class SubgridMaker {
 public:
  SubgridMaker(const SubgridTables<T>& tables, const IdgSetup& setup);
  /// Subgrids [plane][output][v][u] in rising uv cells about the centre of the tasks, which are several only
  /// where they stand on the same cells and there is one output; outputs outside the layers [first_layer,
  /// first_layer + n_layers) are left untouched.
  void make(const GridBlock& block, const Partition& partition, std::span<const SubgridTask> tasks,
            std::size_t first_layer, std::size_t n_layers, View<std::complex<T>, 4> subgrids);

 private:
  /// Planes that share the cells: 1, 2 or 4 of the data's, the PSF's last.
  struct PlaneGroup {
    std::size_t first = 0, n = 1;
    bool psf = false;  ///< whether its last is the PSF's
    std::size_t n_data() const { return n - (psf ? 1 : 0); }
    Buffer<T, 1> value{};  ///< [vis of the batch][plane][re, im]
    Buffer<T, 1> lines{};  ///< [node or row of a track][column][plane][re, im], rows of product_values()
    Buffer<T, 1> cells{};  ///< [term][v][u][plane][re, im]
    Buffer<T, 1> total{};  ///< FoldedShape: sum over the tasks so far
  };

  void spread_task(const GridBlock& block, const SubgridTask& task);
  template <class Flush>
  void add_rows(const GridBlock& block, const Track& track, double* path, Flush flush);
  template <class Flush>
  void add_band(const GridBlock& block, const Track& track, const Band& band, const T* shares, Flush flush);
  void fill_columns(const GridBlock& block, const PlaneGroup& group, const Track& track, const Band& band,
                    std::size_t first, std::size_t n, T* to);
  void append(const GridBlock& block, const PlaneGroup& group, std::size_t row, std::size_t chan,
              std::size_t n_chan, T* value) const;
  void undo_aterms(const GridBlock& block, const SubgridTask& task);
  void images_of_term(const PlaneGroup& group, std::size_t term);
  void screen_term(const SubgridTask& task, std::size_t term);
  /// Adds the first values of sum_ to those of earlier tasks; after the last one they are in sum_.
  void sum_tasks(PlaneGroup& group, std::size_t n_values, bool is_first, bool is_last);
  void finish(std::size_t first_plane, std::size_t n_planes, std::size_t output,
              View<std::complex<T>, 4> subgrids);

  const SubgridTables<T>& tables_;
  std::size_t n_data_planes_, n_image_planes_;
  AtermMode aterm_mode_;
  std::vector<std::complex<double>> mix_, folded_mix_;  ///< [image plane][correlation]
  std::vector<PlaneGroup> groups_;

  TrackNodes<T> tracks_;
  Buffer<T, 1> channel_values_;  ///< [row, channel_rows_at_once][chan][plane][re, im]
  Buffer<T, 1> row_values_;      ///< [row of a track][column][plane][re, im]
  TaskTables task_form_;
  SpreadTarget<T> target_;
  SpreadBatch<T> batch_{spread_batch};
  SpreadScratch<T> scratch_;
  std::vector<SpreadPlanes<T>> planes_;  ///< of the groups
  Buffer<T, 1> folded_;                  ///< [parity v][v][parity u][u][plane][re, im]
  Buffer<T, 1> half_image_;              ///< [parity y][y][parity u][u][plane][re, im]
  Buffer<T, 1> image_, sum_;             ///< FoldedShape; half-transformed, and uv cells, at the end
  Buffer<T, 2> screen_re_, screen_im_;
};

}  // namespace apsyn
