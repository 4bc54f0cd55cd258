// SPDX-License-Identifier: GPL-3.0-or-later
// What the CUDA F stage's kernels share, and how they are launched. Definitions are those of channelise.h.
//
// A stream is what one complex transform takes: an input of complex samples, or two inputs of real samples,
// 2 i and 2 i + 1, as real and imaginary part, which the transform's symmetry separates again.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/channelise/placement.h"
#include "kernels/common/cuda/x_layout.cuh"

namespace apsyn::f_stage {

enum class SampleFormat { int8, packed_4bit, float32 };

/// Samples as they lie on the device: [time][chan][input], re before im; packed 4-bit samples, re in the high
/// nibble, count 16 times their value.
struct SampleWindow {
  const std::uint8_t* data;
  SampleFormat format;
  bool real;
  int n_chan, n_input;
  std::size_t time_bytes, chan_bytes;
};

struct Task {
  SampleWindow samples;
  const Placement* placement;  ///< [ant][spectrum], placement_stride apart
  int placement_stride;
  int n_spectra, n_pol;
  int length;  ///< L
  int n_fine;
  int n_taps;                  ///< 1 without a filterbank
  const float* taps;           ///< [tap][sample]; the plain transform's are all L^(-1/2)
  const double* mixed_hz;      ///< [chan] nu_0
  float fine_hz;               ///< step of nu from bin to bin, > 0
  bool turns;                  ///< whether any phase differs from 0
  bool descending;             ///< fine channels fall in frequency
  bool mirrored;               ///< a real band that runs downwards
  const std::uint8_t* usable;  ///< [chan][ant][spectrum] 0 = no weight in this channel; null = all
  const float* scale;          ///< [chan][input] s of requantise.h; null = 1
};

/// Of each channel and spectrum.
__host__ __device__ inline int stream_count(const Task& task) {
  return task.samples.real ? (task.samples.n_input + 1) / 2 : task.samples.n_input;
}

/// Integers in the X stage's layout. Rows of inputs beyond n_input are left alone, spectra behind the last in
/// its block of 64 are 0.
struct IntegerOutput {
  std::int8_t* data;
  x_layout::Layout layout;      ///< 8 bits
  unsigned long long* clipped;  ///< [chan][input] components out of range, added to
  std::int64_t first_number;    ///< of spectrum 0 since the stream's sample 0 (dither)
  bool dither;
};

/// Radices of the fused kernel's passes.
struct Passes {
  int radix[2];
};
__host__ __device__ constexpr Passes passes_of(int length) {
  switch (length) {
    case 16:
      return {{16, 1}};
    case 32:
      return {{8, 4}};
    case 64:
      return {{8, 8}};
    default:
      return {{16, 8}};  // 128
  }
}

/// Whether launch_fused does this length and these taps on the current device.
bool has_fused(bool real, int length, int n_taps, SampleFormat format);
/// The fused kernel: samples to integers in one pass. `factors` are those of fused_factors, on the device.
void launch_fused(const Task& task, const IntegerOutput& out, const void* factors, cudaStream_t stream);
/// `taps` [tap][sample].
std::vector<std::uint8_t> fused_factors(bool real, int length, std::span<const float> taps);

/// Whether the kernels of long spectra (cuda/long/batches.cuh) do this length and these taps on the current
/// device.
bool has_long(int length, int n_taps, SampleFormat format);

/// How spectra become integers on the current device. `fused` is on tensor cores for the lengths that
/// has_mma() (cuda/fused/launch.cuh) names.
enum class IntegerPath { fused, long_spectra, steps };
IntegerPath integer_path(bool real, int length, int n_taps, SampleFormat format);

/// Sums over the taps: folded[chan of the batch][spectrum][stream][sample] of first_chan ..+ n_chan and of
/// spectra first ..+ n.
struct Batch {
  int first_chan, n_chan, first_spectrum, n_spectra;
};
void launch_fold(const Task& task, const Batch& batch, float2* folded, cudaStream_t stream);
/// Turns transformed spectra, [chan of the batch][spectrum][stream][bin], and requantises them;
/// first_spectrum is a multiple of 64.
void launch_finish(const Task& task, const Batch& batch, const float2* transformed, const IntegerOutput& out,
                   cudaStream_t stream);
/// The same into float32 complex [chan * n_fine + fine][spectrum][input].
struct FloatOutput {
  float2* data;
  std::size_t channel_stride;  ///< from channel to channel
};
void launch_finish(const Task& task, const Batch& batch, const float2* transformed, const FloatOutput& out,
                   cudaStream_t stream);

}  // namespace apsyn::f_stage
