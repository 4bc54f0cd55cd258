// SPDX-License-Identifier: GPL-3.0-or-later
// Frames on their way into the ring: rounded about references, and normalised when levels and noise are
// known. A thread takes a word, two pixels of a channel. Compiled without fused products and sums, as
// tile.cpp is.
#include "kernels/common/cuda/launch.cuh"
#include "kernels/search/images/cuda/kernels.cuh"
#include "kernels/search/images/scaling.h"

namespace apsyn::curves {
namespace {

constexpr float kLargest = 32767;

dim3 grid_of(const Curves& curves) {
  return dim3(blocks_of(curves.n_lane / 2), std::min<std::uint32_t>(curves.n_chan, 65535));
}

__device__ std::uint32_t* words_of(const Curves& curves, std::size_t word, std::uint32_t chan) {
  return curves.ring + (word / kTileWords * curves.n_chan + chan) * std::size_t(curves.n_frame) * kTileWords +
         word % kTileWords;
}

__device__ std::uint32_t side_by_side(int low, int high) {
  return std::uint32_t(low) & 0xffffu | std::uint32_t(high) << 16;
}

__global__ void __launch_bounds__(kThreads) store_kernel(Curves curves, Rounding task) {
  const std::size_t word = this_thread();
  for (std::uint32_t chan = blockIdx.y; chan < curves.n_chan; chan += gridDim.y) {
    const ChannelUse use = task.use[chan];
    int largest = -int(kLargest), value[2] = {kBlankPixel, kBlankPixel};
    if (!use.missing) {
      const float steps = 1 / use.step;
      float* reference = curves.reference + (std::size_t(task.slot) * curves.n_chan + chan) * curves.n_lane;
      for (int i = 0; i < 2; ++i) {
        const std::size_t pixel = 2 * word + i;
        if (pixel >= curves.n_pixel) continue;
        const float in = task.planes[chan * curves.n_pixel + pixel];
        if (use.is_reference) reference[pixel] = isfinite(in) ? in : 0;
        const float scaled = (in - reference[pixel]) * steps;
        if (!isfinite(scaled)) continue;
        const float bounded = fminf(fmaxf(scaled, -kLargest), kLargest);
        value[i] = __float2int_rn(bounded);
        largest = max(largest, int(bounded));
      }
      largest = __reduce_max_sync(0xffffffff, largest);
      if (threadIdx.x % 32 == 0) atomicMax(task.peaks + chan, largest);
    }
    if (word < curves.n_lane / 2)
      words_of(curves, word, chan)[std::size_t(task.place) * kTileWords] = side_by_side(value[0], value[1]);
  }
}

__global__ void __launch_bounds__(kThreads) clear_kernel(Curves curves, Span span) {
  const std::size_t word = this_thread();
  if (word >= curves.n_lane / 2) return;
  for (std::uint32_t chan = blockIdx.y; chan < curves.n_chan; chan += gridDim.y)
    for (std::uint32_t t = 0; t < span.n; ++t)
      words_of(curves, word, chan)[std::size_t((span.place + t) % curves.n_frame) * kTileWords] = 0;
}

__global__ void __launch_bounds__(kThreads)
    references_kernel(Curves curves, std::size_t to, std::size_t before, std::size_t n) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  const float mean = curves.mean[before + i];
  curves.reference[to + i] = isnan(mean) ? curves.reference[before + i] : mean;
}

__global__ void __launch_bounds__(kThreads)
    copy_references_kernel(Curves curves, std::uint32_t slot, const std::uint32_t* pixels, std::uint32_t n,
                           float* to) {
  const std::size_t i = this_thread();
  if (i >= std::size_t(curves.n_chan) * n) return;
  const std::size_t chan = i / n;
  to[i] = curves.reference[(std::size_t(slot) * curves.n_chan + chan) * curves.n_lane + pixels[i % n]];
}

__global__ void __launch_bounds__(kThreads) forget_kernel(float* mean, std::size_t n) {
  const std::size_t i = this_thread();
  if (i < n) mean[i] = NAN;
}

__global__ void __launch_bounds__(kThreads)
    copy_plane_kernel(Curves curves, std::uint32_t place, std::uint32_t chan, std::int16_t* to) {
  const std::size_t word = this_thread();
  if (word >= curves.n_lane / 2) return;
  const std::uint32_t pair = words_of(curves, word, chan)[std::size_t(place) * kTileWords];
  to[2 * word] = std::int16_t(pair & 0xffffu);
  to[2 * word + 1] = std::int16_t((pair + 0x8000u) >> 16);
}

__device__ float level(const Curves& curves, const int (&slots)[5], std::uint32_t chan, std::size_t lane) {
  float near[5];
  for (int j = 0; j < 5; ++j)
    near[j] = slots[j] == Levels::kNoSlot
                  ? NAN
                  : curves.mean[(std::size_t(slots[j]) * curves.n_chan + chan) * curves.n_lane + lane];
  const float all = mean_of_middle(near[0], near[1], near[3], near[4]);
  return isnan(all) ? level_of_some(near) : all;
}

struct Slots {
  int from[5], to[5];
  bool is_line;
};

__global__ void __launch_bounds__(kThreads)
    normalise_kernel(Curves curves, Piece piece, Scaling scaling, Slots slots) {
  const std::size_t word = this_thread();
  if (word >= curves.n_lane / 2) return;
  for (std::uint32_t chan = blockIdx.y; chan < curves.n_chan; chan += gridDim.y) {
    PixelScale own[2];
    for (int i = 0; i < 2; ++i) {
      const std::size_t lane = 2 * word + i;
      const float from = level(curves, slots.from, chan, lane),
                  to = slots.is_line ? level(curves, slots.to, chan, lane) : from;
      own[i] = pixel_scale(
          scaling.channel[chan] * scaling.pixel[lane], piece.step[chan],
          curves.reference[(std::size_t(piece.slot) * curves.n_chan + chan) * curves.n_lane + lane], from,
          to);
    }
    std::uint32_t* words = words_of(curves, word, chan);
    std::uint32_t place = piece.span.place;
    for (std::uint32_t t = 0; t < piece.span.n; ++t) {
      std::uint32_t& pair = words[std::size_t(place) * kTileWords];
      if (++place == curves.n_frame) place = 0;
      if (piece.usable[std::size_t(chan) * piece.span.n + t] == 0) {
        pair = 0;
        continue;
      }
      const float ramp = scaling.ramp + float(t) * scaling.ramp_step;
      const std::uint32_t before = pair;
      int value[2];
      for (int i = 0; i < 2; ++i) {
        const std::int16_t q = std::int16_t(i == 0 ? before & 0xffffu : before >> 16);
        const float normal = float(q) * own[i].scale + (own[i].offset + own[i].slope * ramp);
        value[i] = q == kBlankPixel ? 0 : __float2int_rn(fminf(fmaxf(normal, -kLargest), kLargest));
      }
      pair = (std::uint32_t(value[1]) << 16) + std::uint32_t(value[0]);
    }
  }
}

}  // namespace

