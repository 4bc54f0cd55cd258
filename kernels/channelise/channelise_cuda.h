// SPDX-License-Identifier: GPL-3.0-or-later
// The F stage with CUDA. Definitions are those of channelise.h, and of requantise.h for integers.
//
// Samples of up to 8 bits into integers by power-of-two transforms: 16 to 128 samples (real ones also 256, on
// tensor cores) with 4 taps or none take one fused kernel (cuda/fused/fused.cuh, cuda/mma/mma.cuh), 256 to
// 16384 samples with up to 16 taps two passes (cuda/long/long.cuh). All else takes three steps with cuFFT
// between them (cuda/steps.cu): any length, up to 64 taps, floating samples, floating spectra.
//
// Delays are evaluated on the host and uploaded with each batch of spectra (spectrum_placement.h: linear
// within 64 spectra where that changes the phase by less than 1e-9 turns). Errors against float64: spectra
// 3e-7 of their RMS; an integer differs from the rounded float64 value only where that lies within about
// 1e-5 of a tie.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/channelise/channelise.h"
#include "kernels/channelise/requantise.h"

namespace apsyn {

class DeviceSpectrumSource;

struct CudaChannelisePlan {
  ChannelisePlan f;
  Requantisation requantisation;  ///< n_bit 8, or 0 for floating spectra and for untouched samples
  std::int64_t n_spectra = 1;     ///< of an integration
  bool integer = true;            ///< samples of up to 8 bits
  bool four_bit = false;          ///< of 4 bits, complex: they travel packed
  std::size_t gulp_samples = 1;   ///< that travel to the device together

  /// Whether spectra are the samples: one channel, complex integers and nothing to align.
  bool untouched(bool aligned) const { return integer && !f.real_input && f.n_sample == 1 && !aligned; }
};

/// Gulps of about `bytes`, or of what a stream of so many samples (-1: endless) fills, and large enough for
/// whole launches.
std::size_t cuda_gulp_samples(const CudaChannelisePlan& plan, std::uint64_t bytes,
                              std::int64_t n_samples = -1);
/// The most spectra that are made at once.
std::size_t cuda_max_spectra(const CudaChannelisePlan& plan);
std::uint64_t cuda_channeliser_host_bytes(const CudaChannelisePlan& plan);
/// For delays that reach no further than a spectrum.
std::uint64_t cuda_channeliser_device_bytes(const CudaChannelisePlan& plan);

/// `delays` may be null; it must outlive the source. DeviceError in a build without CUDA or without the
/// device.
std::shared_ptr<DeviceSpectrumSource> make_cuda_channeliser(const CudaChannelisePlan& plan,
                                                            DelaySource* delays, int device_index);

}  // namespace apsyn
