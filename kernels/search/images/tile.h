// SPDX-License-Identifier: GPL-3.0-or-later
// Light curves of 64 neighbouring pixels, the pixel as the fastest axis, and what is done to them in vectors.
//
// A frame is kept as int16: on arrival in steps of 1/8 of a channel's noise about a reference level, and,
// once levels and noise around it are known, as multiples of 1/8 of the noise of its own pixel and channel.
// Sums saturate, so that they depend neither on the instruction set nor on the order of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/search/boxcar.h"
#include "kernels/search/images/scaling.h"
#include "libcore/base/view.h"

namespace apsyn {

/// Frames of one tile, [frame modulo n_frame][row][pixel]. There is a row for each channel and perhaps one
/// more: an odd number, so that a channel's frames do not lie in the same few lines of a cache.
struct TileRing {
  std::int16_t* first = nullptr;
  std::size_t n_frame = 0, n_row = 0;
  static std::size_t rows(std::size_t n_chan) { return n_chan | 1; }
  std::int16_t* row(std::size_t chan, std::int64_t frame) const {
    return first + (static_cast<std::size_t>(frame) % n_frame * n_row + chan) * kTilePixels;
  }
};

/// Flags of the channels and frames that count, [chan][frame modulo n_frame].
struct FrameFlags {
  const std::uint8_t* first = nullptr;
  std::size_t n_frame = 0;
  bool usable(std::size_t chan, std::int64_t frame) const {
    return first[chan * n_frame + static_cast<std::size_t>(frame) % n_frame] != 0;
  }
};

/// Consecutive frames.
struct FrameSpan {
  std::int64_t first = 0;
  std::size_t n = 0;
};

/// out = round(steps (values - reference)), blank where that is not finite, for n <= 64 pixels; the others
/// are blank. Returns the largest, -32767 of none.
std::int16_t quantise_pixels(const float* values, std::size_t n, const float* reference, float steps,
                             std::int16_t* out);

/// Mean and standard deviation of each pixel of a channel, in steps, over usable frames. Values more than
/// three standard deviations off are left out, and the deviation is that of the normal values they are cut
/// from. NaN where fewer than a quarter of the frames has a value.
void measure_channel(const TileRing& ring, const FrameFlags& flags, std::size_t chan, const FrameSpan& frames,
                     float* mean, float* deviation);

/// The variance over time of u = sum_c factor_c (q - mean) / sqrt(n_c): 1 where channels are independent and
/// factor_c is one over their noise. `mean` is [chan][64]; 0 where too little is known.
void measure_band(const TileRing& ring, const FrameFlags& flags, const FrameSpan& frames,
                  std::span<const float> mean, std::span<const float> factor, std::vector<float>& scratch,
                  float* variance);

/// q -> round(scale q + offset + slope f), f counted from `ramp` in steps of `ramp_step`; blank pixels, and
/// all of frames that are not usable, become 0.
struct PixelScaling {
  const float *scale, *offset, *slope;  ///< of each pixel
  float ramp = 0, ramp_step = 0;
};
void normalise_pixels(const TileRing& ring, const FrameFlags& flags, std::size_t chan,
                      const FrameSpan& frames, const PixelScaling& scaling);

/// What the scan of a span needs beside the pixels; the same for all tiles.
struct ScanTable {
  std::int64_t first = 0;  ///< frames of the highest channel in which windows begin
  std::size_t n_begin = 0;
  View<const std::uint32_t, 2> delay;  ///< [trial][chan], frames
  const BoxcarProgram* program = nullptr;
  double threshold = 0;
  /// [trial][width][begin]: sums above it are hits, and what makes a sum a signal-to-noise ratio.
  Buffer<std::int16_t, 3> below;
  Buffer<float, 3> to_sn;
};

/// The best window of a pixel and trial among those that begin in a group of as many frames as the longest
/// window has.
struct TileHit {
  std::uint32_t trial = 0;
  std::uint32_t width = 0;  ///< number of the width
  std::int64_t begin = 0;
  float sn = 0;
  std::uint32_t pixel = 0;  ///< of the tile
};
struct ScanScratch {
  std::vector<std::int16_t> sums;
  std::vector<const std::int16_t*> rows;
  std::vector<std::size_t> places;
  std::vector<TileHit> best;
};
/// Appends the hits of all trials, sum_c z_c[t + delay_c] in windows of all widths.
void scan_tile(const TileRing& ring, const ScanTable& table, ScanScratch& scratch,
               std::vector<TileHit>& hits);

}  // namespace apsyn
