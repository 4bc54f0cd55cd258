// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/fx_engine.h"

#include "libcore/core/error.h"

#ifdef APSYN_CUDA
#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <optional>
#include <stdexcept>

#include "kernels/common/device_spectra.cuh"
#include "kernels/common/device_transfer.h"
#include "kernels/correlate/float_stage.cuh"
#include "kernels/correlate/x_stage_device.cuh"
#include "libcore/core/parallel.h"
#endif

namespace apsyn {

std::uint64_t cuda_fx_device_bytes(const CorrelatorPlan& plan, const MeanPlan& mean,
                                   std::size_t max_spectra) {
  const std::uint64_t n_input = plan.n_input(), n_channel = plan.n_chan * plan.n_fine;
  const std::uint64_t tile = n_input > 64 ? 128 : 64, padded = (n_input + tile - 1) / tile * tile;
  const std::uint64_t sums = padded * (padded + tile) / 2 * 8 + n_input * (n_input + 1) / 2 * 16;
  return n_channel * (sums + padded * 2 * max_spectra + n_input * 16) +
         n_channel / mean.n_average * mean.baselines.size() * plan.n_pol * plan.n_pol * 12;
}

#ifdef APSYN_CUDA
namespace {

/// One integration's sums on the host: of the steps that spectra were requantised to where that is to be
/// taken out of them, otherwise in units of the samples.
template <class Value>
class HostSums final : public CorrelationSums {
 public:
  HostSums(const Value* sums, const PairCounts& counts, const std::vector<float>& scales,
           const CorrelatorPlan& plan, bool of_steps)
      : sums_(sums), counts_(counts), scales_(scales), plan_(plan), of_steps_(of_steps) {}

  std::complex<double> sum(std::size_t channel, std::size_t i, std::size_t j) const override {
    if (i > j) return std::conj(sum(channel, j, i));
    const std::size_t n = plan_.n_input(), n_pair = n * (n + 1) / 2;
    const Value* at = sums_ + 2 * (channel * n_pair + i * n - i * (i + 1) / 2 + j);
    const std::complex<double> steps(static_cast<double>(at[0]), static_cast<double>(at[1]));
    if (scales_.empty() || of_steps_) return steps;
    const std::size_t row = channel / plan_.n_fine * n;
    return steps / (static_cast<double>(scales_[row + i]) * static_cast<double>(scales_[row + j]));
  }
  double steps_per_unit(std::size_t input_chan, std::size_t input) const override {
    return of_steps_ && !scales_.empty() ? static_cast<double>(scales_[input_chan * plan_.n_input() + input])
                                         : 1;
  }
  std::int64_t count(std::size_t input_chan, std::size_t ant1, std::size_t ant2) const override {
    return counts_(input_chan, ant1, ant2);
  }

 private:
  const Value* sums_;  // [channel][pair][re, im]
  const PairCounts& counts_;
  const std::vector<float>& scales_;  // [chan][input]
  const CorrelatorPlan& plan_;
  bool of_steps_;
};

class CudaFxEngine final : public FxEngine {
 public:
  CudaFxEngine(std::shared_ptr<DeviceSpectrumSource> source, const CorrelatorPlan& plan,
               const IntegrationPlan& integration, const MeanPlan& mean, int device_index,
               std::optional<FloatAlgorithm> floats)
      : source_(std::move(source)),
        plan_(plan),
        integration_(integration),
        mean_(mean),
        device_(device_index),
        counts_(plan.n_chan, plan.n_ant) {
    if (floats) {
      floats_.emplace(FloatStageShape{n_channel(), plan.n_input(), *floats}, device_index);
      spectra_ = DeviceArray<float2>(n_channel() * source_->max_spectra() * plan.n_input());
    } else {
      integers_.emplace(XStageShape{n_channel(), plan.n_input(), source_->max_spectra()}, device_index);
      layout_ = integers_->layout(source_->max_spectra());
      samples_ = integers_->allocate(layout_);
    }
    with_autos_ = mean.baselines.empty() || mean.baselines[0].ant1 == mean.baselines[0].ant2;
    const std::size_t expected = plan.n_ant * (plan.n_ant + 1) / 2 - (with_autos_ ? 0 : plan.n_ant);
    if (mean.baselines.size() != expected) throw std::logic_error("CudaFxEngine: not all baselines");
    host_means_ = mean.quantisers.recorder || mean.quantisers.requantiser;
    for (Slot& slot : slots_) {
      if (host_means_) {
        const std::size_t n_sums = n_channel() * plan.n_input() * (plan.n_input() + 1);
        if (floats)
          slot.float_sums = pinned<double>(n_sums);
        else
          slot.sums = pinned<std::int64_t>(n_sums);
        slot.counts.emplace(plan.n_chan, plan.n_ant);
        continue;
      }
      slot.data = pinned<std::complex<float>>(mean_size());
      slot.weight = pinned<float>(mean_size());
    }
  }

