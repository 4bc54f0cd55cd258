// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/excise/excise_cuda.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "kernels/common/cuda/transfer.h"
#include "kernels/excise/block_steps.h"
#include "kernels/excise/cuda/kernels.cuh"
#include "libcore/base/error.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

static_assert(sizeof(excise::Sums) == 24);

class Exciser final : public CudaExciser {
 public:
  Exciser(const ExciseSettings& settings, const RawSampleFormat& format, std::size_t n_time, int device)
      : settings_(settings), format_(format), most_time_(n_time), device_(device) {
    if (device < 0 || device >= cuda_device_count())
      throw DeviceError("cuda:{}: there is no such device", device);
    cuda_check(cudaSetDevice(device_), "choosing the device");
    for (Raw& raw : raw_) raw.bytes = DeviceArray<std::uint8_t>(n_time * format.bytes_per_sample());
    staged_ = pinned<std::uint8_t>(n_time * format.bytes_per_sample());
    clean_ = DeviceArray<std::int8_t>(n_time * format.n_chan);
    about_ = DeviceArray<float>(format.n_chan);
    sums_ = DeviceArray<excise::Sums>(format.n_chan * kStatisticPieces);
    missing_ = DeviceArray<std::uint8_t>(n_time);
    lines_ = DeviceArray<excise::Lines>(format.n_chan);
    n_clipped_ = DeviceArray<unsigned long long>(1);
    host_about_.resize(format.n_chan), host_sums_.resize(format.n_chan * kStatisticPieces);
  }

  BlockStatistics measure(std::span<const std::uint8_t> bytes) override {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    const std::size_t n_time = bytes.size() / format_.bytes_per_sample();
    if (n_measured_ - n_cleaned_ == kBlocks || n_time > most_time_ ||
        bytes.size() % format_.bytes_per_sample() != 0)
      throw std::length_error("CudaExciser: more samples than were announced");
    Raw& raw = raw_[n_measured_ % kBlocks];
    raw.n_time = n_time;
    upload(bytes, raw.bytes.data());
    Steps steps(*this, raw, measuring_);
    BlockStatistics statistics = measure_block(settings_, steps);
    ++n_measured_;
    return statistics;
  }

  void clean(const BlockStatistics* before, const BlockStatistics& now, const BlockStatistics* after,
             std::span<std::uint8_t> good_time, ExciseReport& report) override {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    const Raw& raw = raw_[n_cleaned_ % kBlocks];
    if (n_cleaned_ == n_measured_ || raw.n_time != now.n_time)
      throw std::logic_error("CudaExciser: the statistics of another block");
    cleaned_time_ = now.n_time;
    Steps steps(*this, raw, cleaning_);
    clean_block(settings_, steps, before, now, after, good_time, report);
    wait(cleaning_);
    ++n_cleaned_;
  }

  const std::int8_t* samples() const override { return clean_.data(); }

  void copy(std::int8_t* to) const override {
    cuda_check(cudaMemcpy(to, clean_.data(), cleaned_time_ * format_.n_chan, cudaMemcpyDeviceToHost),
               "copying samples from the device");
  }

 private:
  static constexpr std::size_t kBlocks = 6;  ///< measured and not cleaned
  struct Raw {
    DeviceArray<std::uint8_t> bytes;
    std::size_t n_time = 0;
  };
  /// Measuring one block and cleaning another go on at the same time, each in an order of its own.
  struct Order {
    CopyStream stream;
    Upload<std::uint8_t> mask;
  };

  class Steps final : public BlockSteps {
   public:
    Steps(Exciser& own, const Raw& raw, Order& order) : own_(own), raw_(raw), order_(order) {}
    std::size_t n_time() const override { return raw_.n_time; }
    void measure_channels(BlockStatistics& s, bool look) override {
      own_.measure_channels(raw_, order_, s, look);
    }
    std::uint64_t normalise(const BlockStatistics* before, const BlockStatistics& now,
                            const BlockStatistics* after, const float* common) override {
      return own_.normalise(raw_, order_, before, now, after, common);
    }
    Buffer<float, 2> group_sums(const BlockStatistics& now) override { return own_.group_sums(order_, now); }
    void clear(std::span<const std::size_t> times) override {
      const std::vector<std::uint32_t> all(times.begin(), times.end());
      const std::uint32_t* on_device = own_.send(order_, own_.times_, all);
      excise::launch_clear(own_.clean_.data(), static_cast<int>(own_.format_.n_chan),
                           static_cast<int>(raw_.n_time), on_device, static_cast<int>(all.size()),
                           order_.stream.get());
    }

