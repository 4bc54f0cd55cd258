// SPDX-License-Identifier: GPL-3.0-or-later
// A sample of cuda/samples.cuh, for kernels.
#pragma once

#include "kernels/epic/cuda/samples.cuh"

namespace apsyn::epic_cuda {

template <SampleFormat kFormat>
struct SampleType {
  using Value = int2;
};
template <>
struct SampleType<SampleFormat::float32> {
  using Value = float2;
};

template <SampleFormat kFormat>
__device__ __forceinline__ typename SampleType<kFormat>::Value sample(const Samples& samples, int channel,
                                                                      int spectrum, int ant, int pol) {
  if (samples.valid != nullptr && samples.valid[std::size_t(spectrum) * samples.n_ant + ant] == 0) return {};
  const std::size_t at = channel * samples.channel_stride + spectrum * samples.spectrum_stride +
                         std::size_t(ant) * samples.n_pol + pol;
  if constexpr (kFormat == SampleFormat::float32) {
    return static_cast<const float2*>(samples.data)[at];
  } else if constexpr (kFormat == SampleFormat::int8) {
    const char2 value = static_cast<const char2*>(samples.data)[at];
    return {static_cast<signed char>(value.x), static_cast<signed char>(value.y)};
  } else {
    const int value = static_cast<const signed char*>(samples.data)[at];
    return {value >> 4, static_cast<signed char>(value << 4) >> 4};
  }
}

/// Calls launch(format) with the format as a constant.
template <class Launch>
void with_format(SampleFormat format, Launch launch) {
  switch (format) {
    case SampleFormat::int4:
      return launch(std::integral_constant<SampleFormat, SampleFormat::int4>());
    case SampleFormat::int8:
      return launch(std::integral_constant<SampleFormat, SampleFormat::int8>());
    case SampleFormat::float32:
      return launch(std::integral_constant<SampleFormat, SampleFormat::float32>());
  }
}

}  // namespace apsyn::epic_cuda
