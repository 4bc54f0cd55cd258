// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/correlate/cuda/pair_sums_device.cuh"

namespace apsyn::x_stage {
namespace {

__global__ void add_sums(double2* sums, const double* values, std::size_t n) {
  const std::size_t at = this_thread();
  if (at >= n) return;
  sums[at].x += values[2 * at];
  sums[at].y += values[2 * at + 1];
}

}  // namespace

void launch_add_sums(double2* sums, const double* values, std::size_t n, cudaStream_t stream) {
  if (n == 0) return;
  add_sums<<<blocks_of(n), kThreads, 0, stream>>>(sums, values, n);
  launched("adding sums of pairs");
}

}  // namespace apsyn::x_stage
