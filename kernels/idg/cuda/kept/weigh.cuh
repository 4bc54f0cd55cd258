// SPDX-License-Identifier: GPL-3.0-or-later
// Imaging weights for visibilities on the device. For device and host code with CUDA.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::idg_cuda {

/// CellFactors on the device.
struct CellGrid {
  const float* factor;  ///< [v][u]
  std::uint32_t n_u, n_rows;
  double cell_rad;
};

/// What of the visibilities a launch counts, as CellSums has it.
struct CellCounts {
  unsigned long long n_visibilities = 0, n_beyond = 0;
  unsigned long long max_lambda_bits = 0;  ///< of a double above 0, whose bits rise with it
  float greatest_weight = 0;
};

/// greatest = the greatest of it and weight [n], none of which is negative or no number.
void launch_greatest_weight(const float* weight, std::size_t n, float* greatest, cudaStream_t stream);

/// Adds weights [row][chan][plane] of plane 0 to the cells of `grid`, without factors, in whole units of
/// 2^unit_exponent, sums [cell], and 2^-32 of these, sums [n_cells + cell]: integers, whose sum does not
/// depend on the order. Null: counts alone.
void launch_sum_cells(const double* uvw_m, const double* wavelength_m, std::size_t n_row,
                      std::uint32_t n_chan, std::uint32_t n_planes, const CellGrid& grid,
                      double max_uv_lambda, int unit_exponent, const float* weight, unsigned long long* sums,
                      CellCounts* counts, cudaStream_t stream);
/// to [cell] = the sums, rounded.
void launch_round_sums(const unsigned long long* sums, std::size_t n_cells, int unit_exponent, double* to,
                       cudaStream_t stream);

/// sums [row][slot] = weights [row][chan][plane] of plane 0 of the channels whose slot_of_chan it is.
void launch_sum_slots(const float* weight, std::size_t n_row, std::uint32_t n_chan, std::uint32_t n_planes,
                      const std::uint32_t* slot_of_chan, std::uint32_t n_slots, double* sums,
                      cudaStream_t stream);

/// to [n] = from, in the precision in which they multiply.
void launch_round(const double* from, std::size_t n, float* to, cudaStream_t stream);

/// Partial sums that a launch leaves of each plane, always of the same visibilities, so that results repeat.
constexpr std::size_t kWeightSums = 132 * 8;

/// weight [row][chan][plane] *= the factor of its cell, the host's to the last bit; sums [plane][kWeightSums]
/// = those of the products. uvw_m [row][3], wavelength_m [chan], at most four planes.
void launch_weigh(const double* uvw_m, const double* wavelength_m, std::size_t n_row, std::uint32_t n_chan,
                  std::uint32_t n_planes, const CellGrid& grid, float* weight, double* sums,
                  cudaStream_t stream);

}  // namespace apsyn::idg_cuda
