// SPDX-License-Identifier: GPL-3.0-or-later
// The gridder's layers in host memory: the adder, and the way into the images.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/idg/cpu/layers/layer_transform.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/partition/partition.h"

namespace apsyn {

/// Where a task's subgrids go.
struct SubgridPlace {
  std::size_t layer = 0;                 ///< that of output 0; output k goes to layer + k
  std::size_t start_v = 0, start_u = 0;  ///< grid cell of the subgrid's first
};
SubgridPlace place_of(const IdgPlan& plan, const SubgridTask& task);

template <class T>
class HostGrids {
 public:
  /// Allocates its memory in the first pass.
  HostGrids(const IdgPlan& plan, std::size_t n_planes, unsigned n_threads);
  /// Empty grids for these layers.
  void begin_pass(const LayerRange& layers);
  const LayerRange& layers() const { return layers_; }
  /// Adds subgrids [task][plane][output][v][u], in rising uv cells, in the order of the tasks: the same bits
  /// for any number of threads. Outputs outside the pass's layers are left out.
  void add(std::span<const SubgridPlace> places, View<const std::complex<T>, 5> subgrids);
  /// Transforms the pass's layers and adds them to the images.
  void end_pass();
  /// Gridder::take_images(), after which begin_pass() starts other images.
  Buffer<double, 3> take_images();
  /// Memory for the next images, whatever it holds.
  void recycle(Buffer<double, 3> images) { spare_images_ = std::move(images); }

 private:
  void list_bands(std::span<const SubgridPlace> places);
  void add_row(const std::complex<T>* cells, std::complex<T>* row, std::size_t start) const;

  IdgPlan plan_;
  std::size_t n_planes_;
  unsigned n_threads_;
  std::size_t n_u_, n_v_;  ///< cells that are held
  LayerRange layers_;
  LayerTransform transform_;
  /// [layer][plane][v][u], cell k at index k mod n_v_ or n_u_; rows that nothing has been added to hold
  /// anything.
  Buffer<std::complex<T>, 4> grids_;
  std::vector<std::vector<std::uint8_t>> row_used_;     ///< [layer and plane][v]
  Buffer<double, 3> images_, spare_images_;             ///< [plane][y][x]
  std::vector<std::vector<std::uint32_t>> band_tasks_;  ///< [band]
};

}  // namespace apsyn