void launch_store(const Curves& curves, const Rounding& task, cudaStream_t stream) {
  store_kernel<<<grid_of(curves), kThreads, 0, stream>>>(curves, task);
  launched("rounding images");
}

void launch_clear(const Curves& curves, const Span& span, cudaStream_t stream) {
  if (span.n == 0) return;
  clear_kernel<<<grid_of(curves), kThreads, 0, stream>>>(curves, span);
  launched("clearing images");
}

void launch_references(const Curves& curves, std::uint32_t slot, std::uint32_t before, cudaStream_t stream) {
  const std::size_t n = curves.n_chan * curves.n_lane;
  references_kernel<<<blocks_of(n), kThreads, 0, stream>>>(curves, slot * n, before * n, n);
  launched("taking references");
}

void launch_copy_references(const Curves& curves, std::uint32_t slot, const std::uint32_t* pixels,
                            std::uint32_t n, float* to, cudaStream_t stream) {
  copy_references_kernel<<<blocks_of(std::size_t(curves.n_chan) * n), kThreads, 0, stream>>>(curves, slot,
                                                                                             pixels, n, to);
  launched("copying references");
}

void launch_forget(const Curves& curves, std::uint32_t slot, cudaStream_t stream) {
  const std::size_t n = curves.n_chan * curves.n_lane;
  forget_kernel<<<blocks_of(n), kThreads, 0, stream>>>(curves.mean + slot * n, n);
  launched("forgetting means");
}

void launch_copy_plane(const Curves& curves, std::uint32_t place, std::uint32_t chan, std::int16_t* to,
                       cudaStream_t stream) {
  copy_plane_kernel<<<blocks_of(curves.n_lane / 2), kThreads, 0, stream>>>(curves, place, chan, to);
  launched("copying an image");
}

void launch_normalise(const Curves& curves, const Piece& piece, const Scaling& scaling, cudaStream_t stream) {
  Slots slots;
  for (int j = 0; j < 5; ++j) slots.from[j] = scaling.levels.from[j], slots.to[j] = scaling.levels.to[j];
  slots.is_line = scaling.levels.is_line;
  normalise_kernel<<<grid_of(curves), kThreads, 0, stream>>>(curves, piece, scaling, slots);
  launched("normalising images");
}

}  // namespace apsyn::curves
