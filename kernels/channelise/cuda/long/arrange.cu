// SPDX-License-Identifier: GPL-3.0-or-later
// Samples into series: each is read once and written once, both by whole lines. A thread takes a few
// neighbouring streams at four times, a spectrum's length apart from each other, and transposes their bytes;
// through shared memory the block turns streams beside each other into samples beside each other.
#include "kernels/channelise/cuda/fused/integers.cuh"
#include "kernels/channelise/cuda/long/series.cuh"
#include "kernels/common/cuda/check.h"

namespace apsyn::f_stage {
namespace {

constexpr int kArrangeThreads = 256;
constexpr int kMostSets = 8;  // of neighbouring streams in a block

/// The bytes of kStreams streams at one time, two streams in a word.
template <int kStreams>
struct Row {
  static constexpr int kWords = (kStreams + 1) / 2;
  unsigned word[kWords];

  /// Of a row whose alignment allows kStreams streams to be read together.
  __device__ __forceinline__ void load(const SampleWindow& window, const std::uint8_t* at) {
    if (window.format == SampleFormat::int8) {
      if constexpr (kStreams == 8) {
        const uint4 four = __ldcs(reinterpret_cast<const uint4*>(at));
        word[0] = four.x, word[1] = four.y, word[2] = four.z, word[3] = four.w;
      } else if constexpr (kStreams == 4) {
        const uint2 two = __ldcs(reinterpret_cast<const uint2*>(at));
        word[0] = two.x, word[1] = two.y;
      } else if constexpr (kStreams == 2) {
        word[0] = __ldcs(reinterpret_cast<const unsigned*>(at));
      } else {
        word[0] = __ldcs(reinterpret_cast<const unsigned short*>(at));
      }
      return;
    }
    unsigned packed[kStreams == 8 ? 2 : 1];
    if constexpr (kStreams == 8) {
      const uint2 two = __ldcs(reinterpret_cast<const uint2*>(at));
      packed[0] = two.x, packed[1] = two.y;
    } else if constexpr (kStreams == 4) {
      packed[0] = __ldcs(reinterpret_cast<const unsigned*>(at));
    } else if constexpr (kStreams == 2) {
      packed[0] = __ldcs(reinterpret_cast<const unsigned short*>(at));
    } else {
      packed[0] = __ldcs(at);
    }
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const unsigned re = packed[i / 2] & 0xF0F0F0F0u, im = (packed[i / 2] << 4) & 0xF0F0F0F0u;
      word[i] = __byte_perm(re, im, i % 2 == 0 ? 0x5140 : 0x7362);
    }
  }
};

/// A block takes n_sets sets of kStreams streams, a power of two, and as many samples as it has threads for.
template <int kStreams>
__global__ void __launch_bounds__(kArrangeThreads)
    arrange(const __grid_constant__ SampleWindow window, const __grid_constant__ Series series, int length,
            int n_sets, bool single_bytes) {
  using R = Row<kStreams>;
  // sets of streams start two words further on, so that neighbouring sets meet different banks
  __shared__ uint2 turned[kArrangeThreads * kStreams + 2 * kMostSets];  // [stream][sample]
  const int n_samples = kArrangeThreads / n_sets, set = threadIdx.x % n_sets, n = threadIdx.x / n_sets;
  const int first_stream = blockIdx.y * n_sets * kStreams, chan = blockIdx.z;
  const int blocks_of_group = length / n_samples, group = blockIdx.x / blocks_of_group;
  const int first_sample = blockIdx.x % blocks_of_group * n_samples;
  const int stream = first_stream + set * kStreams;  // of the batch
  const int bytes_of_stream = window.format == SampleFormat::int8 ? 2 : 1;
  R row[4] = {};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const std::int64_t time = series.first + std::int64_t(4 * group + k) * length + first_sample + n;
    const int in_window = series.first_stream + stream;
    const std::uint8_t* at = window.data + time * window.time_bytes +
                             (series.first_chan + chan) * window.chan_bytes +
                             std::size_t(in_window) * bytes_of_stream;
    if (time >= series.end || stream >= series.n_streams) continue;
    if (kStreams == 1 && single_bytes)
      row[k].word[0] =
          at[0] | (window.real && 2 * in_window + 1 >= window.n_input ? 0 : unsigned(at[1]) << 8);
    else
      row[k].load(window, at);
  }
  uint2* to = turned + set * (kStreams * n_samples + 2) + n;
#pragma unroll
  for (int i = 0; i < R::kWords; ++i) {
    unsigned word[4] = {row[0].word[i], row[1].word[i], row[2].word[i], row[3].word[i]};
    transpose_bytes(word);
    to[2 * i * n_samples] = make_uint2(word[0], word[1]);
    if (2 * i + 1 < kStreams) to[(2 * i + 1) * n_samples] = make_uint2(word[2], word[3]);
  }
  __syncthreads();
  const std::size_t stream_words = std::size_t(series.n_groups) * length;
  uint2* data = series.data + (std::size_t(chan) * series.n_streams + first_stream) * stream_words +
                std::size_t(group) * length + first_sample;
#pragma unroll
  for (int k = 0; k < kStreams; ++k) {
    const int i = threadIdx.x + k * kArrangeThreads, in_block = i / n_samples, sample = i % n_samples;
    if (first_stream + in_block < series.n_streams)
      data[in_block * stream_words + sample] = turned[i + in_block / kStreams * 2];
  }
}

template <int kStreams>
void launch(const Task& task, const Series& series, bool single_bytes, cudaStream_t stream) {
  int n_sets = 1;
  while (n_sets < kMostSets && n_sets * kStreams < series.n_streams) n_sets *= 2;
  const int per_block = n_sets * kStreams,
            n_blocks = task.length / (kArrangeThreads / n_sets) * series.n_groups;
  arrange<kStreams><<<dim3(n_blocks, (series.n_streams + per_block - 1) / per_block, series.n_chan),
                      kArrangeThreads, 0, stream>>>(task.samples, series, task.length, n_sets, single_bytes);
  cuda_check(cudaGetLastError(), "launching the F stage's arrangement of samples");
}

}  // namespace

void launch_arrange(const Task& task, const Series& series, cudaStream_t stream) {
  const SampleWindow& window = task.samples;
  const std::size_t bytes_of_stream = window.format == SampleFormat::int8 ? 2 : 1;
  const auto fits = [&](int streams) {
    const std::size_t bytes = streams * bytes_of_stream;
    return series.n_streams % streams == 0 && window.time_bytes % bytes == 0 &&
           window.chan_bytes % bytes == 0 && reinterpret_cast<std::uintptr_t>(window.data) % bytes == 0 &&
           series.first_stream % streams == 0;
  };
  if (fits(8)) return launch<8>(task, series, false, stream);
  if (fits(4)) return launch<4>(task, series, false, stream);
  if (fits(2)) return launch<2>(task, series, false, stream);
  launch<1>(task, series, !fits(1), stream);
}

}  // namespace apsyn::f_stage
