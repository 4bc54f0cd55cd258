// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "kernels/channelise/channelise_fused_launch.cuh"

namespace apsyn::f_stage {

bool has_fused(int length, int n_taps, SampleFormat format) {
  const bool power_of_two = (length & (length - 1)) == 0;
  return power_of_two && length >= 16 && length <= 2048 && (n_taps == 1 || n_taps == 4) &&
         format != SampleFormat::float32;
}

std::size_t fused_twiddle_count(int length) {
  const Passes passes = passes_of(length);
  const auto [a, b, c] = passes.radix;
  return static_cast<std::size_t>(a * (b - 1) + a * b * (c - 1));
}

void fused_twiddles(int length, float2* twiddles) {
  const Passes passes = passes_of(length);
  int before = passes.radix[0];
  for (int pass = 1; pass < 3; ++pass) {
    const int radix = passes.radix[pass];
    for (int r = 1; r < radix; ++r)
      for (int k = 0; k < before; ++k) {
        const double turn = -2 * 3.14159265358979323846 * k * r / (before * radix);
        *twiddles++ = make_float2(static_cast<float>(std::cos(turn)), static_cast<float>(std::sin(turn)));
      }
    before *= radix;
  }
}

void launch_fused(const Task& task, const IntegerOutput& out, const float2* twiddles, cudaStream_t stream) {
  const FusedLaunch launch{task, out, twiddles, stream};
  if (task.samples.real) return task.n_taps == 4 ? launch_fused_real_4(launch) : launch_fused_real_1(launch);
  return task.n_taps == 4 ? launch_fused_complex_4(launch) : launch_fused_complex_1(launch);
}

}  // namespace apsyn::f_stage