   private:
    Exciser& own_;
    const Raw& raw_;
    Order& order_;
  };

  template <class T>
  T* send(Order& order, Upload<T>& to, const std::vector<T>& from) {
    T* data = to.reserve(from.size());
    if (!from.empty())
      cuda_check(cudaMemcpyAsync(data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice,
                                 order.stream.get()),
                 "copying to the device");
    return data;
  }
  template <class T>
  void fetch(Order& order, T* to, const T* from, std::size_t n) {
    cuda_check(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDeviceToHost, order.stream.get()),
               "copying from the device");
  }
  /// Through pinned memory by all threads.
  void upload(std::span<const std::uint8_t> bytes, std::uint8_t* to) {
    constexpr std::size_t kPiece = 1u << 18;
    parallel_for(settings_.n_threads, (bytes.size() + kPiece - 1) / kPiece, [&](std::size_t piece, unsigned) {
      cuda_check(cudaSetDevice(device_), "choosing the device");  // of this thread
      const std::size_t at = piece * kPiece, n = std::min(kPiece, bytes.size() - at);
      std::copy_n(bytes.data() + at, n, staged_.get() + at);
      cuda_check(
          cudaMemcpyAsync(to + at, staged_.get() + at, n, cudaMemcpyHostToDevice, measuring_.stream.get()),
          "copying samples to the device");
    });
  }
  static void wait(Order& order) {
    cuda_check(cudaStreamSynchronize(order.stream.get()), "waiting for the device");
  }

  /// The times of `missing` count as not finite.
  excise::RawBlock block(const Raw& raw, Order& order, const std::vector<std::size_t>& missing) {
    excise::RawBlock block;
    block.data = raw.bytes.data();
    block.row_bytes = format_.bytes_per_sample();
    block.n_chan = static_cast<int>(format_.n_chan), block.n_time = static_cast<int>(raw.n_time);
    block.second = format_.sum ? static_cast<int>(format_.n_chan) : 0;
    block.n_bit = format_.n_bit, block.is_signed = format_.is_signed;
    if (missing.empty()) return block;
    std::vector<std::uint8_t> mask(raw.n_time, 0);
    for (const std::size_t t : missing) mask[t] = 1;
    block.missing = send(order, order.mask, mask);
    wait(order);  // for the mask, which goes away
    return block;
  }

  void measure_channels(const Raw& raw, Order& order, BlockStatistics& s, bool look) {
    const std::size_t n_chan = format_.n_chan;
    const excise::RawBlock task = block(raw, order, s.missing);
    excise::launch_sums(task, kStatisticPieces, about_.data(), sums_.data(), order.stream.get());
    const bool looks = look && (settings_.zeros_are_missing || format_.n_bit == 32);
    if (looks) {
      excise::launch_missing(task, settings_.zeros_are_missing, missing_.data(), order.stream.get());
      host_missing_.resize(raw.n_time);
      fetch(order, host_missing_.data(), missing_.data(), raw.n_time);
    }
    fetch(order, host_about_.data(), about_.data(), n_chan);
    fetch(order, host_sums_.data(), sums_.data(), n_chan * kStatisticPieces);
    wait(order);
    std::atomic<std::uint64_t> n_not_finite = 0;
    constexpr std::size_t kSome = 64;
    parallel_for(settings_.n_threads, (n_chan + kSome - 1) / kSome, [&](std::size_t item, unsigned) {
      for (std::size_t chan = item * kSome; chan < std::min(n_chan, (item + 1) * kSome); ++chan) {
        ChannelSums sums;
        sums.about = host_about_[chan];
        for (std::size_t piece = 0; piece < kStatisticPieces; ++piece) {
          const excise::Sums& from = host_sums_[piece * n_chan + chan];
          sums.piece[piece] = {from.sum, from.square, static_cast<std::size_t>(from.n)};
        }
        n_not_finite += measure_channel(sums, chan, s);
      }
    });
    if (!look) return;
    s.n_not_finite = n_not_finite;
    for (std::size_t t = 0; looks && t < raw.n_time; ++t)
      if (host_missing_[t]) s.missing.push_back(t);
  }

  std::uint64_t normalise(const Raw& raw, Order& order, const BlockStatistics* before,
                          const BlockStatistics& now, const BlockStatistics* after, const float* common) {
    excise::NormaliseTask task{};
    task.block = block(raw, order, now.missing);
    std::vector<excise::Lines> lines(format_.n_chan, excise::Lines{0, 0, 0, 0});
    for (std::size_t chan = 0; chan < lines.size(); ++chan) {
      if (!now.good[chan]) continue;
      const ChannelLines own = lines_of(before, now, after, chan);
      lines[chan] = {own.head.level, own.head.slope, own.tail.slope, own.head.scale};
      task.head_first = own.head.first, task.tail_first = own.tail.first;
    }
    cuda_check(cudaMemcpyAsync(lines_.data(), lines.data(), lines.size() * sizeof(excise::Lines),
                               cudaMemcpyHostToDevice, order.stream.get()),
               "copying to the device");
    cuda_check(cudaMemsetAsync(n_clipped_.data(), 0, sizeof(unsigned long long), order.stream.get()),
               "clearing device memory");
    if (common != nullptr)
      task.common = send(order, common_, std::vector<float>(common, common + now.n_time));
    task.lines = lines_.data(), task.out = clean_.data(), task.n_clipped = n_clipped_.data();
    excise::launch_normalise(task, order.stream.get());
    unsigned long long n_clipped = 0;
    fetch(order, &n_clipped, n_clipped_.data(), 1);
    wait(order);
    return n_clipped;
  }

  Buffer<float, 2> group_sums(Order& order, const BlockStatistics& now) {
    const ChannelGroups groups = groups_of(now);
    Buffer<float, 2> sums({groups.n_group, now.n_time});
    if (groups.n_group == 0) return sums;
    std::vector<std::uint32_t> begin;
    for (std::size_t group = 0; group <= groups.n_group; ++group)
      begin.push_back(static_cast<std::uint32_t>(groups.begin(group)));
    const std::uint32_t *channel = send(order, channels_, groups.channel),
                        *begins = send(order, begins_, begin);
    float* on_device = group_sums_.reserve(groups.n_group * now.n_time);
    excise::launch_group_sums(clean_.data(), static_cast<int>(now.n_time), channel, begins,
                              static_cast<int>(groups.n_group), on_device, order.stream.get());
    fetch(order, sums.data(), on_device, sums.size());
    wait(order);
    return sums;
  }

  ExciseSettings settings_;
  RawSampleFormat format_;
  std::size_t most_time_, cleaned_time_ = 0;
  int device_;
  Order measuring_, cleaning_;
  std::unique_ptr<std::uint8_t[], FreePinned> staged_;  ///< on their way to the device
  Raw raw_[kBlocks];
  std::atomic<std::size_t> n_measured_ = 0, n_cleaned_ = 0;
  DeviceArray<std::int8_t> clean_;  ///< [chan][time]
  DeviceArray<float> about_;
  DeviceArray<excise::Sums> sums_;  ///< [piece][chan]
  DeviceArray<std::uint8_t> missing_;
  DeviceArray<excise::Lines> lines_;
  DeviceArray<unsigned long long> n_clipped_;
  Upload<std::uint32_t> channels_, begins_, times_;
  Upload<float> common_, group_sums_;
  std::vector<float> host_about_;
  std::vector<excise::Sums> host_sums_;
  std::vector<std::uint8_t> host_missing_;
};

}  // namespace

std::unique_ptr<CudaExciser> make_cuda_exciser(const ExciseSettings& settings, const RawSampleFormat& format,
                                               std::size_t n_time, int device_index) {
  cuda_check(cudaSetDevice(device_index), "choosing the device");  // before there are streams
  return std::make_unique<Exciser>(settings, format, n_time, device_index);
}

}  // namespace apsyn
