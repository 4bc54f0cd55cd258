// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/cuda/fx_results.cuh"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

#include "libcore/system/parallel.h"

namespace apsyn {

static_assert(2 * PieceCopy::kPieces * PieceCopy::kPieceBytes == kFxPieceBytes);

namespace {

/// One integration's sums on the host: in the steps of requantised spectra if requantisation is to be
/// corrected, otherwise in units of the samples.
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

}  // namespace

FxResults::FxResults(const CorrelatorPlan& plan, const MeanPlan& mean, int device_index, bool floats)
    : plan_(plan), mean_(mean), device_(device_index), floats_(floats) {
  with_autos_ = mean.baselines.empty() || mean.baselines[0].ant1 == mean.baselines[0].ant2;
  const std::size_t expected = plan.n_ant * (plan.n_ant + 1) / 2 - (with_autos_ ? 0 : plan.n_ant);
  if (mean.baselines.size() != expected) throw std::logic_error("FxResults: not all baselines");
  on_host_ = mean.quantisers.recorder || mean.quantisers.requantiser;
  for (Slot& slot : slots_) {
    if (!on_host_) {
      slot.data = DeviceArray<float2>(mean_size());
      slot.weight = DeviceArray<float>(mean_size());
      slot.copy.emplace(plan.n_threads);
      continue;
    }
    const std::size_t n_sums = n_channel() * plan.n_input() * (plan.n_input() + 1);
    if (floats)
      slot.float_sums = pinned<double>(n_sums);
    else
      slot.sums = pinned<std::int64_t>(n_sums);
    slot.counts.emplace(plan.n_chan, plan.n_ant);
  }
}

void FxResults::queue(const FxIntegration& integration, DeviceXStages& stages, PairCounts& counts,
                      cudaStream_t stream) {
  Slot& slot = slots_[turn_++ % 2];
  collect(slot);
  if (on_host_)
    queue_sums(slot, integration, stages, counts, stream);
  else
    queue_means(slot, integration, stages, counts, stream);
  counts.clear();
  FxResult result;
  if (!spare_.empty()) {
    result = std::move(spare_.back());
    spare_.pop_back();
  }
  result.record.index = integration.index;
  result.n_spectra = integration.n_spectra;
  // in another thread, so that the next gulps do not wait for hundreds of megabytes to be copied
  slot.result = std::async(std::launch::async, [this, &slot, result = std::move(result)]() mutable {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    slot.arrived.wait();
    fill(slot, result);
    return std::move(result);
  });
}

bool FxResults::next(FxResult& result) {
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

void FxResults::settle() {
  for (std::size_t i = 0; i < 2; ++i) collect(slots_[turn_++ % 2]);
}

/// Queues the copy of the sums to the host, which corrects for quantisers.
void FxResults::queue_sums(Slot& slot, const FxIntegration& integration, DeviceXStages& stages,
                           PairCounts& counts, cudaStream_t stream) {
  slot.scales.assign(integration.scales.begin(), integration.scales.end());
  std::swap(*slot.counts, counts);
  if (floats_)
    stages.floats->finish_sums(slot.float_sums.get(), stream);
  else
    stages.integers->finish_sums(slot.sums.get(), stream);
  slot.arrived.record(stream);
}

void FxResults::queue_means(Slot& slot, const FxIntegration& integration, DeviceXStages& stages,
                            const PairCounts& counts, cudaStream_t stream) {
  x_stage::MeanTask task;
  task.n_ant = static_cast<int>(plan_.n_ant);
  task.n_pol = static_cast<int>(plan_.n_pol);
  task.with_autos = with_autos_;
  task.n_average = static_cast<int>(mean_.n_average);
  task.n_fine = static_cast<int>(plan_.n_fine);
  task.scale = mean_.scale;
  task.full = static_cast<double>(mean_.n_spectra) * static_cast<double>(mean_.n_average);
  upload_tables(slot, integration, counts, task, stream);
  task.data = slot.data.data();
  task.weight = slot.weight.data();
  if (floats_)
    stages.floats->finish_means(task, stream);
  else
    stages.integers->finish_means(task, stream);
  slot.arrived.record(stream);
}

/// Uploads counts and 1 / (gain * scale) if they are needed.
void FxResults::upload_tables(Slot& slot, const FxIntegration& integration, const PairCounts& counts,
                              x_stage::MeanTask& task, cudaStream_t stream) {
  const std::size_t n_input = plan_.n_input(), n_pair = plan_.n_ant * (plan_.n_ant + 1) / 2;
  const View<const float, 2> scales = integration.scales;
  const bool gains = mean_.gains.size() > 0 || scales.size() > 0;
  const auto uniform = counts.uniform();
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
    counts.copy({to, {plan_.n_chan, n_pair}});
    task.counts = reinterpret_cast<const std::int64_t*>(device + gain_bytes);
  }
  if (gains) {
    auto* to = reinterpret_cast<std::complex<double>*>(slot.tables.get());
    for (std::size_t channel = 0; channel < n_channel(); ++channel)
      for (std::size_t input = 0; input < n_input; ++input) *to++ = inverse_gain(scales, channel, input);
    task.inverse_gains = reinterpret_cast<const double2*>(device);
  }
  cuda_check(cudaMemcpyAsync(device, slot.tables.get(), bytes, cudaMemcpyHostToDevice, stream),
             "copying gains and counts");
}

std::complex<double> FxResults::inverse_gain(const View<const float, 2>& scales, std::size_t channel,
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
void FxResults::collect(Slot& slot) {
  if (slot.result.valid()) done_.push_back(slot.result.get());
}

/// Fills a result from sums that have arrived, or from means that are made.
void FxResults::fill(Slot& slot, FxResult& result) const {
  if (!on_host_) return copy_means(slot, result);
  const auto mean_on_host = [&](const auto* sums) {
    const HostSums host(sums, *slot.counts, slot.scales, plan_, mean_.quantisers.requantiser != nullptr);
    return mean_of(host, plan_, mean_, result.record);
  };
  result.any_data = floats_ ? mean_on_host(slot.float_sums.get()) : mean_on_host(slot.sums.get());
}

void FxResults::copy_means(Slot& slot, FxResult& result) const {
  const std::array<std::size_t, 3> shape{mean_.baselines.size(), n_channel() / mean_.n_average,
                                         plan_.n_pol * plan_.n_pol};
  VisibilityRecord& record = result.record;
  if (record.data.shape() != shape) {
    resize_by_threads(plan_.n_threads, shape, record.data);
    resize_by_threads(plan_.n_threads, shape, record.weight);
  }
  slot.copy->copy(slot.data.data(), mean_size() * sizeof(float2), record.data.data());
  slot.copy->copy(slot.weight.data(), mean_size() * sizeof(float), record.weight.data());
  result.any_data =
      std::any_of(record.weight.begin(), record.weight.end(), [](float weight) { return weight > 0; });
}

}  // namespace apsyn
