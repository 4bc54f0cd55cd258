// SPDX-License-Identifier: GPL-3.0-or-later
// From the uv grids of the layers to the visibilities of one task: the CPU gridder's steps transposed.
//
// The subgrid's cells are transformed to L x L coarse pixels, which take the A-terms, the taper and the w
// screens of the task's terms; these are transformed to fine cells around the visibilities. From the fine
// cells the visibilities are interpolated (spread_kernel.h), either directly or at the nodes of their tracks
// and channels (track_nodes.h). All transforms are short and dense: folded matrix products over all planes
// and terms at once.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/idg/cpu/spread_tables.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/partition/partition.h"
#include "kernels/idg/tracks/channel_product.h"
#include "kernels/idg/tracks/track_nodes.h"

namespace apsyn {

/// 1, 2 or 4: planes of cells are padded to these.
constexpr std::size_t padded_planes(std::size_t n_planes) {
  return n_planes == 3 ? 4 : n_planes;
}

/// The layers of a pass: [layer][v][u][plane], cell k at index k mod n; padded_planes() of the model's.
template <class T>
struct LayerGrids {
  View<const std::complex<T>, 4> grids;
  std::size_t first_layer = 0;
};

/// Memory of a SubgridPredictor.
std::uint64_t predictor_bytes(const IdgPlan& plan, const IdgSetup& setup);

/// One thread's memory.
template <class T>
class SubgridPredictor {
 public:
  SubgridPredictor(const SubgridTables<T>& tables, const IdgSetup& setup);
  /// data [row][chan][data plane] += the task's visibilities.
  template <class Out>
  void predict(const GridBlock& block, const Partition& partition, const SubgridTask& task,
               const LayerGrids<T>& layers, View<std::complex<Out>, 3> data);

 private:
  /// Channels of a row in the batch.
  struct Piece {
    std::size_t row, chan, n, first;
  };

  void load_pixels(const GridBlock& block, const SubgridTask& task, View<const std::complex<T>, 3> grid);
  void load_rows(const SubgridTask& task, View<const std::complex<T>, 3> grid);
  void expand(std::size_t term, double w_lambda);
  void make_fine_cells();
  void interpolate_batch();
  template <class Out>
  void add_rows(const GridBlock& block, const Track& track, View<std::complex<Out>, 3> data);
  template <class Out>
  void add_band(const GridBlock& block, const Track& track, const Band& band, const T* shares,
                View<std::complex<Out>, 3> data);
  void interpolate_lines(const GridBlock& block, const Track& track, const Band& band, std::size_t first,
                         std::size_t n);
  template <class Out>
  void add_columns(const GridBlock& block, const Track& track, const Band& band, std::size_t first,
                   std::size_t n, const T* columns, View<std::complex<Out>, 3> data);
  template <class Out>
  void flush_rows(const GridBlock& block, View<std::complex<Out>, 3> data);
  template <class Out>
  void add_piece(const GridBlock& block, const Piece& piece, const T* values,
                 View<std::complex<Out>, 3> data) const;

  const SubgridTables<T>& tables_;
  const IdgSetup& setup_;
  std::vector<std::array<std::complex<double>, 4>> folded_mix_;  ///< [image plane]
  std::size_t model_values_, values_;  ///< real values of a cell and of a pixel after the A-terms
  TrackNodes<T> tracks_;
  TaskTables task_form_;
  std::size_t cell_stride_ = 0;  ///< values of all terms of a fine cell, rounded up to 64 bytes
  SpreadTarget<T> target_;
  SpreadBatch<T> batch_{spread_chunk};
  Buffer<T, 1> value_;                  ///< [vis of the batch][plane][re, im]
  std::vector<Piece> pieces_;           ///< of the batch
  Buffer<T, 1> lines_, at_rows_;        ///< [node or row of a track][column][plane][re, im]
  Buffer<T, 1> at_channels_;            ///< [row, channel_rows_at_once][chan][plane][re, im]
  Buffer<T, 2> rows_;                   ///< two rows of cells and one of zeros
  Buffer<T, 2> even_, odd_;             ///< [k][other axis][model value]
  Buffer<T, 2> pixels_;                 ///< [x][y][model value]
  Buffer<T, 2> seen_;                   ///< [x][y][value], through the A-terms
  Buffer<T, 1> folded_;                 ///< [parity x][parity y][x][y][value]
  Buffer<T, 1> expanded_;               ///< [parity x][parity y][x][y][term][value]
  Buffer<T, 1> half_fine_;              ///< [parity y][y][fine u][term][value]
  Buffer<T, 1> fine_;                   ///< [fine v][fine u][term][value]
  Buffer<T, 2> screen_re_, screen_im_;  ///< [y][x]
};

}  // namespace apsyn
