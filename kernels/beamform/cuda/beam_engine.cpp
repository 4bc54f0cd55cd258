// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/beamform/beam_engine.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/beamform/cuda/device.cuh"
#include "kernels/common/cuda/spectra.cuh"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn {

std::uint64_t cuda_beam_device_bytes(const BeamformPlan& plan, const CudaBeamPlan& cuda) {
  const std::uint64_t value_bytes = cuda.precision == BeamPrecision::single ? 8
                                    : cuda.scale_spectra > 0                ? 2
                                                                            : 0;
  const std::uint64_t spectra = value_bytes * plan.n_channel() * plan.n_input() * cuda.batch_spectra;
  return 2 * out_bytes_of(plan, cuda.batch_spectra) + spectra + DeviceBeams::kMaxWeightBytes +
         DeviceBeams::kScratchBytes;
}

bool cuda_beams_of_int8(int device_index) {
  return beam_products::supported(device_index);
}

namespace {

class CudaBeamEngine final : public BeamEngine {
 public:
  CudaBeamEngine(std::shared_ptr<DeviceSpectrumSource> source, BeamformPlan plan, BeamDelaySource& delays,
                 int device_index, const CudaBeamPlan& cuda)
      : source_(std::move(source)),
        plan_(std::move(plan)),
        device_(device_index),
        integers_(cuda.precision != BeamPrecision::single),
        most_(std::min(cuda.batch_spectra, source_->max_spectra())),
        scale_spectra_(cuda.scale_spectra),
        beams_(plan_, delays, device_index, cuda.precision) {
    if (integers_ ? (scale_spectra_ > 0) == source_->untouched() : scale_spectra_ > 0)
      throw std::logic_error("CudaBeamEngine: integer spectra and no others take integer weights");
    if (!integers_ && !source_->untouched())
      spectra_ = DeviceArray<float2>(plan_.n_channel() * most_ * plan_.n_input());
    if (scale_spectra_ > 0) {
      layout_ = {x_layout::Bits::eight, static_cast<int>(plan_.n_channel()),
                 static_cast<int>((most_ + x_layout::kBlockSpectra - 1) / x_layout::kBlockSpectra),
                 static_cast<int>(plan_.n_input()), static_cast<int>(plan_.n_input())};
      codes_ = DeviceArray<std::int8_t>(layout_.bytes());
    }
    for (Slot& slot : slots_) {
      const std::size_t n = out_bytes_of(plan_, most_) / sizeof(float);
      slot.host = pinned<float>(n);
      slot.device = DeviceArray<float>(n);
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
    for (std::size_t i = 0; i < 2; ++i) collect(slots_[turn_++ % 2]);
    cuda_check(cudaStreamSynchronize(stream_.get()), "forming beams");  // a batch that completed nothing
  }

  void set_gains(BeamGains gains) override { coming_ = std::move(gains); }

  bool next(BeamBlock& beams) override {
    if (done_.empty()) return false;
    std::swap(beams, done_.front());
    spare_.push_back(std::move(done_.front()));
    done_.pop_front();
    return true;
  }

  std::int64_t spectra_done() const override { return next_; }

  double clipped_share() const override { return highest_share(source_->clipped(), plan_.n_fine, next_); }

 private:
  /// Beams of a batch on their way to the host.
  struct Slot {
    DeviceArray<float> device;
    std::unique_ptr<float[], FreePinned> host;
    Event made, arrived;
    bool busy = false;
    std::int64_t first = 0;
    std::size_t n_time = 0;
  };

  void advance(bool at_end) {
    const auto good = static_cast<std::int64_t>(source_->good_spectra());
    std::int64_t held = source_->available() - next_;
    if (!at_end) held = held / good * good;
    while (held > 0) {
      std::int64_t most = std::min(held, static_cast<std::int64_t>(most_));
      if (coming_) most = std::min(most, renew_gains());
      if (scale_spectra_ > 0) most = std::min(most, scale_spectra_ - next_ % scale_spectra_);
      const std::int64_t n = beams_.batch_of(next_, most);
      add(static_cast<std::size_t>(n));
      next_ += n;
      held -= n;
      source_->release(next_);
    }
  }

  /// Takes the new gains when an integration begins; returns the spectra until one does.
  std::int64_t renew_gains() {
    const auto n_integrate = static_cast<std::int64_t>(plan_.n_integrate);
    const std::int64_t left = n_integrate - next_ % n_integrate;
    if (left < n_integrate) return left;
    cuda_check(cudaStreamSynchronize(stream_.get()), "forming beams");
    plan_.calibration = std::move(coming_->calibration);
    plan_.member = std::move(coming_->member);
    coming_.reset();
    beams_.renew_gains();
    if (scale_spectra_ > 0 && next_ % scale_spectra_ != 0)
      beams_.set_scales(source_->scales(next_ / scale_spectra_));
    return std::numeric_limits<std::int64_t>::max();
  }

  void add(std::size_t n) {
    Slot& slot = slots_[turn_++ % 2];
    collect(slot);
    validity_.n_spectra = n;
    if (scale_spectra_ > 0) {
      source_->spectra(next_, validity_, layout_, codes_.data(), stream_.get());
      if (next_ % scale_spectra_ == 0) beams_.set_scales(source_->scales(next_ / scale_spectra_));
      beams_.of_codes(next_, validity_, codes_.data(), layout_, slot.device.data(), stream_.get());
    } else if (source_->untouched()) {
      const DeviceSamples samples = source_->samples(next_, validity_, stream_.get());
      beams_.of_samples(next_, validity_, samples, slot.device.data(), stream_.get());
      source_->used(stream_.get());
    } else {
      const std::size_t stride = most_ * plan_.n_input();
      source_->spectra(next_, validity_, stride, spectra_.data(), stream_.get());
      beams_.of_spectra(next_, validity_, {spectra_.data(), stride}, slot.device.data(), stream_.get());
    }
    const auto n_integrate = static_cast<std::int64_t>(plan_.n_integrate);
    slot.first = next_ / n_integrate;
    slot.n_time = static_cast<std::size_t>((next_ + static_cast<std::int64_t>(n)) / n_integrate - slot.first);
    if (slot.n_time == 0) return;
    slot.made.record(stream_.get());
    slot.made.hold(copies_.get());
    cuda_check(cudaMemcpyAsync(slot.host.get(), slot.device.data(), slot.n_time * out_time_bytes(plan_),
                               cudaMemcpyDeviceToHost, copies_.get()),
               "copying beams");
    slot.arrived.record(copies_.get());
    slot.busy = true;
  }

  /// Waits for a slot's beams and keeps them.
  void collect(Slot& slot) {
    if (!slot.busy) return;
    slot.arrived.wait();
    slot.busy = false;
    BeamBlock beams;
    if (!spare_.empty()) {
      beams = std::move(spare_.back());
      spare_.pop_back();
    }
    beams.first = slot.first;
    beams.n_time = slot.n_time;
    const std::size_t n_value = plan_.n_out_channel() * plan_.n_value(), n_beam = slot.n_time * n_value;
    beams.values.resize_for_overwrite({plan_.n_beam, slot.n_time, n_value});
    parallel_for(plan_.n_threads, plan_.n_beam, [&](std::size_t beam, unsigned) {
      std::copy_n(slot.host.get() + beam * n_beam, n_beam, beams.values.data() + beam * n_beam);
    });
    done_.push_back(std::move(beams));
  }

  std::shared_ptr<DeviceSpectrumSource> source_;
  BeamformPlan plan_;
  int device_;
  bool integers_;
  std::size_t most_;
  std::int64_t scale_spectra_;
  DeviceBeams beams_;
  x_layout::Layout layout_;
  DeviceArray<std::int8_t> codes_;  // of one batch, layout_
  DeviceArray<float2> spectra_;     // of one batch, [channel][most_][input]
  SpectraBlock validity_;
  Slot slots_[2];
  unsigned turn_ = 0;
  std::int64_t next_ = 0;
  std::deque<BeamBlock> done_;
  std::vector<BeamBlock> spare_;
  std::optional<BeamGains> coming_;
  CopyStream stream_, copies_;
};

}  // namespace

std::unique_ptr<BeamEngine> make_cuda_beam_engine(std::shared_ptr<DeviceSpectrumSource> source,
                                                  BeamformPlan plan, BeamDelaySource& delays,
                                                  int device_index, const CudaBeamPlan& cuda) {
  return std::make_unique<CudaBeamEngine>(std::move(source), std::move(plan), delays, device_index, cuda);
}

}  // namespace apsyn
