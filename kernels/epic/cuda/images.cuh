// SPDX-License-Identifier: GPL-3.0-or-later
// Images on their way from sums on the device to the host, while the next accumulation is made.
#pragma once

#include <vector>

#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/cuda/plane_tasks.cuh"
#include "kernels/epic/cuda/sky.cuh"
#include "kernels/epic/weights.h"

namespace apsyn::epic_cuda {

/// Planes [image channel][plane][y][x] of two accumulations at a time.
class PlaneCopy {
 public:
  /// Where to make n floats on the stream, once those before the last have left.
  float* planes(std::size_t n, cudaStream_t stream);
  /// send() then hands out regions of the planes, lists of pixels, in their place.
  void measure(const std::vector<std::vector<std::uint32_t>>& regions);
  /// Resizes `images` and queues the copy of what the stream makes. They are complete after settle() and must
  /// exist until then.
  void send(const EpicPlan& plan, const EpicWeights& weights, EpicImages& images, cudaStream_t stream);
  /// The older ones of those under way.
  void settle();
  /// 1 / W of each image channel, NaN where there is none.
  const double* scales(const EpicPlan& plan, const EpicWeights& weights, cudaStream_t stream);

 private:
  struct Batch {
    Upload<float> planes;
    std::unique_ptr<float[], FreePinned> host;
    std::size_t host_size = 0;
    EpicImages* images = nullptr;  // under way
    Upload<double> regions;        // [image channel][plane][region][n, mean, largest]
    std::unique_ptr<double[], FreePinned> host_regions;
    std::size_t host_regions_size = 0;
    Event made, sent;
  };

  void send_regions(Batch& way, RegionTask task, EpicImages& images, cudaStream_t stream);
  static void place_planes(const EpicPlan& plan, EpicImages& images);

  Batch batches_[2];
  int next_ = 0;
  Upload<double> scales_;
  bool measures_ = false;
  std::size_t n_region_ = 0;
  Upload<std::uint32_t> region_pixels_, region_ends_;
  unsigned n_threads_ = 1;
  CopyStream stream_;
};

/// Autocorrelations of powers [channel][ant][XX, YY, Re XY, Im XY] without g, as A of epic.h.
class DeviceAutos {
 public:
  explicit DeviceAutos(const EpicPlan& plan);
  /// [image channel][XX, YY, Re XY, Im XY]
  const double* of(const double* powers, cudaStream_t stream);
  /// [channel][kind of aperture][value]
  const double* of_kinds(const double* powers, const DeviceApertures& apertures, cudaStream_t stream);

 private:
  const double* sum(AutosTask task, const double* powers, cudaStream_t stream);

  int n_channel_, n_average_, n_ant_;
  Upload<double> gains_;  // [channel][ant][|g_x|^2, |g_y|^2, Re g_x g_y*, Im]
  Upload<double> autos_;
};

/// What turns sums of pixels into planes (sums + sign A) / W, A of the powers; those may be null. Without the
/// sums, which another kernel may have at hand; not for plans with apertures.
PlaneTask plane_task(const EpicPlan& plan, const EpicWeights& weights, const DeviceSky& sky,
                     DeviceAutos& autos, const double* powers, double sign, PlaneCopy& copy,
                     cudaStream_t stream);
/// The same from the sky's sums, which `averaged` tells to be those of images already, and away.
void finish_planes(const EpicPlan& plan, const EpicWeights& weights, DeviceSky& sky, DeviceAutos& autos,
                   const double* powers, double sign, PlaneCopy& copy, EpicImages& images,
                   cudaStream_t stream, bool averaged = false);

}  // namespace apsyn::epic_cuda
