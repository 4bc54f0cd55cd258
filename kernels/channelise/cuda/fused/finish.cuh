// SPDX-License-Identifier: GPL-3.0-or-later
// The fused F stage's end: real inputs part; turn, scale, round and clip; integers into a tile in shared
// memory, and from there into the X stage's layout. Turns within a thread go from bin to bin by a product
// with a constant phasor, restarted every 8 bins.
#pragma once

#include "kernels/channelise/cuda/device.cuh"
#include "kernels/channelise/cuda/fused/integers.cuh"
#include "kernels/common/cuda/radix.cuh"

namespace apsyn::f_stage {

/// What a block is about.
struct BlockPlace {
  int chan, block;
  int first_input;
  int first_spectrum;  ///< of the task
};
/// Blocks that share a row of 64 spectra run at the same time, and so do those that share samples.
template <class S>
__device__ __forceinline__ BlockPlace place_of(int chan, int item_of_chan, int n_groups) {
  constexpr int kBlocksOfRow = kBlockSpectra / S::kSpan;
  const int part_of_row = item_of_chan % kBlocksOfRow, group = item_of_chan / kBlocksOfRow % n_groups,
            block = item_of_chan / kBlocksOfRow / n_groups;
  return {chan, block, group * S::kInputs, block * kBlockSpectra + part_of_row * S::kSpan};
}

/// Of the values x(f) of two real inputs a + i b: a = (x(f) + x(-f)*) / 2, b = (x(f) - x(-f)*) / 2i.
__device__ __forceinline__ void part_pair(float2& x, float2& mirror) {
  const float2 a = make_float2(0.5f * (x.x + mirror.x), 0.5f * (x.y - mirror.y));
  mirror = make_float2(0.5f * (x.y + mirror.y), 0.5f * (mirror.x - x.x));
  x = a;
}

__device__ __forceinline__ void count_clipped(const Task& task, const IntegerOutput& out, int chan, int input,
                                              unsigned n) {
  if (n > 0)
    atomicAdd(out.clipped + std::size_t(chan) * task.samples.n_input + input,
              static_cast<unsigned long long>(n));
}

/// How one input's spectrum ends.
struct Ending {
  Turn turn;
  float scale;
  float2 step;  ///< from value to value
};

/// `unit` is that of the values, kStride bins lie between them.
template <int kStride>
__device__ __forceinline__ Ending ending_of(const Task& task, int chan, int input, int spectrum, float unit) {
  Ending ending{{}, unit, make_float2(1, 0)};
  if (input >= task.samples.n_input || spectrum >= task.n_spectra) return ending;
  ending.turn = turn_of(task, chan, input / task.n_pol, spectrum);
  if (task.scale != nullptr) ending.scale *= __ldg(task.scale + chan * task.samples.n_input + input);
  if (task.mirrored) ending.turn.step = -ending.turn.step;  // index from here on is the bin
  if (task.turns && ending.turn.used) ending.step = phasor(ending.turn.step * kStride);
  return ending;
}

/// What turns the value at a grid index.
__device__ __forceinline__ float2 phase_at(const Task& task, const Ending& ending, int index) {
  return task.turns ? phasor(ending.turn.phase + ending.turn.step * index) : make_float2(1, 0);
}

/// Rounds values of one input, kStride bins from each other, and leaves their bytes in the tile. Those
/// without dither go straight from their product with the scale.
template <int kCount, int kStride, bool kDither>
__device__ __forceinline__ void round_values(const Task& task, const IntegerOutput& out, int chan, int input,
                                             int spectrum, float scale, int bin,
                                             const float2 (&values)[kCount], unsigned short* bytes) {
  float re[kCount], im[kCount], most = 0;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    if constexpr (kDither) {
      const int channel = chan * task.n_fine + Grid(task).fine(bin + k * kStride);
      const std::int64_t number = out.first_number + spectrum;
      requantise_dither(requantise_key(channel, input, number), static_cast<std::uint32_t>(number), re[k],
                        im[k]);
      re[k] = fmaf(values[k].x, scale, re[k]);
      im[k] = fmaf(values[k].y, scale, im[k]);
      most = fmaxf(fmaxf(most, fabsf(re[k])), fabsf(im[k]));
      re[k] += kShift;
      im[k] += kShift;
    } else {
      most = fmaxf(fmaxf(most, fabsf(values[k].x)), fabsf(values[k].y));
      re[k] = fmaf(values[k].x, scale, kShift);
      im[k] = fmaf(values[k].y, scale, kShift);
    }
  }
  if ((kDither ? most : most * scale) < kRoundsInRange) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) bytes[k * kStride] = pair_of(re[k], im[k]);
    return;
  }
  unsigned n_clipped = 0;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    n_clipped += clip(re[k]) + clip(im[k]);
    bytes[k * kStride] = pair_of(re[k], im[k]);
  }
  count_clipped(task, out, chan, input, n_clipped);
}

