// SPDX-License-Identifier: GPL-3.0-or-later
// The steps of the CUDA beamformer (beam_engine.h), each a launch over some channels of one batch of spectra:
// steer -> (pack) -> sums -> (detect) -> finish. Definitions are those of beamform.h.
//
// A batch is cut into sections, within which weights stay the same; their room is whole tiles of 32, or of
// beam_products::kTileSpectra. Between the steps a section of a channel counts as a channel of its own, "row"
// = channel of the launch * n_section + section, of `stride` spectra of which those behind the section's end
// are 0 or not looked at.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/beams/products.cuh"
#include "kernels/common/cuda/x_layout.cuh"
#include "kernels/common/host_device.h"
#include "kernels/common/spectra/spectrum_sections.h"

namespace apsyn::beam_stage {

/// What all steps know. Arrays are on the device.
struct Batch {
  Sections sections;
  int n_ant = 0, n_pol = 1, n_beam = 0, n_fine = 1;
  int first_channel = 0, n_channel = 0;  ///< of the launch, n_fine for each input channel
  const std::uint8_t* member = nullptr;  ///< [beam][ant]
  /// Runs of spectra with the same valid antennas, for each input channel or for all (n_valid_row = 1).
  int n_valid_row = 1, n_run = 1;
  const int* run = nullptr;             ///< [valid row][spectrum], where there are several
  const std::uint8_t* valid = nullptr;  ///< [valid row][run][ant]
  /// One over the sums of weights: [channel of the launch, or 1][run][beam][XX, YY, XY].
  float* norm = nullptr;
  bool norm_of_channels = false;

  APSYN_HOST_DEVICE int n_row() const { return n_channel * sections.count(); }
  APSYN_HOST_DEVICE int valid_row(int channel) const {
    return n_valid_row == 1 ? 0 : (first_channel + channel) / n_fine;
  }
  APSYN_HOST_DEVICE const float* norm_of(int channel, int run_index, int beam) const {
    return norm + ((std::size_t(norm_of_channels ? channel : 0) * n_run + run_index) * n_beam + beam) * 3;
  }
  /// Run of a spectrum of the batch.
  APSYN_HOST_DEVICE int run_of(int channel, int spectrum) const {
    return n_run == 1 ? 0 : run[std::size_t(valid_row(channel)) * sections.n_spectra + spectrum];
  }
};

/// Weights exp(-2 pi i nu tau) times `factor`, of members.
struct Steering {
  /// [section][beam][ant]; null = 0. With `slope_s` [beam][ant], of a time from which sections are `steps`
  /// and on away.
  const double *delay_s = nullptr, *slope_s = nullptr;
  double steps = 0;
  const double* channel_hz = nullptr;  ///< of all channels
  bool even = false;                   ///< they are evenly spaced
  const float2* factor = nullptr;      ///< [channel or input channel][input]
  bool factor_of_channels = false;     ///< one for each fine channel
  int shift = 0;                       ///< of the first of two limbs of integer weights
};
/// weights[row][pol][beam][ant].
void launch_steer(const Batch& batch, const Steering& steering, float2* weights, cudaStream_t stream);
/// Integer weights in the layout of kernels/common/cuda/beams/products.cuh; those of a single polarisation
/// are X's. `step` is what launch_steps() makes.
void launch_steer(const Batch& batch, const Steering& steering, const beam_products::WeightLayout& layout,
                  std::int8_t* weights, const float* step, cudaStream_t stream);
/// step[channel of the launch][pol][beam]: weights are step times the integers, wherever beams look.
void launch_steps(const Batch& batch, const Steering& steering, float* step, cudaStream_t stream);

struct Norms {
  const double* amplitude = nullptr;  ///< [channel or input channel][input] |u|; null = 1
  bool amplitude_of_channels = false;
  bool incoherent = false;  ///< sums of squares
  bool detected = true;     ///< without either polarisation there is nothing
};
/// Fills batch.norm.
void launch_norms(const Batch& batch, const Norms& norms, cudaStream_t stream);
/// scale[channel of the launch][pol][beam] = step times the norm of the only run.
void launch_normalise(const Batch& batch, const float* step, float* scale, cudaStream_t stream);

/// Untouched samples, [spectrum][channel][input], to rows of kernels/common/cuda/beams/products.cuh; without
/// weight they become 0.
struct Packing {
  const std::uint8_t* samples = nullptr;
  bool four_bit = false;  ///< a byte each, re in the high nibble; otherwise int8 re, im
  int n_channel = 0;      ///< of the samples
};
void launch_pack(const Batch& batch, const Packing& packing, const beam_products::RowLayout& layout,
                 std::int8_t* rows, cudaStream_t stream);

/// The same to float32, [channel of the launch][spectrum][input].
void launch_unpack(const Batch& batch, const Packing& packing, float2* spectra, cudaStream_t stream);

/// Requantised spectra of all channels, as an F stage leaves them, to the same rows.
void launch_repack(const Batch& batch, const std::int8_t* spectra, const x_layout::Layout& from,
                   const beam_products::RowLayout& layout, std::int8_t* rows, cudaStream_t stream);

/// Spectra [channel][spectrum][input], channels `channel_stride` values apart.
struct Spectra {
  const float2* data = nullptr;
  std::size_t channel_stride = 0;
  int first_channel = 0;  ///< of all
};
/// Sums over antennas in float32: voltages[row][beam][pol][stride].
void launch_sums(const Batch& batch, const Spectra& spectra, const float2* weights, float2* voltages,
                 cudaStream_t stream);

/// Detected products, sums over segments of 1, 8, 32 or 128 spectra of a row:
/// values[row][value][segment] of a beam, value = XX, YY, Re XY*, Im XY*; `counts` the spectra with weight.
struct Products {
  float* values = nullptr;
  float* counts = nullptr;  ///< [row][beam][segment]; null: all of a section, where the beam has a norm
  int segment = 1;
  int n_value = 1;  ///< XX, or XX and YY, or all four
  std::size_t row_stride = 0, beam_stride = 0, value_stride = 0;
};
/// Of voltages, normalised.
void launch_detect(const Batch& batch, const float2* voltages, const Products& products, cudaStream_t stream);
/// Weighted sums of the antennas' own products. The cross products only where n_value is 4.
void launch_incoherent(const Batch& batch, const Spectra& spectra, const float2* weights,
                       const Products& products, cudaStream_t stream);

/// Voltages, normalised, into out[beam][spectrum][channel of all][pol].
void launch_finish_voltages(const Batch& batch, const float2* voltages, int n_all_channel, float2* out,
                            cudaStream_t stream);

enum class Values { power, linear_iquv, circular_iquv, coherence };
/// Means over n_average channels and n_integrate spectra. An integration that the batch does not end goes on
/// in `open`, from what the batch before left in `opened`.
struct Integration {
  Values values = Values::power;
  int n_average = 1;
  std::int64_t n_integrate = 1;
  std::int64_t before = 0;  ///< spectra of the first integration that came before this batch
  int n_time = 0;           ///< integrations that end here
  const double* opened = nullptr;
  double* open = nullptr;  ///< both: [beam][out channel of all][value.., count]
  int n_all_out_channel = 0;
  float* out = nullptr;  ///< [beam][time][value][out channel of all]
};
void launch_finish(const Batch& batch, const Products& products, const Integration& integration,
                   cudaStream_t stream);

}  // namespace apsyn::beam_stage
