// SPDX-License-Identifier: GPL-3.0-or-later
// Sums on a device -> images there: what FftFinish does on the host. For host code with CUDA only.
#pragma once

#include <optional>
#include <vector>

#include "kernels/common/cuda/fft.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/fft/cuda/images.cuh"
#include "kernels/epic/fft/setup.h"

namespace apsyn::epic_fft {

class Finisher {
 public:
  Finisher(const EpicPlan& plan, const FftGridded& gridded);
  /// After FftFinish::aim().
  void aim(const FftFinish& finish);
  /// sums as FftEngine::collect() makes them, powers [channel][ant][4] without g (null = autocorrelations
  /// stay), scales [image] -> planes [image][plane][y][x], all on the device.
  void run(const double* sums, const double* powers, const double* scales, float* planes,
           cudaStream_t stream);

 private:
  void upload_autos(const EpicPlan& plan, const FftGridded& gridded);
  void upload_geometry(const FftGridded& gridded);
  void finish(ImageTask& task, cudaStream_t stream);

  std::size_t n_image_, at_once_ = 1, nx_;
  LagTask lag_task_;
  ImageTask image_task_;
  bool resampled_;
  Upload<double> gains_, correction_x_, correction_y_, taps_;
  Upload<double2> own_, lags_, coarse_, fine_;
  Upload<std::uint32_t> bins_x_, bins_y_;
  Upload<ImagePixel> pixels_;
  std::optional<CudaFft2d> to_lags_, to_fine_;
};

}  // namespace apsyn::epic_fft
