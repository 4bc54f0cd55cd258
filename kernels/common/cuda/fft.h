// SPDX-License-Identifier: GPL-3.0-or-later
// A cuFFT plan as a value. For host code with CUDA only.
#pragma once

#include <cufft.h>

#include <cstddef>
#include <utility>

#include "libcore/base/error.h"

namespace apsyn {

inline void cufft_check(cufftResult status, const char* what) {
  if (status != CUFFT_SUCCESS) throw DeviceError("cufft: {}: error {}", what, static_cast<int>(status));
}

template <class T>
constexpr cufftType fft_type() {
  return sizeof(T) == sizeof(float) ? CUFFT_C2C : CUFFT_Z2Z;
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

/// Complex transforms in place of [batch][length], unnormalised, exponent -1.
class CudaFft1d {
 public:
  CudaFft1d(int length, int batch) {
    cufft_check(cufftPlanMany(&plan_, 1, &length, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2C, batch),
                "planning");
  }
  CudaFft1d(const CudaFft1d&) = delete;
  CudaFft1d& operator=(const CudaFft1d&) = delete;
  ~CudaFft1d() { cufftDestroy(plan_); }
  void use(cudaStream_t stream) { cufft_check(cufftSetStream(plan_, stream), "choosing a stream"); }
  void execute(float2* data) const {
    cufft_check(cufftExecC2C(plan_, data, data, CUFFT_FORWARD), "transforming");
  }

 private:
  cufftHandle plan_ = 0;
};

}  // namespace apsyn
