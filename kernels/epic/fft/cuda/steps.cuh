// SPDX-License-Identifier: GPL-3.0-or-later
// The `fft` method's kernels beside fft/cuda/fused/fused.cuh: what comes before and after it, and its three
// stages as kernels of their own, for planes that do not fit on chip and to compare with.
#pragma once

#include "kernels/epic/cuda/samples.cuh"

namespace apsyn::epic_fft {

/// g E of spectra first .. first + n - 1, [channel][spectrum][ant][pol] of polarisations first_pol ..
/// first_pol
/// + n_pol - 1; factor [channel of the plan][ant][pol of all].
struct PrepareTask {
  epic_cuda::Samples samples;
  const float2* factor = nullptr;
  int first = 0, n = 0, first_pol = 0, n_pol = 2;
  float2* out = nullptr;
};
void launch_prepare(const PrepareTask& task, cudaStream_t stream);

/// out [image channel][pixel][value] = sums of its n_average channels and of their n_part parts: sum `value`
/// of a pixel is at pixels[pixel][value] among a part's.
struct CollectTask {
  const double* sums = nullptr;           ///< [channel][class][part][part_sums]
  const std::uint32_t* pixels = nullptr;  ///< [pixel][value] class * part_sums + place
  int n_image = 0, n_average = 1, n_class = 1, n_part = 1, n_value = 4;
  std::size_t n_pixel = 0, part_sums = 0;
  double* out = nullptr;
};
void launch_collect(const CollectTask& task, cudaStream_t stream);

/// A cell of the plane and where its entries begin; they end where those of the next begin.
struct StagedCell {
  std::uint32_t position = 0;  ///< row * n_x + column
  std::uint32_t begin = 0;
};
struct StagedEntry {
  std::uint32_t ant = 0;
  float2 weight{};
};

/// Work for one channel. Planes are [spectrum][pol][row][column].
struct StagedTask {
  const StagedCell* cells = nullptr;  ///< [n_cell + 1]
  const StagedEntry* entries = nullptr;
  int n_cell = 0, n_ant = 0, n_pol = 2, n_spectra = 0;
  std::size_t plane_size = 0;
  const float2* samples = nullptr;  ///< [spectrum][ant][pol]
  float2* planes = nullptr;
  // products
  const std::uint32_t* pixels = nullptr;  ///< [pixel] position
  std::size_t n_pixel = 0;
  int n_value = 4;
  double* sums = nullptr;  ///< [value][pixel]
};
/// Writes the cells that antennas reach.
void launch_staged_gather(const StagedTask& task, cudaStream_t stream);
/// sums += products of transformed planes.
void launch_staged_products(const StagedTask& task, cudaStream_t stream);

}  // namespace apsyn::epic_fft
