// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/fx_engine.h"

#include <algorithm>
#include <optional>

#include "kernels/common/cuda/spectra.cuh"
#include "kernels/common/cuda/transfer.h"
#include "kernels/common/spectra/validity_mask.h"
#include "kernels/correlate/cuda/fx_results.cuh"
#include "libcore/base/error.h"

namespace apsyn {

namespace {

DeviceXStages stages_of(const CorrelatorPlan& plan, int device_index, std::optional<FloatAlgorithm> floats) {
  const std::size_t n_channel = plan.n_chan * plan.n_fine;
  DeviceXStages stages;
  if (floats)
    stages.floats.emplace(FloatStageShape{n_channel, plan.n_input(), *floats}, device_index);
  else
    stages.integers.emplace(XStageShape{n_channel, plan.n_input()}, device_index);
  return stages;
}

/// Takes gulps through F and X: spectra that the source has are added up, integration after integration.
class CudaFxEngine final : public FxEngine {
 public:
  CudaFxEngine(std::shared_ptr<DeviceSpectrumSource> source, const CorrelatorPlan& plan,
               const IntegrationPlan& integration, const MeanPlan& mean, int device_index,
               std::optional<FloatAlgorithm> floats)
      : source_(std::move(source)),
        plan_(plan),
        integration_(integration),
        device_(device_index),
        stages_(stages_of(plan, device_index, floats)),
        counts_(plan.n_chan, plan.n_ant),
        results_(plan_, mean, device_index, floats.has_value()) {
    if (floats) {
      spectra_ = DeviceArray<float2>(plan.n_chan * plan.n_fine * source_->max_spectra() * plan.n_input());
    } else {
      layout_ = stages_.integers->layout(source_->max_spectra());
      samples_ = stages_.integers->allocate(layout_);
    }
  }

  std::shared_ptr<void> pin(void* memory, std::size_t bytes) override { return pin_memory(memory, bytes); }

  std::function<void()> append(const VoltageBlock& block) override {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    for (std::size_t first = 0; first < block.n_time;) {
      first += source_->append(block, first);
      advance(false);
    }
    return source_->taken();
  }

  void end_of_stream() override {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    source_->end_of_stream();
    advance(true);
    if (next_ > index_ * integration_.n_spectra) finish_integration();
    results_.settle();
  }

  bool next(FxResult& result) override { return results_.next(result); }

  void settle() override { results_.settle(); }

  std::int64_t spectra_done() const override { return next_; }

  double clipped_share() const override { return highest_share(source_->clipped(), plan_.n_fine, next_); }

 private:
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
    if (stages_.floats) {
      const std::size_t stride = source_->max_spectra() * plan_.n_input();
      source_->spectra(next_, validity_, stride, spectra_.data(), stream_.get());
      stages_.floats->add(spectra_.data(), stride, n, stream_.get());
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
      stages_.integers->pack(task, layout_, samples_.data(), stream_.get());
      source_->used(stream_.get());
    } else {
      source_->spectra(next_, validity_, layout_, samples_.data(), stream_.get());
    }
    stages_.integers->add(samples_.data(), layout_, n, stream_.get());
    counts_.add(validity_, plan_.n_threads);
  }

  /// [spectrum][ant] of the batch's validity.
  const std::uint8_t* upload_mask() {
    const std::size_t n = validity_.n_spectra;
    if (mask_sent_) mask_event_.wait();
    if (mask_.size() < n * plan_.n_ant) mask_.resize({n * plan_.n_ant});
    mask_of(validity_, mask_.data());
    std::uint8_t* device = device_mask_.reserve(n * plan_.n_ant);
    cuda_check(cudaMemcpyAsync(device, mask_.data(), n * plan_.n_ant, cudaMemcpyHostToDevice, stream_.get()),
               "copying validity");
    mask_event_.record(stream_.get());
    mask_sent_ = true;
    return device;
  }

  void finish_integration() {
    results_.queue({index_, next_ - index_ * integration_.n_spectra, source_->scales(index_)}, stages_,
                   counts_, stream_.get());
    ++index_;
  }

  std::shared_ptr<DeviceSpectrumSource> source_;
  CorrelatorPlan plan_;
  IntegrationPlan integration_;
  int device_;
  DeviceXStages stages_;
  x_layout::Layout layout_;
  DeviceArray<std::int8_t> samples_;  // of one batch, layout_
  DeviceArray<float2> spectra_;       // of one batch, [channel][max_spectra of the source][input]
  PairCounts counts_;
  SpectraBlock validity_;
  Buffer<std::uint8_t, 1> mask_;
  Upload<std::uint8_t> device_mask_;
  Event mask_event_;
  bool mask_sent_ = false;
  CopyStream stream_;
  std::int64_t next_ = 0, index_ = 0;
  FxResults results_;  // destroyed first: its threads read the plan
};

}  // namespace

std::unique_ptr<FxEngine> make_cuda_fx_engine(std::shared_ptr<DeviceSpectrumSource> source,
                                              const CorrelatorPlan& plan, const IntegrationPlan& integration,
                                              const MeanPlan& mean, int device_index,
                                              std::optional<FloatAlgorithm> floats) {
  return std::make_unique<CudaFxEngine>(std::move(source), plan, integration, mean, device_index, floats);
}

}  // namespace apsyn
