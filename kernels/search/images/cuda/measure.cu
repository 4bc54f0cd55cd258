// SPDX-License-Identifier: GPL-3.0-or-later
// Means and noise of a piece: measure_channel() and measure_band() of tile.cpp, a thread for each pixel, with
// sums in the same order. Compiled without fused products and sums, as tile.cpp is.
#include "kernels/common/cuda/launch.cuh"
#include "kernels/search/images/cuda/kernels.cuh"
#include "kernels/search/images/scaling.h"

namespace apsyn::curves {
namespace {

struct Moments {
  float mean = 0, variance = 0;
};

/// Moments of what `visit(take)` shows, once and again for each clipping: take(value, valid).
template <class Visit>
__device__ __forceinline__ Moments clipped_moments(float min_values, int n_clipping, Visit visit) {
  float n = 0, sum = 0, square = 0;
  visit([&](float value, bool valid) {
    if (!valid) return;
    n += 1;
    sum += value, square += value * value;
  });
  const bool enough = n >= min_values;
  Moments m;
  m.mean = sum / fmaxf(n, 1);
  m.variance = fmaxf(0, square / fmaxf(n, 1) - m.mean * m.mean);
  for (int clipping = 0; clipping < n_clipping; ++clipping) {
    const float bound = 9 * m.variance, last_mean = m.mean;
    n = sum = square = 0;
    visit([&](float value, bool valid) {
      const float off = value - last_mean, off_square = off * off;
      if (!valid || !(off_square <= bound)) return;
      n += 1;
      sum += off, square += off_square;
    });
    const float shift = sum / fmaxf(n, 1);
    m.mean = last_mean + shift;
    m.variance = fmaxf(0, square - n * (shift * shift));
    m.variance = m.variance / (kClippedVariance * fmaxf(n - 1, 1));
  }
  if (!enough) m.mean = m.variance = NAN;
  return m;
}

/// A pixel's samples of a channel, from frame 0 of the ring on, a tile's pixels apart.
__device__ const std::int16_t* samples_of(const Curves& curves, std::size_t lane, std::uint32_t chan) {
  return reinterpret_cast<const std::int16_t*>(curves.ring) +
         (lane / kDeviceTilePixels * curves.n_chan + chan) * std::size_t(curves.n_frame) * kDeviceTilePixels +
         lane % kDeviceTilePixels;
}

__global__ void __launch_bounds__(kThreads) channels_kernel(Curves curves, Piece piece, std::uint32_t every,
                                                            std::uint32_t n_some, float* deviations) {
  const std::size_t lane = this_thread();
  if (lane >= curves.n_lane) return;
  for (std::uint32_t chan = blockIdx.y; chan < curves.n_chan; chan += gridDim.y) {
    const std::int16_t* samples = samples_of(curves, lane, chan);
    const std::uint8_t* usable = piece.usable + std::size_t(chan) * piece.span.n;
    const Moments m = clipped_moments(min_frames(piece.span.n), kChannelClippings, [&](auto take) {
      std::uint32_t place = piece.span.place;
      for (std::uint32_t t = 0; t < piece.span.n; ++t) {
        const std::int16_t q = samples[std::size_t(place) * kDeviceTilePixels];
        if (++place == curves.n_frame) place = 0;
        if (usable[t] != 0) take(float(q), q != kBlankPixel);
      }
    });
    const std::size_t at = (std::size_t(piece.slot) * curves.n_chan + chan) * curves.n_lane + lane;
    curves.mean[at] = curves.reference[at] + m.mean * piece.step[chan];
    const std::size_t tile = lane / kTilePixels;
    if (tile % every == 0)
      deviations[(std::size_t(chan) * n_some + tile / every) * kTilePixels + lane % kTilePixels] =
          sqrtf(m.variance);
  }
}

constexpr int kFrames = 32;  ///< whose sums a thread has at a time

__global__ void __launch_bounds__(kThreads) band_kernel(Curves curves, Piece piece, Band band) {
  const std::size_t lane = this_thread();
  if (lane >= curves.n_lane) return;
  for (std::uint32_t first = 0; first < piece.span.n; first += kFrames) {
    float sums[kFrames];
#pragma unroll
    for (int t = 0; t < kFrames; ++t) sums[t] = 0;
    std::uint32_t begin = piece.span.place + first;
    if (begin >= curves.n_frame) begin -= curves.n_frame;
    for (std::uint32_t chan = 0; chan < curves.n_chan; ++chan) {
      const float factor = band.factor[chan];
      if (factor == 0) continue;
      const std::size_t at = (std::size_t(piece.slot) * curves.n_chan + chan) * curves.n_lane + lane;
      const float mean = (curves.mean[at] - curves.reference[at]) / piece.step[chan];
      const std::int16_t* samples = samples_of(curves, lane, chan);
      const std::uint8_t* usable = piece.usable + std::size_t(chan) * piece.span.n + first;
      std::uint32_t place = begin;
#pragma unroll
      for (int t = 0; t < kFrames; ++t) {
        if (first + t >= piece.span.n) break;
        const std::int16_t q = samples[std::size_t(place) * kDeviceTilePixels];
        if (++place == curves.n_frame) place = 0;
        const float off = float(q) - mean;
        if (usable[t] != 0 && q != kBlankPixel && off == off) sums[t] += off * factor;
      }
    }
#pragma unroll
    for (int t = 0; t < kFrames; ++t)
      if (first + t < piece.span.n)
        band.sums[std::size_t(first + t) * curves.n_lane + lane] = sums[t] * band.root[first + t];
  }
  const Moments m = clipped_moments(min_frames(piece.span.n), kBandClippings, [&](auto take) {
    for (std::uint32_t t = 0; t < piece.span.n; ++t) {
      if (band.root[t] == 0) continue;
      const float value = band.sums[std::size_t(t) * curves.n_lane + lane];
      take(value, value == value);
    }
  });
  band.variance[lane] = m.variance == m.variance ? m.variance : 0;
}

}  // namespace

void launch_measure_channels(const Curves& curves, const Piece& piece, std::uint32_t every,
                             std::uint32_t n_some, float* deviations, cudaStream_t stream) {
  const dim3 grid(blocks_of(curves.n_lane), std::min<std::uint32_t>(curves.n_chan, 65535));
  channels_kernel<<<grid, kThreads, 0, stream>>>(curves, piece, every, n_some, deviations);
  launched("measuring channels");
}

void launch_measure_band(const Curves& curves, const Piece& piece, const Band& band, cudaStream_t stream) {
  band_kernel<<<blocks_of(curves.n_lane), kThreads, 0, stream>>>(curves, piece, band);
  launched("measuring pixels");
}

}  // namespace apsyn::curves
