// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/cuda/long/batches.cuh"

#include <algorithm>
#include <cstdint>

#include "kernels/channelise/cuda/long/task.cuh"
#include "kernels/channelise/long_factors.h"

namespace apsyn::f_stage {

namespace {

/// Where the first and the last of a batch's spectra start; those of no weight need no samples.
struct Starts {
  std::int64_t first = 0, last = 0;
  bool any = false;
};
Starts starts_of(const Task& task, const Placement* placements, const Batch& batch) {
  const int n_ant = task.samples.n_input / task.n_pol;
  std::int32_t first = INT32_MAX, last = kNoWeight;
  for (int ant = 0; ant < n_ant; ++ant) {
    const Placement* row = placements + std::size_t(ant) * task.placement_stride + batch.first_spectrum;
    for (int spectrum = 0; spectrum < batch.n_spectra; ++spectrum) {
      const std::int32_t start = row[spectrum].start;
      if (start == kNoWeight) continue;
      first = std::min(first, start);
      last = std::max(last, start);
    }
  }
  if (last == kNoWeight) return {};
  return {first, last, true};
}

}  // namespace

void LongSpectra::run(const Task& task, const Placement* placements, const IntegerOutput& out,
                      const std::uint8_t* factors, cudaStream_t stream) {
  const auto length = static_cast<std::size_t>(task.length);
  const int n_words = tap_words(task.n_taps), n_streams = stream_count(task);
  LongLaunch launch{task, out, {}, {}, 0, 0, nullptr};
  launch.factors.unit = reinterpret_cast<const float*>(factors);
  launch.factors.weights = reinterpret_cast<const uint4*>(factors + kLongHeaderBytes);
  launch.factors.turns = reinterpret_cast<const float2*>(factors + kLongHeaderBytes +
                                                         long_weight_bytes(task.length, task.n_taps));
  ready_.record(stream);
  for (Lane& lane : lanes_) ready_.hold(lane.stream.get());
  const LongBatches sizes(task, most_bytes_ != 0 ? most_bytes_ : series_bytes(task.length));
  unsigned turn = 0;
  for (int first = 0; first < task.n_spectra; first += sizes.spectra) {
    launch.first_spectrum = first;
    launch.n_spectra = std::min(sizes.spectra, task.n_spectra - first);
    const Starts starts = starts_of(task, placements, {0, 1, first, launch.n_spectra});
    Series& series = launch.series;
    series.first = starts.first;
    series.end = starts.any ? starts.last + std::int64_t(task.n_taps) * task.length : series.first;
    // a word more for what starts within one, and for what reaches behind the end of a block
    series.n_groups = static_cast<int>(((starts.last - starts.first) / task.length + 1) / 4) + n_words + 1;
    for (series.first_chan = 0; series.first_chan < task.samples.n_chan; series.first_chan += sizes.chans)
      for (series.first_stream = 0; series.first_stream < n_streams; series.first_stream += sizes.streams) {
        Lane& lane = lanes_[turn++ % 2];
        series.n_chan = std::min(sizes.chans, task.samples.n_chan - series.first_chan);
        series.n_streams = std::min(sizes.streams, n_streams - series.first_stream);
        series.data = lane.series.reserve(static_cast<std::size_t>(series.n_chan) *
                                          static_cast<std::size_t>(series.n_streams) *
                                          static_cast<std::size_t>(series.n_groups) * length);
        launch.stream = lane.stream.get();
        launch_arrange(task, series, launch.stream);
        launch_long(launch);
      }
  }
  for (Lane& lane : lanes_) {
    lane.done.record(lane.stream.get());
    lane.done.hold(stream);
  }
}

LongBatches::LongBatches(const Task& task, std::size_t most_bytes)
    : chans(task.samples.n_chan), streams(stream_count(task)), spectra(task.n_spectra) {
  const std::size_t block_bytes = 2 * std::size_t(task.length);  // of a stream
  const std::size_t more = 4 * (tap_words(task.n_taps) + 2);     // blocks beside those of the spectra
  const std::size_t blocks = most_bytes / block_bytes;
  const auto whole = [](std::size_t n, int step, int all) {
    const std::size_t steps = std::max<std::size_t>(1, n / step);
    return static_cast<int>(std::min<std::size_t>(steps * step, all));
  };
  const std::size_t of_stream = blocks / streams;
  spectra = whole(of_stream > more ? of_stream - more : 0, 64, task.n_spectra);
  const std::size_t of_chan = (spectra + more) * streams;
  chans = whole(blocks / of_chan, 1, task.samples.n_chan);
  if (of_chan > blocks) streams = whole(blocks / (spectra + more), 32, streams);
}

}  // namespace apsyn::f_stage
