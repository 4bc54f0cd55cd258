// SPDX-License-Identifier: GPL-3.0-or-later
// Complex numbers and phases of CUDA kernels that are float or double throughout.
#pragma once

#include <cuda_runtime.h>

namespace apsyn::idg_cuda {

template <class T>
struct Complex;
template <>
struct Complex<float> {
  using Type = float2;
};
template <>
struct Complex<double> {
  using Type = double2;
};
template <class T>
using ComplexOf = typename Complex<T>::Type;

#ifdef __CUDACC__
/// Turns are reduced in float64, so that single precision loses nothing to large arguments.
__device__ __forceinline__ void sincos_turns(double turns, float& sine, float& cosine) {
  sincospif(static_cast<float>(2 * (turns - rint(turns))), &sine, &cosine);
}
__device__ __forceinline__ void sincos_turns(double turns, double& sine, double& cosine) {
  sincospi(2 * (turns - rint(turns)), &sine, &cosine);
}
#endif

}  // namespace apsyn::idg_cuda
