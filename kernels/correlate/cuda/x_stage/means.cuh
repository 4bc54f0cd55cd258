// SPDX-License-Identifier: GPL-3.0-or-later
// From the X stage's sums on the device to visibilities.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/tile_sums.cuh"

namespace apsyn::x_stage {

/// Floating sums [part][chan][pair i <= j] (re, im), or [pair][chan]; parts are to be added.
struct FloatPairSums {
  double2* sums = nullptr;
  int n_input = 0, n_parts = 1;
  std::size_t part_stride = 0, chan_stride = 0, pair_stride = 0;  ///< in elements
};

/// total [chan][pair] = the complete sums; `total` may be sums.total.
void launch_collect(const TileSums& sums, int n_chan, longlong2* total, cudaStream_t stream);
/// total = (or, with `add`, +=) the complete sums; `total` must not be sums.total.
void launch_collect(const TileSums& sums, int n_chan, double2* total, bool add, cudaStream_t stream);
/// The same for floating sums.
void launch_collect(const FloatPairSums& sums, int n_chan, double2* total, cudaStream_t stream);

/// sums [n] += values [n][re, im].
void launch_add_sums(double2* sums, const double* values, std::size_t n, cudaStream_t stream);

/// V = scale^2 / valid * sum over `n_average` channels of sum_ij / (g_i g_j*), and weight = valid / full.
/// Autocorrelations are exactly real; visibilities without valid spectra, or that are not finite, become 0
/// with weight 0.
struct MeanTask {
  int n_chan = 0, n_ant = 0, n_pol = 1;
  bool with_autos = true;                ///< baselines i <= j row-major, otherwise i < j
  int n_average = 1;                     ///< neighbouring channels into one; divides n_chan
  int n_fine = 1;                        ///< channels that share a row of counts
  double scale = 1;                      ///< multiplies the voltages
  double full = 1;                       ///< valid spectra, over all averaged channels, of weight 1
  const std::int64_t* counts = nullptr;  ///< [chan / n_fine][ant1 <= ant2] valid spectra; null: `n_valid`
  std::int64_t n_valid = 0;
  const double2* inverse_gains = nullptr;  ///< [chan][input] 1 / g, NaN where there is none; null: 1
  /// [baseline][chan / n_average][product], as VisibilityRecord, in memory that the device can write.
  float2* data = nullptr;
  float* weight = nullptr;  ///< the same
};
/// std::logic_error when the task's antennas do not match the sums' inputs, or channels cannot be divided
/// into averages.
void launch_means(const TileSums& sums, const MeanTask& task, cudaStream_t stream);
void launch_means(const FloatPairSums& sums, const MeanTask& task, cudaStream_t stream);

}  // namespace apsyn::x_stage
