// SPDX-License-Identifier: GPL-3.0-or-later
// Light curves in a GPU's memory. One stream: a frame is copied and rounded, and whoever gave it has its
// memory back when it has arrived. What comes back are medians' inputs, noise of pixels, hits, and tiles
// around pulses.
#include "kernels/search/images/curve_store.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "kernels/common/cuda/attribute.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/search/images/cuda/kernels.cuh"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn {

using namespace curves;

namespace {

constexpr std::size_t kTilesPerTile = kTilePixels / kDeviceTilePixels;
/// Frames that a warp takes at a time at least, and warps of a block at most.
constexpr std::size_t kChunk = 32, kMaxWarps = 8;
/// Of the windows' sums: what a block takes so that two or three run together.
constexpr std::size_t kSharedBytes = 72 << 10;
/// Blocks for each multiprocessor at most where sums are in the device's memory.
constexpr std::size_t kScratchBlocks = 4;

void choose(int device) {
  cuda_check(cudaSetDevice(device), "choosing the device");
}

/// Sums of steps lie in slots, of which a step leaves its own to later ones when it is needed no more.
std::vector<Step> scan_steps(const BoxcarProgram& program, std::uint32_t& n_slot) {
  const std::size_t n = program.steps.size();
  std::vector<std::size_t> last_use(n, 0);
  for (std::size_t i = 1; i < n; ++i)
    last_use[program.steps[i].first] = last_use[program.steps[i].second] = i;
  std::vector<Step> steps(n);
  std::vector<std::uint32_t> free_slots;
  n_slot = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const BoxcarStep& from = program.steps[i];
    Step& step = steps[i];
    step.width = static_cast<std::uint32_t>(from.width);
    if (i > 0) {
      step.first = steps[from.first].slot, step.second = steps[from.second].slot;
      step.shift = steps[from.first].width;
    }
    if (i == 0 || last_use[i] > i) {
      if (free_slots.empty()) free_slots.push_back(n_slot++);
      step.slot = free_slots.back();
      free_slots.pop_back();
    }
    if (i == 0) continue;
    for (const std::size_t operand : {from.first, from.second})
      if (last_use[operand] == i && steps[operand].slot != Step::kNone &&
          std::find(free_slots.begin(), free_slots.end(), steps[operand].slot) == free_slots.end())
        free_slots.push_back(steps[operand].slot);
  }
  for (std::size_t i = 0; i < program.wanted.size(); ++i)
    steps[program.wanted[i]].wanted = static_cast<std::uint32_t>(i);
  return steps;
}

/// Fetches whole tiles, whose samples are one stretch of memory.
class CudaCurveReader final : public CurveReader {
 public:
  CudaCurveReader(const Curves& curves, int device) : curves_(curves), device_(device) {}

  PixelCurve at(std::size_t pixel) override {
    const std::size_t tile = pixel / kDeviceTilePixels, n = std::size_t{curves_.n_chan} * curves_.n_frame;
    std::vector<std::int16_t>& samples = tiles_[tile];
    if (samples.empty()) {
      choose(device_);
      std::vector<std::uint32_t> words(n * kTileWords);
      cuda_check(cudaMemcpy(words.data(), curves_.ring + tile * words.size(), words.size() * sizeof(words[0]),
                            cudaMemcpyDeviceToHost),
                 "copying from the device");
      samples.resize(2 * words.size());
      for (std::size_t i = 0; i < words.size(); ++i) {
        samples[2 * i] = static_cast<std::int16_t>(words[i]);
        samples[2 * i + 1] = static_cast<std::int16_t>((words[i] + 0x8000u) >> 16);
      }
    }
    return {samples.data() + pixel % kDeviceTilePixels, curves_.n_frame, kDeviceTilePixels,
            curves_.n_frame * kDeviceTilePixels};
  }

 private:
  Curves curves_;
  int device_;
  std::unordered_map<std::size_t, std::vector<std::int16_t>> tiles_;
};

