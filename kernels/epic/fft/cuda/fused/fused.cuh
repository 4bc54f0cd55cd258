// SPDX-License-Identifier: GPL-3.0-or-later
// The `fft` method in one kernel: spectra of a channel -> sums of products at the pixels of the transform
// (epic.h; MOFF, Morales 2011; all on chip as in Reddy et al. 2024).
//
// The sums of a plane fill a multiprocessor's registers, so the columns of the transform are dealt to n_class
// blocks: class r takes bins k = n_class k' + r. Its rows are transforms of length L = n_x / n_class,
//
//   X(n_class k' + r) = sum_(n < L) exp(-2 pi i n k' / L) sum_j x(n + L j) exp(-2 pi i (n + L j) r / n_x),
//
// whose inner sum is gathered at once: it is in the weights with which antennas come to a cell. A block owns
// a channel, a class and a part of the spectra. For each spectrum it gathers [column n][row] cells,
// transforms rows in place, writes the bins that are wanted to [row][pol][column], transforms columns in
// place, and multiplies what the last pass has in registers into sums that stay there: float32 for at most
// kFlush spectra, then float64 in memory. Rows and columns are transformed by passes of radix 2, 3, 4, 5, 8,
// 16 (decimation in frequency: results in digit-reversed places). In every pass the lanes of a warp walk
// along the other axis, so that shared memory has no bank conflicts.
//
// In half precision both polarisations stand side by side in all that is between samples and products, so
// that each instruction and each access serves two; products and their sums are float32.
//
// Float32 kernels keep up to a dozen words of a thread in local memory, around the pass of radix 16 and with
// several antennas in flight while gathering. Measured, both are worth it: 128 by 16 x 8 takes 15 % less time
// than by 4 x 4 x 8, and gathering one antenna at a time costs 15 % at 64 x 64.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/divider.cuh"

namespace apsyn::epic_fft {

constexpr int kFusedThreads = 512, kFlush = 256;
constexpr int kMaxPasses = 4, kMaxClasses = 8;
constexpr int kLargestRadixX = 8, kLargestRadixY = 16;
constexpr int kSumsPerThread = 64;
constexpr int kSliceCells = 64;  ///< cells, two of a column for each lane of a warp
constexpr std::uint16_t kNowhere = 0xFFFF;

/// (re, im) of two cells.
struct __align__(8) HalfWeights {
  __half2 first, second;
};

struct Pass {
  int radix = 1;
  int part = 1;   ///< length of the transforms that this pass begins
  int turns = 0;  ///< where they begin in FusedTask::turns: [k 0 .. part / radix - 1][j 1 .. radix - 1]
  Divider span;   ///< part / radix
  Divider items;  ///< butterflies of a line
};

/// For all channels of a launch.
struct FusedShape {
  int n_pol = 2;    ///< that are used
  int n_layer = 2;  ///< planes of values: as many, or 1 of half precision
  int n_ant = 0, n_class = 1, n_part = 1;
  int length_x = 0, length_y = 0;       ///< L, n_y
  int n_row = 0;                        ///< rows of cells that are reached, made even
  int column_stride = 0;                ///< of a layer of a row: not below the columns of any class
  int row_pitch = 0;                    ///< odd, so that lanes along the rows meet no bank twice
  int n_column[kMaxClasses] = {};       ///< of each class
  Divider column_divider[kMaxClasses];  ///< by them
  Divider row_divider;                  ///< by n_row
  int n_pass_x = 0, n_pass_y = 0;       ///< the last of y has radix kLast
  Pass pass_x[kMaxPasses], pass_y[kMaxPasses];
  int at_once = 1;  ///< spectra that are gathered together: 1, 2, or 4 of half precision
  int n_slice = 0;  ///< of cells, for each channel and class
  int n_turns = 0;  ///< of the tables
  // shared memory, bytes from its beginning; the plane is at 0
  int cells_at[4] = {}, samples_at = 0, turns_at = 0, places_at = 0, shared_bytes = 0;
};

/// Device memory.
struct FusedTask {
  FusedShape shape;
  int n_spectra = 0, first_channel = 0, n_channel = 0;
  const float2* samples = nullptr;         ///< [channel of the launch][spectrum][ant][pol], factors included
  std::size_t channel_stride = 0;          ///< between them, float2
  const float2* turns = nullptr;           ///< [n_turns]
  const std::uint16_t* columns = nullptr;  ///< [class][place 0 .. L - 1] column, or kNowhere
  const std::uint32_t* slices = nullptr;   ///< [channel of the plan][class][slice + 1] its first entry
  const std::uint16_t* positions = nullptr;  ///< [channel][class][slice][lane] of the first cell, or kNowhere
  const void* weights = nullptr;             ///< [entry][lane] of both cells: float4 or HalfWeights
  const std::uint16_t* antennas = nullptr;   ///< [entry][lane]
  /// > 0: half precision, of scale times the samples; 0: float32.
  float scale = 0;
  double* sums = nullptr;  ///< [channel of the plan][class][part][sum of a thread][thread]
};

/// n_value as fft_values(); a source file for each last radix.
void launch_last_3(const FusedTask& task, int n_value, cudaStream_t stream);
void launch_last_4(const FusedTask& task, int n_value, cudaStream_t stream);
void launch_last_5(const FusedTask& task, int n_value, cudaStream_t stream);
void launch_last_8(const FusedTask& task, int n_value, cudaStream_t stream);

/// Items of the last pass, each `radix` pixels of a column, that a thread has room for.
constexpr int items_per_thread(int radix, int n_value) {
  const int most = kSumsPerThread / (radix * n_value);
  return most < 4 ? most : 4;
}

}  // namespace apsyn::epic_fft
