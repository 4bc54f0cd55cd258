// SPDX-License-Identifier: GPL-3.0-or-later
// The arithmetic of `corr` on the device: on a grid (corr/cuda/grid.cuh), or quadratic forms in float32 on
// any device (tile_product.cuh), or on tensor cores in int8 (corr/cuda/int8.cuh) or halves
// (corr/cuda/half.cuh).
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>

#include "kernels/epic/corr/cuda/columns.cuh"
#include "kernels/epic/cuda/plane_tasks.cuh"
#include "kernels/epic/cuda/sky.cuh"

namespace apsyn::epic_cuda {

/// The sums of n_channel channels from first_channel on.
using PairsOf = std::function<PairTask(int first_channel, int n_channel)>;

class DevicePairEngine {
 public:
  virtual ~DevicePairEngine() = default;
  /// Whether the engine can be used for another geometry without new plans.
  virtual bool serves(const EpicGeometry&) { return false; }
  /// The sky has moved to another geometry; in the order of the stream that images are made on.
  virtual void move(const EpicGeometry&, cudaStream_t) {}
  /// sums of the sky += those of pairs a < b and b > a, of all channels.
  virtual void image(const PairsOf& pairs, cudaStream_t stream) = 0;
  /// Whether sums are those of images of EpicPlan::n_average channels already.
  virtual bool adds_channels() const { return false; }
  /// Whether the sum of XX is that of EpicPlan::total where the plan has one.
  virtual bool makes_total() const { return false; }
  /// Whether image_planes() can be called for this geometry: no sums are needed then.
  virtual bool makes_planes() const { return false; }
  /// The pixels of `planes` at once; those without sky are left as they are. std::logic_error without
  /// makes_planes().
  virtual void image_planes(const PairsOf&, const PlaneTask& /*planes*/, cudaStream_t) {
    throw std::logic_error("DevicePairEngine: images by way of sums only");
  }
};

/// `plan` and `sky` must outlive the engine.
std::unique_ptr<DevicePairEngine> make_float_pair_engine(const EpicPlan& plan, DeviceSky& sky);
/// On a grid (corr/cuda/grid.cuh), not for lists of directions. Tables that depend only on geometry stay on
/// the device if table_bytes (0 = a quarter of the free memory) suffice for all channels; otherwise they are
/// recomputed.
std::unique_ptr<DevicePairEngine> make_grid_pair_engine(const EpicPlan& plan, DeviceSky& sky,
                                                        int device_index, std::size_t table_bytes);
/// For two polarisations.
std::unique_ptr<DevicePairEngine> make_int8_pair_engine(const EpicPlan& plan, DeviceSky& sky,
                                                        int device_index);
/// In halves (corr/cuda/half.cuh): 3e-4 of the RMS image, or exact.
std::unique_ptr<DevicePairEngine> make_half_pair_engine(const EpicPlan& plan, DeviceSky& sky, bool exact,
                                                        int device_index);
/// Two polarisations, antennas that fit, a device that can.
bool serves_half_pairs(const EpicPlan& plan, int device_index);

}  // namespace apsyn::epic_cuda
