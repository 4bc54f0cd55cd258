// SPDX-License-Identifier: GPL-3.0-or-later
// Copies in the order of a stream. For host code with CUDA only.
#pragma once

#include <cstddef>

#include "kernels/common/cuda/check.h"

namespace apsyn::clean_cuda {

/// Pageable host memory may be reused as soon as this returns.
template <class T>
void upload(T* to, const T* from, std::size_t n, cudaStream_t stream) {
  cuda_check(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyHostToDevice, stream),
             "copying to the device");
}
/// Waits.
template <class T>
void download(T* to, const T* from, std::size_t n, cudaStream_t stream) {
  if (n == 0) return;
  cuda_check(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDeviceToHost, stream),
             "copying from the device");
  cuda_check(cudaStreamSynchronize(stream), "waiting for the device");
}
template <class T>
void clear(T* at, std::size_t n, cudaStream_t stream) {
  cuda_check(cudaMemsetAsync(at, 0, n * sizeof(T), stream), "clearing device memory");
}

}  // namespace apsyn::clean_cuda
