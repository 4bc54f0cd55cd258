// SPDX-License-Identifier: GPL-3.0-or-later
// run_component_loop() of component_loop.h in one kernel.
#pragma once

#include "kernels/clean/cuda/kernels.cuh"

namespace apsyn::clean_cuda {

/// Why the kernel returned; the first are those of LoopStop.
enum class LoopExit : int { level, iterations, negative, divergence, nothing_left, pause };

/// In device memory; 0 before the first launch.
struct LoopState {
  std::uint32_t arrived = 0;  ///< at the barrier
  std::uint32_t n_found = 0;  ///< of this launch
  int exit = 0;               ///< LoopExit
  std::uint32_t peak_index = 0;
  float peak_height = 0, peak_value = 0;
  std::uint32_t pending_index = 0;  ///< with pending_flux: subtracted first
  int has_pending = 0;
};

struct FoundPeak {
  std::uint32_t index = 0;  ///< of the pixel
  float height = 0;
};

struct LoopTask {
  /// The pixels that take part, n_pixel of them, with their search weights. `index` null: the whole image.
  SearchPlanes planes;
  const std::uint32_t* index = nullptr;
  int ny = 0, nx = 0;                 ///< of the image
  const float* const* psf = nullptr;  ///< [plane][y][x], centre at (psf_ny / 2, psf_nx / 2), 0 beyond
  int psf_ny = 0, psf_nx = 0;
  /// Fluxes are `gain` times this matrix [group][group] times the peak's values; null: times the values. With
  /// `pauses`, the kernel returns at each peak that asks for a component, and the host makes it.
  const double* projection = nullptr;
  double gain = 0.1;
  bool pauses = false;

  double level_jy = 0, divergence_jy = 0;
  std::uint32_t max_components = 0, capacity = 0;  ///< of this launch: LoopExit::iterations, ::pause
  bool stop_at_negative = false;

  LoopState* state = nullptr;
  float* pending_flux = nullptr;  ///< [plane]
  float* peak_values = nullptr;   ///< [plane], of the peak when the loop ended
  FoundPeak* found = nullptr;     ///< [capacity]
  float* found_flux = nullptr;    ///< [capacity][plane]
  // Messages between blocks: the highest peak of each, and its values.
  PeakKey* block_peaks = nullptr;  ///< [2][kMaxLoopBlocks]
  float* block_values = nullptr;   ///< [2][kMaxLoopBlocks][plane]
};

constexpr unsigned kMaxLoopBlocks = 512;

/// Runs the loop until one of the conditions of LoopExit holds, which are checked in that order.
void launch_loop(const LoopTask& task, int device_index, cudaStream_t stream);

}  // namespace apsyn::clean_cuda
