// SPDX-License-Identifier: GPL-3.0-or-later
// Samples of a batch of spectra on the device, as all CUDA imagers take them, and what is made of them there.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::epic_cuda {

/// int4: a byte, re in the high nibble; int8: re, im; float32: re, im.
enum class SampleFormat { int4, int8, float32 };

/// [spectrum][channel][input] or [channel][spectrum][input], input = ant * n_pol + pol.
struct Samples {
  const void* data = nullptr;
  SampleFormat format = SampleFormat::int8;
  std::size_t channel_stride = 0, spectrum_stride = 0;  ///< in samples
  /// [spectrum][ant] 0 = the sample counts as 0; null: all samples count.
  const std::uint8_t* valid = nullptr;
  int first_channel = 0;  ///< of the plan's
  int n_channel = 0, n_spectra = 0, n_ant = 0, n_pol = 1;
};

inline std::size_t sample_bytes(SampleFormat format) {
  return format == SampleFormat::float32 ? sizeof(float2) : format == SampleFormat::int8 ? sizeof(char2) : 1;
}
/// Spectra from `first` on.
inline Samples some_spectra(const Samples& samples, int first, int n_spectra) {
  Samples some = samples;
  some.data = static_cast<const std::uint8_t*>(samples.data) +
              first * samples.spectrum_stride * sample_bytes(samples.format);
  if (samples.valid != nullptr) some.valid = samples.valid + std::size_t(first) * samples.n_ant;
  some.n_spectra = n_spectra;
  return some;
}
/// Channels of the plan from first_channel on.
inline Samples some_channels(const Samples& samples, int first_channel, int n_channel) {
  Samples some = samples;
  some.data = static_cast<const std::uint8_t*>(samples.data) +
              (first_channel - samples.first_channel) * samples.channel_stride * sample_bytes(samples.format);
  some.first_channel = first_channel;
  some.n_channel = n_channel;
  return some;
}

/// Columns that tile_product.cuh multiplies: g E of whole tiles of kTileColumns / n_pol spectra, [channel]
/// [tile][ant, padded][re | im][2 t + pol or t]; what fills up is 0. factor [channel][input], null = 1.
void launch_columns(const Samples& samples, const float2* factor, int n_ant_padded, float* columns,
                    cudaStream_t stream);

/// powers [channel][ant][XX, YY, Re XY, Im XY] += sums over spectra of an antenna's own products, without g.
/// From the first channel of the plan on.
void launch_powers(const Samples& samples, double* powers, cudaStream_t stream);

/// Codes of SpectraBlock, [channel][panel][pair][input 16][re, im, re, im] with n_pair pairs held ->
/// [spectrum][channel][input].
struct PanelTask {
  const void* panels = nullptr;
  int n_channel = 0, n_spectra = 0, n_input = 0;
  int n_held = 0;  ///< pairs of spectra, or spectra, that a panel has room for
};
void launch_from_codes(const PanelTask& task, char2* samples, cudaStream_t stream);
/// Planes [channel][panel][spectrum][re 16 | im 16] -> [channel][spectrum][input].
void launch_from_planes(const PanelTask& task, float2* samples, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