class CudaCurveStore final : public CurveStore {
 public:
  explicit CudaCurveStore(const LightCurvePlan& plan) : plan_(plan) {
    const int device = plan.device.index;
    if (device < 0 || device >= cuda_device_count())
      throw DeviceError("cuda:{}: there is no such device", device);
    const std::size_t n_lane = plan.n_lane(), n_word = n_lane / 2 * plan.n_chan * plan.n_frame,
                      n_mean = kPieceSlots * plan.n_chan * n_lane;
    if (plan.n_frame >= (std::size_t{1} << 30) || plan.n_chan >= (std::size_t{1} << 30) ||
        n_lane >= (std::size_t{1} << 32))
      throw std::length_error("CurveStore: more than 2^30 frames or channels, or 2^32 pixels");
    ring_ = DeviceArray<std::uint32_t>(n_word);
    mean_ = DeviceArray<float>(n_mean);
    reference_ = DeviceArray<float>(n_mean);
    planes_ = DeviceArray<float>(plan.n_pixel() * plan.n_chan);
    peaks_ = DeviceArray<int>(plan.piece * plan.n_chan);
    pixel_ = DeviceArray<float>(n_lane);
    host_plane_ = pinned<float>(n_lane);
    hit_count_ = pinned<std::uint32_t>(1);
    n_hit_ = DeviceArray<std::uint32_t>(1);
    fill_bytes(mean_.data(), 0, n_mean);
    fill_bytes(reference_.data(), 0, n_mean);
    curves_ = {ring_.data(),
               mean_.data(),
               reference_.data(),
               plan.n_pixel(),
               n_lane,
               static_cast<std::uint32_t>(plan.n_chan),
               static_cast<std::uint32_t>(plan.n_frame)};
  }

  void start_piece(std::size_t slot, std::size_t before) override {
    choose(plan_.device.index);
    launch_references(curves_, static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(before),
                      stream());
  }

  void copy_references(std::size_t slot, std::span<const std::size_t> pixels,
                       View<float, 2> to) const override {
    choose(plan_.device.index);
    const std::vector<std::uint32_t> numbers(pixels.begin(), pixels.end());
    const auto n = static_cast<std::uint32_t>(numbers.size());
    const std::uint32_t* own = some_pixels_.copy(numbers.data(), n, stream());
    float* some = some_.reserve(to.size());
    launch_copy_references(curves_, static_cast<std::uint32_t>(slot), own, n, some, stream());
    fetch(some, to.data(), to.size());
  }

  void receive(std::span<const float> planes) override {
    if (planes.empty()) return;
    choose(plan_.device.index);
    cuda_check(
        cudaMemcpyAsync(planes_.data(), planes.data(), planes.size_bytes(), cudaMemcpyHostToDevice, stream()),
        "copying to the device");
    arrived_.record(stream());
  }

  void store(std::span<const float> planes, std::int64_t frame, std::size_t in_piece, std::size_t slot,
             std::span<const ChannelUse> use) override {
    choose(plan_.device.index);
    Rounding task;
    task.place = place_of(frame), task.slot = static_cast<std::uint32_t>(slot);
    task.peaks = peaks_.data() + in_piece * plan_.n_chan;
    cuda_check(cudaMemsetAsync(task.peaks, 0x80, plan_.n_chan * sizeof(int), stream()),
               "filling device memory");
    task.planes = planes_.data();
    task.use = use_.copy(use.data(), use.size(), stream());
    launch_store(curves_, task, stream());
    if (!planes.empty()) arrived_.wait();
  }

  void copy_peaks(View<std::int16_t, 2> to) const override {
    choose(plan_.device.index);
    std::vector<int> peaks(to.size());
    fetch(peaks_.data(), peaks.data(), peaks.size());
    std::transform(peaks.begin(), peaks.end(), to.data(),
                   [](int peak) { return static_cast<std::int16_t>(std::max(peak, -32767)); });
  }

  void clear(const FrameSpan& frames) override {
    choose(plan_.device.index);
    launch_clear(curves_, span_of(frames), stream());
  }

