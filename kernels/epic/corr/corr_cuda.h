// SPDX-License-Identifier: GPL-3.0-or-later
// The `corr` method with CUDA, and how pairs become pixels there.
#pragma once

#include "kernels/epic/corr/pair_imager.h"
#include "kernels/epic/epic_cuda.h"

namespace apsyn {

/// make_corr_imager_cuda() with one of the two methods; `grid` not for lists of directions, nor with
/// apertures. It keeps tables that depend only on geometry for as many channels as fit into table_bytes; 0 =
/// a quarter of the free memory. `direct` takes 11 bits of sums and weights for `half` where the device has
/// such forms (corr/cuda/half.cuh).
std::unique_ptr<DeviceImager> make_corr_imager_cuda(EpicPlan plan, MakePairSums make_sums, int device_index,
                                                    CorrMethod method, std::size_t table_bytes = 0,
                                                    EpicPrecision precision = EpicPrecision::single);

/// Numbers of antennas whose pairs are imaged directly in half precision (corr/cuda/half.cuh): fewer antennas
/// would fill only a quarter of a block.
inline constexpr std::size_t kFewestFormed = 33, kMaxFormed = 256;

/// Whether a plan's pairs can be imaged so; the device must have such forms, too (serves_half_pairs()).
bool fits_half_pairs(const EpicPlan& plan);

/// Measured seconds of an H200 for the pairs of all channels, once they are correlated; half_forms: whether
/// the device has them.
double cuda_direct_pairs_s(const EpicPlan& plan, std::size_t n_pixel,
                           EpicPrecision precision = EpicPrecision::single, bool half_forms = true);
/// Whether dft of an accumulation of n_spectra is cheaper by sums of pairs, if all pixels of the plan are in
/// the sky.
bool cuda_dft_by_pairs(const EpicPlan& plan, EpicPrecision precision, double n_spectra);
double cuda_grid_pairs_s(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels);

}  // namespace apsyn
