// SPDX-License-Identifier: GPL-3.0-or-later
// Images of pairs by strips (strips/strips.cuh): tables, memory and launches. For host code with CUDA only.
#pragma once

#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/corr/cuda/strips/depth.cuh"
#include "kernels/epic/corr/cuda/strips/plan.cuh"
#include "kernels/epic/corr/cuda/tables.cuh"

namespace apsyn::epic_cuda {

class StripImager {
 public:
  /// n_term: of kernels that hold w; 0: there are orders.
  StripImager(const StripPlan& plan, const CellShape& cells, int n_term);
  /// What the pairs of an image take on the device, for the mean array, and what its columns take.
  std::size_t table_bytes() const;
  std::size_t column_bytes() const;
  /// Lists the pairs of the channels of `place`, those of whole images, whose arrays are set here.
  void make_tables(PlaceTask place, const float* taps, int n_power, cudaStream_t stream);
  /// The same by kernels that hold w; the task's arrays of what it makes are set here.
  void make_tables(DepthPairTask task, cudaStream_t stream);
  /// Transforms n_image images of those with tables, from first_image on, of values [image][pair on a
  /// grid][4], along their columns.
  void columns(const float2* values, int first_image, int n_image, cudaStream_t stream);
  /// Factors of orders at the sites of a lattice, after which rows() adds them up.
  void weigh_sites(SiteFactorTask task, cudaStream_t stream);
  /// Then their rows, adding up orders, or to images [image][order][product][n_y][n_x], in which even orders
  /// add up to order 0 and odd ones to order 1 where sites are weighed.
  void rows(int n_image, const OrderTarget& target, cudaStream_t stream);
  void rows(int n_image, float* images, cudaStream_t stream);

 private:
  StripRowTask row_task(int n_image) const;
  DepthRowTask depth_row_task(int n_image) const;

  CellShape cells_;
  StripShape shape_;
  int first_bin_y_ = 0, nx_ = 0, ny_ = 0;
  PlacedPairs placed_;
  int n_term_ = 0;  // of kernels that hold w; 0: orders
  Upload<PairPlace> places_;
  Upload<float2> taps_;
  Upload<float> peaks_, of_column_, of_row_;
  Upload<std::uint32_t> counts_, next_;
  Upload<std::uint32_t> begins_;
  Upload<StripEntry> entries_;
  Upload<float> entry_taps_;
  Upload<float2> turns_, factors_, columns_;
  Upload<std::uint16_t> row_of_place_, first_of_bin_;
  Upload<uint2> pixels_;
};

}  // namespace apsyn::epic_cuda
