// SPDX-License-Identifier: GPL-3.0-or-later
// What a plan means for every subgrid of the CUDA gridder. For host code with CUDA only.
#pragma once

#include <complex>
#include <vector>

#include "kernels/idg/cuda/grid/tensor/task.cuh"
#include "kernels/idg/idg.h"

namespace apsyn::idg_cuda {

/// taper [y][x] of the positive quarter, [L/2][L/2].
std::vector<double> taper_table(const IdgPlan& plan);
/// n - n_middle [y][x] of the positive quarter, [half][half]; 0 beyond L/2.
std::vector<double> n_table(const IdgPlan& plan, std::size_t half);
/// [term][y][x]: the magnitude of (2 - [r = 0]) (-i)^r J_r(2 pi half_w (n - n_middle)), times the taper.
std::vector<double> chebyshev_table(const IdgPlan& plan, double half_w_lambda, std::size_t n_terms);
/// TensorGridTask::coefficient.
std::vector<float4> tensor_table(const IdgPlan& plan, double w_unit_lambda);
/// exp(-i pi k (L - 1) / L) / L for cells k in rising order.
std::vector<std::complex<double>> uv_phases(const IdgPlan& plan);

}  // namespace apsyn::idg_cuda
