// SPDX-License-Identifier: GPL-3.0-or-later
// A cuFFT plan as a value. For host code with CUDA only.
#pragma once

#include <cufft.h>

#include <cstddef>
#include <utility>

#include "libcore/core/error.h"

namespace apsyn {

inline void cufft_check(cufftResult status, const char* what) {
  if (status != CUFFT_SUCCESS) throw DeviceError("cufft: {}: error {}", what, static_cast<int>(status));
}

/// Complex transforms in place of [batch][shape 0][shape 1], unnormalised. direction: CUFFT_FORWARD is
/// exponent -1.
class CudaFft2d {
 public:
  CudaFft2d(int rows, int columns, int batch, cufftType type) {
    int shape[2] = {rows, columns};
    cufft_check(cufftPlanMany(&plan_, 2, shape, nullptr, 1, 0, nullptr, 1, 0, type, batch), "planning");
  }
  CudaFft2d(const CudaFft2d&) = delete;
  CudaFft2d& operator=(const CudaFft2d&) = delete;
  ~CudaFft2d() { cufftDestroy(plan_); }
  /// Transforms run in this stream from now on.
  void use(cudaStream_t stream) { cufft_check(cufftSetStream(plan_, stream), "choosing a stream"); }
  void execute(float2* data, int direction) const {
    cufft_check(cufftExecC2C(plan_, data, data, direction), "transforming");
  }
  void execute(double2* data, int direction) const {
    cufft_check(cufftExecZ2Z(plan_, data, data, direction), "transforming");
  }

 private:
  cufftHandle plan_ = 0;
};

}  // namespace apsyn