  std::shared_ptr<void> pin(void* memory, std::size_t bytes) override { return pin_memory(memory, bytes); }

  void append(const VoltageBlock& block) override {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    for (std::size_t first = 0; first < block.n_time;) {
      first += source_->append(block, first);
      advance(false);
    }
    source_->settle();
  }

  void end_of_stream() override {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    source_->end_of_stream();
    advance(true);
    if (next_ > index_ * integration_.n_spectra) finish_integration();
    for (std::size_t i = 0; i < 2; ++i) collect(slots_[turn_++ % 2]);
  }

  bool next(FxResult& result) override {
    for (std::size_t i = 0; i < 2; ++i) {  // the older first
      Slot& slot = slots_[(turn_ + i) % 2];
      if (slot.result.valid() && slot.result.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
        collect(slot);
      else if (slot.result.valid())
        break;
    }
    if (done_.empty()) return false;
    std::swap(result, done_.front());
    spare_.push_back(std::move(done_.front()));
    done_.pop_front();
    return true;
  }

  std::int64_t spectra_done() const override { return next_; }

  double clipped_share() const override { return highest_share(source_->clipped(), plan_.n_fine, next_); }

 private:
  /// Means on their way to the host, and what they are made with.
  struct Slot {
    std::unique_ptr<std::complex<float>[], FreePinned> data;
    std::unique_ptr<float[], FreePinned> weight;
    // ... or what they are made of, on the host
    std::unique_ptr<std::int64_t[], FreePinned> sums;
    std::unique_ptr<double[], FreePinned> float_sums;
    std::optional<PairCounts> counts;
    std::vector<float> scales;
    std::unique_ptr<std::uint8_t[], FreePinned> tables;
    std::size_t table_bytes = 0;
    Upload<std::uint8_t> device_tables;
    Event arrived;
    std::future<FxResult> result;  // valid while it is being made; destroyed first, which waits for it
  };

  std::size_t n_channel() const { return plan_.n_chan * plan_.n_fine; }
  std::size_t mean_size() const {
    return mean_.baselines.size() * (n_channel() / mean_.n_average) * plan_.n_pol * plan_.n_pol;
  }

  void advance(bool at_end) {
    const auto most = static_cast<std::int64_t>(source_->max_spectra());
    const auto good = static_cast<std::int64_t>(source_->good_spectra());
    for (;;) {
      const std::int64_t end = (index_ + 1) * integration_.n_spectra, held = source_->available() - next_;
      std::int64_t n = std::min(end - next_, most);
      if (n > held) n = at_end ? held : held / good * good;
      if (n <= 0) return;
      add(static_cast<std::size_t>(n));
      next_ += n;
      if (next_ == end) finish_integration();
      source_->release(next_);
    }
  }

  void add(std::size_t n) {
    validity_.n_spectra = n;
    if (floats_) {
      const std::size_t stride = source_->max_spectra() * plan_.n_input();
      source_->spectra(next_, validity_, stride, spectra_.data(), stream_.get());
      floats_->add(spectra_.data(), stride, n, stream_.get());
      counts_.add(validity_, plan_.n_threads);
      return;
    }
    if (source_->untouched()) {
      const DeviceSamples samples = source_->samples(next_, validity_, stream_.get());
      x_stage::PackTask task;
      task.in = samples.data;
      task.format = samples.four_bit ? x_stage::RawFormat::int4 : x_stage::RawFormat::int8;
      task.n_time = static_cast<int>(n);
      task.n_pol = static_cast<int>(plan_.n_pol);
      if (!validity_.all_valid) task.valid = upload_mask();
      integers_->pack(task, layout_, samples_.data(), stream_.get());
      source_->used(stream_.get());
    } else {
      source_->spectra(next_, validity_, layout_, samples_.data(), stream_.get());
    }
    integers_->add(samples_.data(), layout_, n, stream_.get());
    counts_.add(validity_, plan_.n_threads);
  }

  /// [spectrum][ant] of the batch's validity.
  const std::uint8_t* upload_mask() {
    const std::size_t n = validity_.n_spectra;
    if (mask_sent_) mask_event_.wait();
    if (mask_.size() < n * plan_.n_ant) mask_.resize({n * plan_.n_ant});
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant)
      for (std::size_t i = 0; i < n; ++i) mask_(i * plan_.n_ant + ant) = validity_.valid(0, ant, i);
    std::uint8_t* device = device_mask_.reserve(n * plan_.n_ant);
    cuda_check(cudaMemcpyAsync(device, mask_.data(), n * plan_.n_ant, cudaMemcpyHostToDevice, stream_.get()),
               "copying validity");
    mask_event_.record(stream_.get());
    mask_sent_ = true;
    return device;
  }

