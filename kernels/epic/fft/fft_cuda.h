// SPDX-License-Identifier: GPL-3.0-or-later
// The `fft` method with CUDA. The semantics of DirectImager (epic.h); what it accumulates differs from the
// CPU's by float32 rounding only. Integer samples of two polarisations are gridded and transformed by
// products of matrices on tensor cores where the array reaches no more than 96 cells along each axis
// (fft/cuda/matrix/matrix.cuh), other planes that fit on chip by one kernel of passes
// (fft/cuda/fused/fused.cuh), larger ones in three stages with cuFFT.
#pragma once

#include <memory>

#include "kernels/epic/epic_cuda.h"
#include "kernels/epic/fft/grid.h"

namespace apsyn {

/// How planes are imaged. `automatic` takes matrices if possible, then one kernel. Where the chosen variant
/// is impossible, three stages are used.
enum class FftVariant { automatic, fused, staged };

/// Errors as make_fft_imager(); DeviceError in a build without CUDA or without the device. Takes codes.
/// EpicPrecision::half: integer samples of two polarisations are transformed in half precision, sums are
/// float32 and more: with a padding of 1.25 1.1e-4 of the RMS image by matrices, 5e-4 to 2e-3 in one kernel,
/// and wrong by more than the image near the horizon without padding, where little response is left. Other
/// samples, and planes that need three stages, are imaged as for `single`.
std::unique_ptr<DeviceImager> make_fft_imager_cuda(EpicPlan plan, int device_index,
                                                   EpicPrecision precision = EpicPrecision::single,
                                                   FftVariant variant = FftVariant::automatic);

/// Bytes of a device that imaging integer samples in accumulations of n_spectra takes, less those of the
/// samples: an upper estimate, before anything is allocated. 0 in a build without CUDA.
std::uint64_t fft_device_bytes(const EpicPlan& plan, const EpicGeometry& geometry, std::size_t n_spectra,
                               EpicPrecision precision, int device_index);
/// Memory of the lists of antennas for products of matrices (TileLists of fft/cuda/matrix/plan.h), for one
/// channel in single precision. Half precision takes twice as much: four versions of half the length. 0 if
/// such products are not used.
std::uint64_t tile_list_bytes(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid);

}  // namespace apsyn