  void measure_channels(const PieceFrames& piece, std::size_t every, View<float, 3> deviations) override {
    choose(plan_.device.index);
    float* some = some_.reserve(deviations.size());
    launch_measure_channels(curves_, device_piece(piece), static_cast<std::uint32_t>(every),
                            static_cast<std::uint32_t>(deviations.extent(1)), some, stream());
    fetch(some, deviations.data(), deviations.size());
  }

  void forget_means(std::size_t slot) override {
    choose(plan_.device.index);
    launch_forget(curves_, static_cast<std::uint32_t>(slot), stream());
  }

  void measure_band(const PieceFrames& piece, std::span<const float> factor,
                    std::span<float> variance) override {
    choose(plan_.device.index);
    std::vector<float> root(piece.frames.n, 0);
    for (std::size_t t = 0; t < piece.frames.n; ++t) {
      std::size_t n = 0;
      for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
        n += factor[chan] != 0 && piece.flags.usable(chan, piece.frames.first + static_cast<std::int64_t>(t))
                 ? 1
                 : 0;
      if (n > 0) root[t] = 1 / std::sqrt(static_cast<float>(n));
    }
    Band band;
    band.factor = factor_.copy(factor.data(), factor.size(), stream());
    band.root = root_.copy(root.data(), root.size(), stream());
    band.sums = sums_.reserve(piece.frames.n * plan_.n_lane());
    band.variance = pixel_.data();
    launch_measure_band(curves_, device_piece(piece), band, stream());
    cuda_check(cudaMemcpyAsync(host_plane_.get(), pixel_.data(), variance.size_bytes(),
                               cudaMemcpyDeviceToHost, stream()),
               "copying from the device");
    finish();
    std::copy_n(host_plane_.get(), variance.size(), variance.data());
  }

  void normalise(const Normalisation& task) override {
    choose(plan_.device.index);
    finish();  // the plane may be on its way
    std::copy_n(task.pixel.data(), task.pixel.size(), host_plane_.get());
    cuda_check(cudaMemcpyAsync(pixel_.data(), host_plane_.get(), task.pixel.size_bytes(),
                               cudaMemcpyHostToDevice, stream()),
               "copying to the device");
    Scaling scaling;
    scaling.channel = factor_.copy(task.channel.data(), task.channel.size(), stream());
    scaling.pixel = pixel_.data();
    scaling.levels = task.levels;
    scaling.ramp = task.ramp, scaling.ramp_step = task.ramp_step;
    launch_normalise(curves_, device_piece(task.piece), scaling, stream());
  }

  void scan(const ScanTable& table, const TakeTileHits& take) override {
    choose(plan_.device.index);
    const Scan all = device_scan(table);
    // all at once, unless there are more hits than there is room for, or may be more than can be counted
    const std::size_t n_group = (table.n_begin + all.group - 1) / all.group,
                      of_tile = kTilePixels * all.n_trial * n_group,
                      safe = std::max<std::size_t>(1, all.capacity / of_tile),
                      countable = std::max<std::size_t>(1, UINT32_MAX / of_tile), n_tile = plan_.n_tile();
    for (std::size_t first = 0, n = countable; first < n_tile; first += n) {
      n = std::min(n, n_tile - first);
      std::uint32_t n_hit = scan_tiles(all, first, n);
      if (n_hit > all.capacity) {
        n = std::min(n, safe);
        n_hit = scan_tiles(all, first, n);
      }
      give(table, first, n, n_hit, take);
    }
  }

  void copy_plane(std::int64_t frame, std::size_t chan, std::span<std::int16_t> to) const override {
    choose(plan_.device.index);
    std::int16_t* plane = shorts_.reserve(plan_.n_lane());
    launch_copy_plane(curves_, place_of(frame), static_cast<std::uint32_t>(chan), plane, stream());
    fetch(plane, to.data(), to.size());
  }

  std::unique_ptr<CurveReader> reader() const override {
    return std::make_unique<CudaCurveReader>(curves_, plan_.device.index);
  }

  std::shared_ptr<void> prepare(std::span<float> memory) const override {
    choose(plan_.device.index);
    return pin_memory(memory.data(), memory.size_bytes());
  }

