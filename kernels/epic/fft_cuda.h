// SPDX-License-Identifier: GPL-3.0-or-later
// The `fft` method with CUDA. The semantics of DirectImager (epic.h); what it accumulates differs from the
// CPU's by float32 rounding only. Integer samples of two polarisations are gridded and transformed by
// products of matrices on tensor cores where the array reaches no more than 96 cells along each axis
// (fft_matrix.cuh), other planes that fit on chip by one kernel of passes (fft_fused.cuh), larger ones in
// three stages with cuFFT.
#pragma once

#include <memory>

#include "kernels/epic/epic_cuda.h"

namespace apsyn {

/// How planes are made; `automatic` takes matrices where it can, then one kernel, and those that are asked
/// for make way for three stages alike.
enum class FftForm { automatic, fused, staged };

/// Errors as make_fft_imager(); DeviceError in a build without CUDA or without the device. Takes codes.
/// EpicPrecision::half: integer samples of two polarisations are transformed in half precision, sums are
/// float32 and more: with a padding of 1.25 3e-4 of the RMS image by matrices, 5e-4 to 2e-3 in one kernel,
/// and wrong by more than the image near the horizon without padding, where little response is left. What
/// else there is, and planes that take three stages, are imaged as for `single`.
std::unique_ptr<DeviceImager> make_fft_imager_cuda(EpicPlan plan, int device_index,
                                                   EpicPrecision precision = EpicPrecision::single,
                                                   FftForm form = FftForm::automatic);

}  // namespace apsyn