  void finish_integration() {
    Slot& slot = slots_[turn_++ % 2];
    collect(slot);
    if (host_means_) {
      const View<const float, 2> scales = source_->scales(index_);
      slot.scales.assign(scales.begin(), scales.end());
      std::swap(*slot.counts, counts_);
      if (floats_)
        floats_->finish_sums(slot.float_sums.get(), stream_.get());
      else
        integers_->finish_sums(slot.sums.get(), stream_.get());
    } else {
      queue_means(slot);
    }
    slot.arrived.record(host_means_ ? stream_.get() : mean_copies_.get());
    FxResult result;
    if (!spare_.empty()) {
      result = std::move(spare_.back());
      spare_.pop_back();
    }
    result.record.index = index_;
    result.n_spectra = next_ - index_ * integration_.n_spectra;
    // by other threads: the next gulps must not wait for hundreds of megabytes to be copied
    slot.result = std::async(std::launch::async, [this, &slot, result = std::move(result)]() mutable {
      cuda_check(cudaSetDevice(device_), "choosing the device");
      slot.arrived.wait();
      fill(slot, result);
      return std::move(result);
    });
    counts_.clear();
    ++index_;
  }

  void queue_means(Slot& slot) {
    x_stage::MeanTask task;
    task.n_ant = static_cast<int>(plan_.n_ant);
    task.n_pol = static_cast<int>(plan_.n_pol);
    task.with_autos = with_autos_;
    task.n_average = static_cast<int>(mean_.n_average);
    task.n_fine = static_cast<int>(plan_.n_fine);
    task.scale = mean_.scale;
    task.full = static_cast<double>(mean_.n_spectra) * static_cast<double>(mean_.n_average);
    upload_tables(slot, task);
    const MeanOutput output{slot.data.get(), slot.weight.get(), mean_copies_.get()};
    if (floats_)
      floats_->finish_means(task, output, stream_.get());
    else
      integers_->finish_means(task, output, stream_.get());
  }

  /// Counts and 1 / (gain * scale), where they are needed.
  void upload_tables(Slot& slot, x_stage::MeanTask& task) {
    const std::size_t n_input = plan_.n_input(), n_pair = plan_.n_ant * (plan_.n_ant + 1) / 2;
    const View<const float, 2> scales = source_->scales(index_);
    const bool gains = mean_.gains.size() > 0 || scales.size() > 0;
    const auto uniform = counts_.uniform();
    if (uniform) task.n_valid = *uniform;
    const std::size_t count_bytes = uniform ? 0 : plan_.n_chan * n_pair * sizeof(std::int64_t);
    const std::size_t gain_bytes = gains ? n_channel() * n_input * sizeof(std::complex<double>) : 0;
    const std::size_t bytes = count_bytes + gain_bytes;
    if (bytes == 0) return;
    if (slot.table_bytes < bytes) {
      slot.tables = pinned<std::uint8_t>(bytes);
      slot.table_bytes = bytes;
    }
    std::uint8_t* device = slot.device_tables.reserve(bytes);
    if (!uniform) {
      auto* to = reinterpret_cast<std::int64_t*>(slot.tables.get() + gain_bytes);
      counts_.copy({to, {plan_.n_chan, n_pair}});
      task.counts = reinterpret_cast<const std::int64_t*>(device + gain_bytes);
    }
    if (gains) {
      auto* to = reinterpret_cast<std::complex<double>*>(slot.tables.get());
      for (std::size_t channel = 0; channel < n_channel(); ++channel)
        for (std::size_t input = 0; input < n_input; ++input) *to++ = inverse_gain(scales, channel, input);
      task.inverse_gains = reinterpret_cast<const double2*>(device);
    }
    cuda_check(cudaMemcpyAsync(device, slot.tables.get(), bytes, cudaMemcpyHostToDevice, stream_.get()),
               "copying gains and counts");
  }

