// SPDX-License-Identifier: GPL-3.0-or-later
// `dft` of integer samples as sums of beams (kernels/common/cuda/beams/products.cuh): pixels are beams,
// weights are g exp(-2 pi i nu tau) rounded to one limb of int8, in units of the channel's largest |g| over
// 127, or to two, in units smaller by 2^shift.
#pragma once

#include <cuda_runtime.h>

#include "kernels/common/cuda/beams/products.cuh"
#include "kernels/epic/cuda/samples.cuh"
#include "kernels/epic/cuda/tile_product.cuh"

namespace apsyn::epic_cuda {

/// Integer samples as rows of kernels/common/cuda/beams/products.cuh, all channels of `samples`; what fills
/// spectra up is 0.
void launch_beam_samples(const Samples& samples, const beam_products::RowLayout& layout, std::int8_t* out,
                         cudaStream_t stream);

/// Whether beam_products takes them as they come, and what it takes.
bool as_they_come(const Samples& samples);
beam_products::Source source_of(const Samples& samples);

/// Weights of n_beam pixels from first_pixel on. factor: g over the unit, [channel][ant][pol]; null = the
/// largest.
struct BeamWeightTask {
  WeightTask sky;
  const float2* factor = nullptr;
  int n_pol = 1, first_pixel = 0;
  int shift = 0;  ///< of the first of two limbs
  beam_products::WeightLayout layout;
};
void launch_beam_weights(const BeamWeightTask& task, std::int8_t* weights, cudaStream_t stream);

/// sums [channel][pixel, n_stride][value] += unit^2 (products of all segments - autos of the rounded
/// weights).
struct FoldTask {
  beam_products::WeightLayout layout;  ///< its beams and rows are pixels and channels of this launch
  int n_pol = 1, n_segment = 1;
  const float* products = nullptr;       ///< [channel][beam][value][segment]
  const std::int8_t* weights = nullptr;  ///< of these channels and beams
  const double* powers = nullptr;        ///< [channel][ant][XX, YY, Re XY, Im XY]; null: autos are kept
  const double* unit = nullptr;          ///< [channel]
  int shift = 0;                         ///< of the first of two limbs
  double* sums = nullptr;
  std::size_t n_stride = 0;
};
void launch_fold(const FoldTask& task, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
