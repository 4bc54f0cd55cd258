// SPDX-License-Identifier: GPL-3.0-or-later
// Imaging of sums of pairs on tensor cores, as quadratic forms of kernels/common/cuda/beams/products.cuh:
//
//   I_m(s) = Re sum_ab w_a M_ab conj(w_b),    M Hermitian, M_aa = 0, m = XX, YY, Re XY, Im XY
//
// Weights are rounded to int8, w = v + d, and only the columns' sums Y_b = sum_a v_a M_ab are made of them:
//   I = v* M v + 2 Re d* M v + d* M d ~ Re sum_b Y_b conj(v_b + 2 d_b),
// so that what roundings do to the first order is in the coefficients v + 2 d = 2 w - v, and only their
// square is left out: 1e-5 of the peak over the number of antennas. M is in 16 bits, two limbs; coefficients
// in 16 bits are off by 1.3e-5 over the square root of the antennas.
#pragma once

#include <cuda_runtime.h>

#include "kernels/common/cuda/beams/products.cuh"
#include "kernels/epic/corr/cuda/columns.cuh"
#include "kernels/epic/cuda/tile_product.cuh"

namespace apsyn::epic_cuda {

/// Columns' layout: polarisations are limbs, spectra columns.
beam_products::RowLayout pair_rows_of(int n_channel, int n_ant);

/// unit [channel] = the largest part of M over 2^15 or so; factor [channel] = the square root of what a sum
/// of products is in units of M, for launch_fold().
void launch_pair_units(const PairTask& task, double* unit, double* fold, cudaStream_t stream);
/// M of two polarisations over `unit`.
void launch_pair_rows(const PairTask& task, const double* unit, const beam_products::RowLayout& layout,
                      std::int8_t* rows, cudaStream_t stream);
/// 2 w - v in 1/32000, [channel][pixel from first_pixel on][n_coefficient]; what fills up is 0.
struct CoefficientTask {
  WeightTask sky;
  int first_pixel = 0, n_pixel = 0, n_coefficient = 0;
};
void launch_coefficients(const CoefficientTask& task, short2* coefficients, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
