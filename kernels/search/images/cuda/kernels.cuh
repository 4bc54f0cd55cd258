// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels behind cuda/curve_store.cpp.
//
// Two neighbouring pixels share a word of 32 bits, the even one its lower half. When they are normalised the
// word is the number 65536 high + low, which adds as a pair as long as neither sum leaves 16 bits; before
// that it is two halves side by side.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/search/images/scaling.h"

namespace apsyn::curves {

constexpr int kTileWords = kDeviceTilePixels / 2;

/// Everything on the device. A lane is a pixel, or fills the last tile.
struct Curves {
  std::uint32_t* ring = nullptr;  ///< [tile of 16][chan][frame modulo n_frame][word]
  float* mean = nullptr;          ///< [slot][chan][lane]
  float* reference = nullptr;     ///< the same
  std::size_t n_pixel = 0, n_lane = 0;
  std::uint32_t n_chan = 0, n_frame = 0;
};

/// Frames first ... first + n - 1, `place` that of the first in the ring.
struct Span {
  std::uint32_t place = 0, n = 0;
};

struct Rounding {
  const float* planes = nullptr;    ///< [chan][pixel]
  const ChannelUse* use = nullptr;  ///< [chan]
  std::uint32_t place = 0, slot = 0;
  int* peaks = nullptr;  ///< [chan], at least as large as any stored value
};
void launch_store(const Curves& curves, const Rounding& task, cudaStream_t stream);
void launch_clear(const Curves& curves, const Span& span, cudaStream_t stream);
void launch_references(const Curves& curves, std::uint32_t slot, std::uint32_t before, cudaStream_t stream);
/// to[chan][i] = the reference of pixels[i].
void launch_copy_references(const Curves& curves, std::uint32_t slot, const std::uint32_t* pixels,
                            std::uint32_t n, float* to, cudaStream_t stream);
void launch_forget(const Curves& curves, std::uint32_t slot, cudaStream_t stream);
/// to[pixel], of normalised frames.
void launch_copy_plane(const Curves& curves, std::uint32_t place, std::uint32_t chan, std::int16_t* to,
                       cudaStream_t stream);

struct Piece {
  Span span;
  std::uint32_t slot = 0;
  const float* step = nullptr;           ///< [chan]
  const std::uint8_t* usable = nullptr;  ///< [chan][n]
};
/// Means, and deviations of every n-th tile of 64 pixels, [chan][tile][pixel].
void launch_measure_channels(const Curves& curves, const Piece& piece, std::uint32_t every,
                             std::uint32_t n_some, float* deviations, cudaStream_t stream);

struct Band {
  const float* factor = nullptr;  ///< [chan]
  const float* root = nullptr;    ///< [frame of the piece], 1 / sqrt(channels that count); 0: none
  float* sums = nullptr;          ///< [frame of the piece][lane]
  float* variance = nullptr;      ///< [lane]
};
void launch_measure_band(const Curves& curves, const Piece& piece, const Band& band, cudaStream_t stream);

struct Scaling {
  const float *channel = nullptr, *pixel = nullptr;  ///< [chan], [lane]
  Levels levels;
  float ramp = 0, ramp_step = 0;
};
void launch_normalise(const Curves& curves, const Piece& piece, const Scaling& scaling, cudaStream_t stream);

struct ScanHit {
  std::uint32_t trial = 0, width = 0;
  std::uint32_t begin = 0;  ///< from the first frame of the scan
  std::uint32_t pixel = 0;
  float sn = 0;
};

/// A BoxcarStep: sums[slot][t] = sums[first][t] + sums[second][t + shift], of which the first is there.
struct Step {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t width = 1, first = 0, second = 0, shift = 0;
  std::uint32_t slot = kNone;    ///< kNone: no later step needs it
  std::uint32_t wanted = kNone;  ///< number of the width, where it is one that is looked at
};

struct Scan {
  std::uint32_t place = 0, n_begin = 0, n_trial = 0, n_width = 0, n_step = 0, n_slot = 0;
  std::uint32_t group = 0;   ///< frames of which the best window is a hit: the longest window
  std::uint32_t chunk = 0;   ///< frames that a warp takes at a time, whole groups
  std::uint32_t reach = 0;   ///< frames behind the first one that are looked at
  std::uint32_t n_warp = 0;  ///< of a block
  std::uint32_t warp_bytes = 0;
  std::uint32_t shared_bytes = 0;
  unsigned char* scratch = nullptr;  ///< of each warp, where shared memory does not suffice
  std::uint32_t n_block = 0;         ///< then; else one for each tile
  double threshold = 0;
  const std::uint32_t* delay = nullptr;      ///< [trial][chan]
  const std::int16_t* below = nullptr;       ///< [trial][width][begin]
  const float* to_sn = nullptr;              ///< the same
  const std::int16_t* min_below = nullptr;   ///< [trial][width], the least of `below`
  const Step* step = nullptr;                ///< [n_step]
  const std::uint32_t* wanted = nullptr;     ///< [n_width], steps
  std::uint32_t first_tile = 0, n_tile = 0;  ///< tiles of 16 pixels
  ScanHit* hits = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t* n_hit = nullptr;  ///< all that there are, be there room or not
};
/// Bytes of a warp: sums of steps, [slot][frame][word], and the best windows, [group][pixel].
constexpr std::size_t scan_warp_bytes(std::size_t n_slot, std::size_t chunk, std::size_t group) {
  return n_slot * (chunk + group - 1) * kTileWords * 4 + chunk / group * kDeviceTilePixels * 8;
}
void launch_scan(const Curves& curves, const Scan& scan, cudaStream_t stream);

}  // namespace apsyn::curves