/// Turns, scales and rounds kCount <= 8 values of one input, bins `bin` + k kStride, the first by `phase`,
/// and leaves their bytes in the tile.
template <int kCount, int kStride, bool kReal, bool kDither>
__device__ __forceinline__ void finish(const Task& task, const IntegerOutput& out, int chan, int input,
                                       int spectrum, const Ending& ending, float2 phase, int bin,
                                       float2 (&values)[kCount], unsigned short* bytes) {
  if (!ending.turn.used) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) bytes[k * kStride] = 0;
    return;
  }
  if (kReal && task.mirrored)
#pragma unroll
    for (int k = 0; k < kCount; ++k) values[k].y = -values[k].y;
  if (task.turns) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      values[k] = radix::multiply(values[k], phase);
      phase = radix::multiply(phase, ending.step);
    }
  }
  round_values<kCount, kStride, kDither>(task, out, chan, input, spectrum, ending.scale, bin, values, bytes);
}

/// Writes the tile: an item is two bins of one input in one run, 8 bytes of four rows. Neighbouring threads
/// write the runs of a sector, and then neighbouring inputs: channels lie megabytes apart, and as many page
/// translations would be needed.
template <class S>
__device__ __forceinline__ void write_tile(const Task& task, const IntegerOutput& out, const BlockPlace& at,
                                           const unsigned short* tile) {
  constexpr int kRows = S::kRuns * S::kInputs, kSide = kRows < S::kThreads ? kRows : S::kThreads;
  static_assert(S::kThreads % kSide == 0 && kRows % kSide == 0 && S::kRun == 8);
  const std::size_t chan_bytes = out.layout.chan_bytes();
  const Grid grid(task);
  for (int i = threadIdx.x % kSide; i < kRows; i += kSide) {
    const int run = i % S::kRuns, input = at.first_input + i / S::kRuns;
    if (input >= task.samples.n_input) continue;
    const int first = at.first_spectrum + run * S::kRun, used = task.n_spectra - first;
    const unsigned* from =
        reinterpret_cast<const unsigned*>(tile + run * S::kTileRun + S::tile_input(i / S::kRuns));
    std::int8_t* to = out.data + out.layout.row(at.chan * task.n_fine, at.block, input);
    const int offset[2] = {x_layout::offset_8bit(input, 0, first % kBlockSpectra),
                           x_layout::offset_8bit(input, 1, first % kBlockSpectra)};
    for (int pair = threadIdx.x / kSide; pair < S::kFine / 2; pair += S::kThreads / kSide) {
      unsigned quad[2][4];
#pragma unroll
      for (int u = 0; u < S::kRun; ++u)
        quad[u / 4][u % 4] = u < used ? from[u * (S::kTileSpectrum / 2) + pair] : 0;
      transpose_bytes(quad[0]);
      transpose_bytes(quad[1]);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        std::int8_t* row = to + grid.fine(2 * pair + half) * chan_bytes;
#pragma unroll
        for (int part = 0; part < 2; ++part)
          *reinterpret_cast<uint2*>(row + offset[part]) =
              make_uint2(quad[0][2 * half + part], quad[1][2 * half + part]);
      }
    }
  }
}

}  // namespace apsyn::f_stage
