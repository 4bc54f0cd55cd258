// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <cstring>

#include "kernels/channelise/cuda/fused/launch.cuh"
#include "kernels/channelise/cuda/mma/shape.cuh"
#include "kernels/channelise/mma_factors.h"
#include "kernels/common/cuda/attribute.h"

namespace apsyn::f_stage {

bool has_fused(bool real, int length, int n_taps, SampleFormat format) {
  const bool power_of_two = (length & (length - 1)) == 0;
  return power_of_two && length >= 16 && (length <= 128 || has_mma(real, length)) &&
         (n_taps == 1 || n_taps == 4) && format != SampleFormat::float32;
}

namespace {

int current_device(cudaDeviceAttr attribute) {
  int device = 0;
  cuda_check(cudaGetDevice(&device), "asking for the device");
  return device_attribute(attribute, device);
}

}  // namespace

int shared_bytes_of_block() {
  return current_device(cudaDevAttrMaxSharedMemoryPerBlockOptin);
}
int n_multiprocessors() {
  return current_device(cudaDevAttrMultiProcessorCount);
}

bool has_mma(bool real, int length) {
  const int behind = length / (real ? 16 : 8);
  // of 16, shared memory is the same for all kinds of samples
  return behind == 8 || (behind == 16 && shared_bytes_of_block() >= MmaShape<128, 4, false, 2>::kSharedBytes);
}

namespace {

/// Factors of the second pass, [r - 1][k], exp(-2 pi i k r / (before radix)).
std::vector<float2> pass_factors(int length) {
  const Passes passes = passes_of(length);
  const int before = passes.radix[0], radix = passes.radix[1];
  std::vector<float2> factors;
  for (int r = 1; r < radix; ++r)
    for (int k = 0; k < before; ++k) {
      const double turn = -2 * 3.14159265358979323846 * k * r / (before * radix);
      factors.push_back(make_float2(static_cast<float>(std::cos(turn)), static_cast<float>(std::sin(turn))));
    }
  return factors;
}

}  // namespace

std::vector<std::uint8_t> fused_factors(bool real, int length, std::span<const float> taps) {
  if (has_mma(real, length)) return mma_factors(real, length, taps);
  const std::vector<float2> factors = pass_factors(length);
  std::vector<std::uint8_t> bytes(factors.size() * sizeof(float2));
  if (!bytes.empty()) std::memcpy(bytes.data(), factors.data(), bytes.size());
  return bytes;
}

void launch_fused(const Task& task, const IntegerOutput& out, const void* factors, cudaStream_t stream) {
  const FusedLaunch launch{task, out, factors, stream};
  if (task.samples.real) return task.n_taps == 4 ? launch_fused_real_4(launch) : launch_fused_real_1(launch);
  return task.n_taps == 4 ? launch_fused_complex_4(launch) : launch_fused_complex_1(launch);
}

}  // namespace apsyn::f_stage
