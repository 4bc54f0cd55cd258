// SPDX-License-Identifier: GPL-3.0-or-later
// What the fused and the stepwise kernels of the CUDA F stage have in common.
#pragma once

#include "kernels/channelise/cuda/kernels.cuh"
#include "kernels/channelise/requantise.h"

namespace apsyn::f_stage {

using x_layout::kBlockSpectra;

/// How one input's spectrum is turned: turn(b) = phase + b step for signed grid index b.
struct Turn {
  float phase = 0, step = 0;
  bool used = false;
};

__device__ __forceinline__ Turn turn_of(const Task& task, int chan, int ant, int spectrum) {
  Turn turn;
  const Placement* at = task.placement + std::size_t(ant) * task.placement_stride + spectrum;
  const int4 word = __ldg(reinterpret_cast<const int4*>(at));
  const double delay_s = __hiloint2double(word.y, word.x);
  turn.used = word.w != kNoWeight;
  if (task.usable != nullptr && turn.used) {
    const int n_ant = task.samples.n_input / task.n_pol;
    turn.used = task.usable[(std::size_t(chan) * n_ant + ant) * task.n_spectra + spectrum] != 0;
  }
  const double turns = task.mixed_hz[chan] * delay_s;
  turn.phase = static_cast<float>(turns - rint(turns));
  turn.step = __int_as_float(word.z) * task.fine_hz;
  return turn;
}

/// exp(-2 pi i turn)
__device__ __forceinline__ float2 phasor(float turn) {
  float sine, cosine;
  sincospif(-2 * turn, &sine, &cosine);
  return make_float2(cosine, sine);
}

__device__ __forceinline__ int start_of(const Task& task, int ant, int spectrum) {
  return __ldg(&task.placement[std::size_t(ant) * task.placement_stride + spectrum].start);
}

/// Signed grid index of a bin, and the output channel (of n_fine) that it makes.
struct Grid {
  int n_fine;
  bool real, descending, mirrored;
  __device__ explicit Grid(const Task& task)
      : n_fine(task.n_fine), real(task.samples.real), descending(task.descending), mirrored(task.mirrored) {}
  __device__ int index(int bin) const {
    if (real) return mirrored ? -bin : bin;
    return bin <= (n_fine - 1) / 2 ? bin : bin - n_fine;
  }
  __device__ int fine(int bin) const {
    const int rising = real ? (mirrored ? n_fine - 1 - bin : bin) : index(bin) + n_fine / 2;
    return descending ? n_fine - 1 - rising : rising;
  }
  /// The bin of an output channel.
  __device__ int bin(int fine_channel) const {
    const int rising = descending ? n_fine - 1 - fine_channel : fine_channel;
    if (real) return mirrored ? n_fine - 1 - rising : rising;
    const int signed_index = rising - n_fine / 2;
    return signed_index < 0 ? signed_index + n_fine : signed_index;
  }
};

/// One component of one sample; `component` counts re, im of complex inputs, or real inputs.
__device__ __forceinline__ float load_component(const SampleWindow& window, int chan, int component,
                                                std::int64_t time) {
  const std::uint8_t* row = window.data + time * window.time_bytes + chan * window.chan_bytes;
  if (window.format == SampleFormat::float32) return __ldg(reinterpret_cast<const float*>(row) + component);
  if (window.format == SampleFormat::int8)
    return __ldg(reinterpret_cast<const signed char*>(row) + component);
  const int pair = __ldg(row + component / 2);
  return static_cast<signed char>(component % 2 == 0 ? pair & 0xF0 : pair << 4);
}

}  // namespace apsyn::f_stage