 private:
  /// Before the arrays that it makes on the device.
  struct OnDevice {
    explicit OnDevice(int device) { choose(device); }
  };

  cudaStream_t stream() const { return stream_.get(); }
  void finish() const { cuda_check(cudaStreamSynchronize(stream()), "waiting for the device"); }
  /// In the order of the stream; returns when it is there.
  template <class T>
  void fetch(const T* from, T* to, std::size_t n) const {
    cuda_check(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDeviceToHost, stream()),
               "copying from the device");
    finish();
  }
  std::uint32_t place_of(std::int64_t frame) const {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(frame) % plan_.n_frame);
  }
  Span span_of(const FrameSpan& frames) const {
    return {place_of(frames.first), static_cast<std::uint32_t>(frames.n)};
  }

  Piece device_piece(const PieceFrames& piece) {
    std::vector<std::uint8_t> usable(plan_.n_chan * piece.frames.n);
    for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
      for (std::size_t t = 0; t < piece.frames.n; ++t)
        usable[chan * piece.frames.n + t] =
            piece.flags.usable(chan, piece.frames.first + static_cast<std::int64_t>(t)) ? 1 : 0;
    return {span_of(piece.frames), static_cast<std::uint32_t>(piece.slot),
            step_.copy(piece.step.data(), piece.step.size(), stream()),
            usable_.copy(usable.data(), usable.size(), stream())};
  }

  Scan device_scan(const ScanTable& table) {
    const BoxcarProgram& program = *table.program;
    const std::size_t n_trial = table.delay.extent(0), n_width = program.wanted.size(),
                      group = program.longest(), n_step = program.steps.size();
    Scan scan;
    scan.place = place_of(table.first);
    scan.n_begin = static_cast<std::uint32_t>(table.n_begin);
    scan.n_trial = static_cast<std::uint32_t>(n_trial), scan.n_width = static_cast<std::uint32_t>(n_width);
    scan.n_step = static_cast<std::uint32_t>(n_step), scan.group = static_cast<std::uint32_t>(group);
    scan.chunk = static_cast<std::uint32_t>(std::max<std::size_t>(1, kChunk / group) * group);
    if (delay_.data() == nullptr) {
      delay_.copy(table.delay.data(), table.delay.size(), stream());
      max_delay_ = *std::max_element(table.delay.begin(), table.delay.end());
      const std::vector<Step> steps = scan_steps(program, n_slot_);
      steps_.copy(steps.data(), n_step, stream());
    }
    scan.reach = static_cast<std::uint32_t>(table.n_begin + group - 1 + max_delay_);
    const std::size_t bytes = scan_warp_bytes(n_slot_, scan.chunk, group),
                      n_item = n_trial * ((table.n_begin + scan.chunk - 1) / scan.chunk);
    scan.n_warp = static_cast<std::uint32_t>(
        std::min({kMaxWarps, n_item, std::max<std::size_t>(1, kSharedBytes / bytes)}));
    scan.warp_bytes = static_cast<std::uint32_t>(bytes);
    scan.shared_bytes = static_cast<std::uint32_t>(scan.n_warp * bytes);
    if (bytes > static_cast<std::size_t>(
                    device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, plan_.device.index)) -
                    1024) {
      scan.n_warp = static_cast<std::uint32_t>(std::min(kMaxWarps, n_item));
      scan.shared_bytes = 0;
      const auto n_multiprocessor =
          static_cast<std::size_t>(device_attribute(cudaDevAttrMultiProcessorCount, plan_.device.index));
      scan.n_block = static_cast<std::uint32_t>(std::clamp<std::size_t>(
          kDeviceScratchBytes / (scan.n_warp * bytes), 1, kScratchBlocks * n_multiprocessor));
      scan.scratch = scratch_.reserve(scan.n_block * scan.n_warp * bytes);
    }
    scan.threshold = table.threshold;
    scan.delay = delay_.data();
    scan.below = below_.copy(table.below.data(), table.below.size(), stream());
    scan.to_sn = to_sn_.copy(table.to_sn.data(), table.to_sn.size(), stream());
    scan.n_slot = n_slot_;
    scan.step = steps_.data();
    std::vector<std::int16_t> least(n_trial * n_width);
    for (std::size_t i = 0; i < least.size(); ++i) {
      const std::int16_t* row = table.below.data() + i * table.n_begin;
      least[i] = *std::min_element(row, row + table.n_begin);
    }
    scan.min_below = min_below_.copy(least.data(), least.size(), stream());
    scan.capacity =
        static_cast<std::uint32_t>(device_hit_capacity(n_trial, (plan_.piece + group - 1) / group));
    scan.hits =
        hits_.size() < scan.capacity ? (hits_ = DeviceArray<ScanHit>(scan.capacity)).data() : hits_.data();
    scan.n_hit = n_hit_.data();
    return scan;
  }

  /// Returns how many hits there are, room or not.
  std::uint32_t scan_tiles(Scan scan, std::size_t first, std::size_t n) {
    scan.first_tile = static_cast<std::uint32_t>(first * kTilesPerTile);
    scan.n_tile = static_cast<std::uint32_t>(n * kTilesPerTile);
    cuda_check(cudaMemsetAsync(scan.n_hit, 0, sizeof(std::uint32_t), stream()), "clearing device memory");
    launch_scan(curves_, scan, stream());
    fetch(scan.n_hit, hit_count_.get(), 1);
    return hit_count_[0];
  }

  /// Hands over the hits of n tiles, tile by tile.
  void give(const ScanTable& table, std::size_t first, std::size_t n, std::size_t n_hit,
            const TakeTileHits& take) {
    if (n_hit == 0) return;
    std::vector<ScanHit> hits(n_hit);
    fetch(hits_.data(), hits.data(), n_hit);
    std::vector<std::size_t> end(n + 1, 0);  // of the tile before
    for (const ScanHit& hit : hits) ++end[hit.pixel / kTilePixels - first + 1];
    for (std::size_t tile = 0; tile < n; ++tile) end[tile + 1] += end[tile];
    std::vector<std::size_t> next(end.begin(), end.end() - 1);
    std::vector<TileHit> sorted(n_hit);
    for (const ScanHit& hit : hits)
      sorted[next[hit.pixel / kTilePixels - first]++] = {
          hit.trial, hit.width, table.first + static_cast<std::int64_t>(hit.begin), hit.sn,
          static_cast<std::uint32_t>(hit.pixel % kTilePixels)};
    parallel_for(plan_.n_threads, n, [&](std::size_t tile, unsigned) {
      if (end[tile + 1] > end[tile])
        take(first + tile, std::span(sorted).subspan(end[tile], end[tile + 1] - end[tile]));
    });
  }

  LightCurvePlan plan_;
  OnDevice on_device_{plan_.device.index};
  CopyStream stream_;
  Event arrived_;
  Curves curves_;
  DeviceArray<std::uint32_t> ring_;
  DeviceArray<float> mean_, reference_, planes_, pixel_;
  DeviceArray<int> peaks_;  ///< [frame of the piece][chan]
  DeviceArray<ScanHit> hits_;
  DeviceArray<std::uint32_t> n_hit_;
  std::unique_ptr<float[], FreePinned> host_plane_;
  std::unique_ptr<std::uint32_t[], FreePinned> hit_count_;
  Upload<ChannelUse> use_;
  Upload<float> factor_, root_, sums_, step_, to_sn_;
  Upload<std::uint8_t> usable_;
  // the same in all scans
  Upload<std::uint32_t> delay_;
  std::uint32_t n_slot_ = 0;
  Upload<Step> steps_;
  Upload<std::int16_t> below_, min_below_;
  Upload<unsigned char> scratch_;
  std::uint32_t max_delay_ = 0;
  // what is copied out goes through these
  mutable Upload<float> some_;
  mutable Upload<std::uint32_t> some_pixels_;
  mutable Upload<std::int16_t> shorts_;
};

}  // namespace

std::unique_ptr<CurveStore> make_cuda_curve_store(const LightCurvePlan& plan) {
  return std::make_unique<CudaCurveStore>(plan);
}

}  // namespace apsyn
