// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"

namespace apsyn::epic_cuda {
namespace {

/// A thread goes through all channels of its value: what it reads has not been written by another.
__global__ void average(double* sums, std::size_t n, int n_image_channel, int n_average) {
  const std::size_t at = this_thread();
  if (at >= n) return;
  for (int image = 0; image < n_image_channel; ++image) {
    double sum = 0;
    for (int i = 0; i < n_average; ++i) sum += sums[(std::size_t(image) * n_average + i) * n + at];
    sums[std::size_t(image) * n + at] = sum;
  }
}

}  // namespace

void launch_average(double* sums, std::size_t n, int n_image_channel, int n_average, cudaStream_t stream) {
  if (n == 0) return;
  average<<<blocks_of(n), kThreads, 0, stream>>>(sums, n, n_image_channel, n_average);
  launched("averaging channels");
}

}  // namespace apsyn::epic_cuda
