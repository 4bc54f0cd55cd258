// SPDX-License-Identifier: GPL-3.0-or-later
// The host's side of loop_kernel.cuh: launches the kernel until a limit is reached and fetches the
// components. For host code with CUDA only.
#pragma once

#include <vector>

#include "kernels/clean/cpu/clark.h"
#include "kernels/clean/cuda/loop_kernel.cuh"
#include "kernels/clean/spectral_fitter.h"
#include "kernels/common/cuda/transfer.h"

namespace apsyn::clean_cuda {

/// PSFs of the planes in device memory; planes with the same view share one.
struct DevicePsfs {
  std::vector<DeviceArray<float>> memory;
  std::vector<const float*> plane;  ///< [plane]
  Upload<const float*> table;       ///< the same, on the device
  std::size_t ny = 0, nx = 0;

  bool same_as_before(std::size_t index) const { return index > 0 && plane[index] == plane[index - 1]; }
};

class DeviceComponentLoop {
 public:
  struct Pixels {
    SearchPlanes planes;
    const std::uint32_t* index = nullptr;  ///< null: the whole image
    const DevicePsfs& psfs;
  };
  struct Scale {
    std::size_t index = 0;
    double psf_peak = 1,
           bias = 1;  ///< psf_peak: response per unit of flux; bias: factor of the reported heights
  };

  /// At most 512 planes: DeviceError.
  DeviceComponentLoop(const PlaneSet& set, const SpectralFitter& fitter, int device_index,
                      cudaStream_t stream);
  /// run_component_loop(); components are appended.
  LoopStop run(const Pixels& pixels, const LoopLimits& limits, const CleanTask& task, const Scale& scale,
               std::vector<SetComponent>& components);

 private:
  LoopTask task_of(const Pixels& pixels, const LoopLimits& limits, double gain);
  std::size_t take(const LoopTask& loop, std::size_t n, const CleanTask& task, const Scale& scale,
                   std::vector<SetComponent>& components);

  std::size_t n_plane_, ny_, nx_;
  bool linear_;
  int device_index_;
  cudaStream_t stream_;
  DeviceArray<double> projection_;
  Upload<LoopState> state_;
  Upload<float> pending_flux_, peak_values_, found_flux_;
  Upload<FoundPeak> found_;
  Upload<PeakKey> block_peaks_;
  Upload<float> block_values_;
  std::vector<FoundPeak> host_found_;
  std::vector<float> host_flux_;
};

}  // namespace apsyn::clean_cuda