  std::complex<double> inverse_gain(const View<const float, 2>& scales, std::size_t channel,
                                    std::size_t input) const {
    const std::size_t chan = channel / plan_.n_fine;
    std::complex<double> inverse = 1.0;
    if (mean_.gains.size() > 0)
      inverse /= mean_.gains(input / plan_.n_pol, input % plan_.n_pol,
                             mean_.gains.extent(2) == plan_.n_chan ? chan : channel);
    if (scales.size() > 0) inverse *= 1 / static_cast<double>(scales(chan, input));
    return inverse;
  }

  /// Waits for a slot's result and keeps it.
  void collect(Slot& slot) {
    if (slot.result.valid()) done_.push_back(slot.result.get());
  }

  /// Of sums or means that have arrived.
  void fill(const Slot& slot, FxResult& result) const {
    if (host_means_)
      result.any_data = floats_ ? mean_on_host(slot, slot.float_sums.get(), result.record)
                                : mean_on_host(slot, slot.sums.get(), result.record);
    else
      copy_means(slot, result);
  }

  template <class Value>
  bool mean_on_host(const Slot& slot, const Value* sums, VisibilityRecord& record) const {
    const HostSums<Value> host(sums, *slot.counts, slot.scales, plan_,
                               mean_.quantisers.requantiser != nullptr);
    return mean_of(host, plan_, mean_, record);
  }

  void copy_means(const Slot& slot, FxResult& result) const {
    const std::array<std::size_t, 3> shape{mean_.baselines.size(), n_channel() / mean_.n_average,
                                           plan_.n_pol * plan_.n_pol};
    if (result.record.data.shape() != shape) {
      resize_by_threads(plan_.n_threads, shape, result.record.data);
      resize_by_threads(plan_.n_threads, shape, result.record.weight);
    }
    copy_by_threads(slot.data.get(), result.record.data.data());
    copy_by_threads(slot.weight.get(), result.record.weight.data());
    result.any_data = std::any_of(result.record.weight.begin(), result.record.weight.end(),
                                  [](float weight) { return weight > 0; });
  }

  template <class T>
  void copy_by_threads(const T* from, T* to) const {
    constexpr std::size_t kPiece = std::size_t{1} << 19;
    const std::size_t size = mean_size();
    parallel_for(plan_.n_threads, (size + kPiece - 1) / kPiece, [&](std::size_t piece, unsigned) {
      std::copy_n(from + piece * kPiece, std::min(kPiece, size - piece * kPiece), to + piece * kPiece);
    });
  }

  std::shared_ptr<DeviceSpectrumSource> source_;
  CorrelatorPlan plan_;
  IntegrationPlan integration_;
  const MeanPlan& mean_;
  int device_;
  std::optional<DeviceXStage> integers_;
  x_layout::Layout layout_;
  DeviceArray<std::int8_t> samples_;  // of one batch, layout_
  std::optional<DeviceFloatStage> floats_;
  DeviceArray<float2> spectra_;  // of one batch, [channel][max_spectra of the source][input]
  PairCounts counts_;
  SpectraBlock validity_;
  bool with_autos_ = true, host_means_ = false;
  Buffer<std::uint8_t, 1> mask_;
  Upload<std::uint8_t> device_mask_;
  Event mask_event_;
  bool mask_sent_ = false;
  CopyStream stream_, mean_copies_;
  Slot slots_[2];
  unsigned turn_ = 0;
  std::int64_t next_ = 0, index_ = 0;
  std::deque<FxResult> done_;
  std::vector<FxResult> spare_;
};

}  // namespace

std::unique_ptr<FxEngine> make_cuda_fx_engine(std::shared_ptr<DeviceSpectrumSource> source,
                                              const CorrelatorPlan& plan, const IntegrationPlan& integration,
                                              const MeanPlan& mean, int device_index,
                                              std::optional<FloatAlgorithm> floats) {
  return std::make_unique<CudaFxEngine>(std::move(source), plan, integration, mean, device_index, floats);
}
#else
std::unique_ptr<FxEngine> make_cuda_fx_engine(std::shared_ptr<DeviceSpectrumSource>, const CorrelatorPlan&,
                                              const IntegrationPlan&, const MeanPlan&, int device_index,
                                              std::optional<FloatAlgorithm>) {
  throw DeviceError("cuda:{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device_index);
}
#endif

}  // namespace apsyn
