// SPDX-License-Identifier: GPL-3.0-or-later
// Lists of pairs in batches (corr/cuda/grid.cuh), for some channels and one geometry. For host code with CUDA
// only.
#pragma once

#include <optional>

#include "kernels/common/cuda/sort.cuh"
#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/corr/cuda/grid.cuh"

namespace apsyn::epic_cuda {

/// Where pairs go, what they weigh, and in how many lists all before them are; and what sorts those lists.
class PlacedPairs {
 public:
  /// Places the pairs of the channels of `place`, whose arrays are set here. Returns the entries of all
  /// lists.
  std::uint32_t place(PlaceTask place, cudaStream_t stream);
  const PairPlace* places() const { return places_.data(); }
  const std::uint32_t* orders() const { return orders_.data(); }
  const std::uint32_t* ends() const { return ends_.data(); }
  DeviceSort& sort() { return *sort_; }

 private:
  std::optional<DeviceSort> sort_;
  Upload<PairPlace> places_;
  Upload<std::uint32_t> orders_, ends_;
};

class PairTables {
 public:
  /// What an image takes on the device, for the mean array.
  static std::size_t image_bytes(const CellShape& shape);
  /// Makes the tables for the channels of `place`, those of whole images, whose arrays are set here;
  /// n_together images will be gathered at a time.
  void make(PlaceTask place, const float* taps, int n_power, int n_together, cudaStream_t stream);
  /// The task for some of these images, complete except for values and cells.
  GatherTask task(int first_image, int n_image) const;

 private:
  void make_batches(ListTask list, cudaStream_t stream);
  void make_segments(int n_image, cudaStream_t stream);

  CellShape shape_;
  int n_together_ = 1;
  PlacedPairs placed_;
  Upload<std::uint32_t> begins_, batch_ends_, batches_;
  Upload<std::uint64_t> segments_;
};

}  // namespace apsyn::epic_cuda
