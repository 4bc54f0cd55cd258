// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/channelise_cuda.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "kernels/channelise/cuda/kernels.cuh"
#include "kernels/channelise/cuda/long/batches.cuh"
#include "kernels/channelise/cuda/sample_window.cuh"
#include "kernels/channelise/cuda/stepwise.cuh"
#include "kernels/channelise/cuda_sizes.h"
#include "kernels/channelise/input_scales.h"
#include "kernels/channelise/long_factors.h"
#include "kernels/channelise/placement.h"
#include "kernels/channelise/spectrum_placement.h"
#include "kernels/common/cuda/spectra.cuh"
#include "libcore/base/error.h"

namespace apsyn {

namespace {

using f_stage::IntegerPath;
using f_stage::SampleFormat;

class CudaChanneliser final : public DeviceSpectrumSource {
 public:
  CudaChanneliser(const CudaChannelisePlan& plan, DelaySource* delays)
      : plan_(plan),
        f_(plan_.f),
        placement_(f_, delays),
        validity_(f_.n_chan, f_.n_ant),
        max_spectra_(cuda_max_spectra(plan)),
        window_(window_plan()) {
    if (plan_.requantisation.n_bit != 0 && plan_.requantisation.n_bit != 8)
      throw UsageError("--requantise {}: spectra on a GPU are made of 8 bits or none",
                       plan_.requantisation.n_bit);
    if (plan_.requantisation.n_bit != 0) scales_.emplace(f_, plan_.n_spectra, plan_.requantisation.n_bit);
    const std::size_t n_input = f_.n_ant * f_.n_pol;
    clipped_ = DeviceArray<unsigned long long>(f_.n_chan * n_input);
    cuda_check(cudaMemset(clipped_.data(), 0, clipped_.size() * sizeof(unsigned long long)),
               "clearing counts");
    mixed_hz_ = uploaded(f_.mixed_hz);
    const std::vector<float> h = taps();
    taps_ = uploaded(h);
    const int length = static_cast<int>(f_.n_sample);
    if (plan_.requantisation.n_bit == 8)
      path_ = f_stage::integer_path(f_.real_input, length, n_taps(), format());
    if (path_ == IntegerPath::fused) factors_ = uploaded(f_stage::fused_factors(f_.real_input, length, h));
    if (path_ == IntegerPath::long_spectra) factors_ = uploaded(f_stage::long_factors(length, h));
    for (Slot& slot : slots_) {
      slot.host = pinned<std::uint8_t>(slot_bytes());
      slot.device = DeviceArray<std::uint8_t>(slot_bytes());
    }
    cuda_check(cudaStreamSynchronize(nullptr), "preparing the F stage");
  }

  std::size_t append(const VoltageBlock& block, std::size_t first) override {
    const std::size_t n = window_.append(block, first);  // first, so that the bus does not wait for the rest
    if (first == 0) {
      validity_.append(block);
      if (scales_) scales_->append(block);
    }
    return n;
  }

  std::function<void()> taken() override { return window_.taken(); }

  void end_of_stream() override {
    window_.flush();
    if (scales_) scales_->end_of_stream();
    ended_ = true;
  }

  std::int64_t available() const override {
    const std::int64_t held = placement_.available(window_.end(), ended_);
    return scales_ ? std::min(held, scales_->available()) : held;
  }

  void release(std::int64_t spectrum) override {
    const std::int64_t sample = placement_.first_of(spectrum) - placement_.max_shift();
    window_.release(sample);
    validity_.forget(std::min(sample, window_.end()));
    if (scales_) scales_->release(spectrum / plan_.n_spectra);
  }

  std::size_t max_spectra() const override { return max_spectra_; }
  std::size_t good_spectra() const override { return f_stage::good_spectra(f_); }
  bool untouched() const override { return plan_.untouched(placement_.aligns()); }

  DeviceSamples samples(std::int64_t first, SpectraBlock& validity, cudaStream_t stream) override {
    fill_validity(first, validity);
    const f_stage::SampleWindow window = window_.use(stream);
    const auto offset = static_cast<std::size_t>(placement_.first_of(first) - window_.begin());
    return {window.data + offset * window.time_bytes, plan_.four_bit};
  }
  void used(cudaStream_t stream) override { window_.used(stream); }

  void spectra(std::int64_t first, SpectraBlock& validity, const x_layout::Layout& layout, std::int8_t* out,
               cudaStream_t stream) override {
    const Placement* placements = nullptr;
    const f_stage::Task task = prepare(first, validity, stream, &placements);
    f_stage::IntegerOutput output{};
    output.data = out;
    output.layout = layout;
    output.clipped = clipped_.data();
    const auto length = static_cast<std::int64_t>(f_.n_sample);
    const std::int64_t sample = f_.first_sample + first * length;
    output.first_number = sample / length;
    output.dither = plan_.requantisation.dither;
    switch (path_) {
      case IntegerPath::fused:
        f_stage::launch_fused(task, output, factors_.data(), stream);
        break;
      case IntegerPath::long_spectra:
        long_.run(task, placements, output, factors_.data(), stream);
        break;
      case IntegerPath::steps:
        stepwise_.run(task, stream, [&](const f_stage::Batch& batch, const float2* values) {
          f_stage::launch_finish(task, batch, values, output, stream);
        });
        break;
    }
    window_.used(stream);
  }

  void spectra(std::int64_t first, SpectraBlock& validity, std::size_t channel_stride, float2* out,
               cudaStream_t stream) override {
    const f_stage::Task task = prepare(first, validity, stream);
    stepwise_.run(task, stream, [&](const f_stage::Batch& batch, const float2* values) {
      f_stage::launch_finish(task, batch, values, f_stage::FloatOutput{out, channel_stride}, stream);
    });
    window_.used(stream);
  }

  View<const float, 2> scales(std::int64_t integration) const override {
    return scales_ ? scales_->scales(integration) : View<const float, 2>();
  }

  std::vector<std::uint64_t> clipped() const override {
    std::vector<std::uint64_t> counts(clipped_.size());
    static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
    cuda_check(cudaMemcpy(counts.data(), clipped_.data(), counts.size() * sizeof(std::uint64_t),
                          cudaMemcpyDeviceToHost),
               "copying counts");
    return counts;
  }

 private:
  /// What is uploaded for one batch of spectra: placements, scales, masks.
  struct Slot {
    std::unique_ptr<std::uint8_t[], FreePinned> host;
    DeviceArray<std::uint8_t> device;
    Event sent;
    bool busy = false;
  };

  SampleFormat format() const {
    if (!plan_.integer) return SampleFormat::float32;
    return plan_.four_bit ? SampleFormat::packed_4bit : SampleFormat::int8;
  }
  int n_taps() const { return std::max(1, static_cast<int>(f_.filterbank.n_taps)); }

  WindowPlan window_plan() const {
    WindowPlan window;
    window.n_chan = f_.n_chan;
    window.n_input = f_.n_ant * f_.n_pol;
    window.real = f_.real_input;
    window.format = format();
    window.gulp_samples = plan_.gulp_samples;
    window.rest_samples = f_stage::rest_samples(plan_, placement_.max_shift());
    window.n_threads = f_.n_threads;
    return window;
  }

  /// Of a filterbank, or the plain transform's L^(-1/2); packed samples count 16 times their value.
  std::vector<float> taps() const {
    std::vector<float> taps = pfb_weights(f_.n_sample, f_.filterbank, 1);
    if (taps.empty())
      taps.assign(f_.n_sample, static_cast<float>(1 / std::sqrt(static_cast<double>(f_.n_sample))));
    if (plan_.four_bit)
      for (float& tap : taps) tap /= 16;
    return taps;
  }

  std::size_t slot_bytes() const {
    return max_spectra_ * f_stage::placement_bytes(plan_) + f_.n_chan * f_.n_ant * f_.n_pol * sizeof(float) +
           64;
  }

  void fill_validity(std::int64_t first, SpectraBlock& validity) {
    validity.first_chan = 0;
    validity.n_chan = f_.n_chan;
    validity.n_fine = f_.n_fine;
    if (validity.n_spectra == 0 || validity.n_spectra > max_spectra_ ||
        first + static_cast<std::int64_t>(validity.n_spectra) > available())
      throw std::logic_error("CudaChanneliser: spectra that are not there");
    placement_.prepare(first, validity.n_spectra);
    placement_.fill_validity(first, validity_, validity);
    if (!scales_) return;
    const std::int64_t integration = first / plan_.n_spectra;
    for (std::size_t ant = 0; ant < f_.n_ant; ++ant) {
      const std::int64_t without = scales_->first_usable(integration, ant) - first;
      const auto n = static_cast<std::size_t>(
          std::clamp<std::int64_t>(without, 0, static_cast<std::int64_t>(validity.n_spectra)));
      if (n == 0) continue;
      validity.all_valid = false;
      for (std::size_t row = 0; row < validity.valid.extent(0); ++row)
        std::fill_n(&validity.valid(row, ant, 0), n, std::uint8_t{0});
    }
  }

  /// `on_host` receives the task's placements, which stay until the next but one is prepared.
  f_stage::Task prepare(std::int64_t first, SpectraBlock& validity, cudaStream_t stream,
                        const Placement** on_host = nullptr) {
    fill_validity(first, validity);
    Slot& slot = slots_[turn_++ % 2];
    if (slot.busy) slot.sent.wait();
    const std::size_t n = validity.n_spectra;
    f_stage::Task task{};
    std::size_t bytes = 0;
    const auto place = [&](std::size_t size) {
      const std::size_t at = bytes;
      bytes += (size + 15) / 16 * 16;
      return at;
    };
    const std::size_t placements = place(f_.n_ant * n * sizeof(Placement));
    placement_.place(first, window_.begin(), validity,
                     {reinterpret_cast<Placement*>(slot.host.get() + placements), {f_.n_ant, n}});
    task.placement = reinterpret_cast<const Placement*>(slot.device.data() + placements);
    if (on_host != nullptr) *on_host = reinterpret_cast<const Placement*>(slot.host.get() + placements);
    if (scales_) {
      const View<const float, 2> scales = scales_->scales(first / plan_.n_spectra);
      const std::size_t at = place(scales.size() * sizeof(float));
      std::copy(scales.begin(), scales.end(), reinterpret_cast<float*>(slot.host.get() + at));
      task.scale = reinterpret_cast<const float*>(slot.device.data() + at);
    }
    if (validity.valid.extent(0) > 1) {
      const std::size_t at = place(f_.n_chan * f_.n_ant * n);
      std::copy(validity.valid.begin(), validity.valid.end(), slot.host.get() + at);
      task.usable = slot.device.data() + at;
    }
    cuda_check(cudaMemcpyAsync(slot.device.data(), slot.host.get(), bytes, cudaMemcpyHostToDevice, stream),
               "copying delays");
    slot.sent.record(stream);
    slot.busy = true;
    // only now does the stream wait for the samples: the copy above must not queue behind the next gulp's
    task.samples = window_.use(stream);
    task.placement_stride = static_cast<int>(n);
    task.n_spectra = static_cast<int>(n);
    task.n_pol = static_cast<int>(f_.n_pol);
    task.length = static_cast<int>(f_.n_sample);
    task.n_fine = static_cast<int>(f_.n_fine);
    task.n_taps = n_taps();
    task.taps = taps_.data();
    task.mixed_hz = mixed_hz_.data();
    task.fine_hz = static_cast<float>(1 / (static_cast<double>(f_.n_sample) * f_.sample_s));
    task.turns = placement_.aligns();
    task.descending = f_.n_fine > 1 && f_.offset_hz[1] < f_.offset_hz[0];
    task.mirrored = f_.imaginary_sign < 0;
    return task;
  }

  CudaChannelisePlan plan_;
  const ChannelisePlan& f_;
  SpectrumPlacement placement_;
  SampleValidity validity_;
  std::optional<InputScales> scales_;
  std::size_t max_spectra_;
  DeviceSampleWindow window_;
  bool ended_ = false;
  IntegerPath path_ = IntegerPath::steps;
  DeviceArray<unsigned long long> clipped_;  // [chan][input]
  DeviceArray<double> mixed_hz_;
  DeviceArray<float> taps_;
  DeviceArray<std::uint8_t> factors_;  // of fused_factors or long_factors
  Slot slots_[2];
  unsigned turn_ = 0;
  f_stage::LongSpectra long_;
  f_stage::Stepwise stepwise_;
};

}  // namespace

std::shared_ptr<DeviceSpectrumSource> make_cuda_channeliser(const CudaChannelisePlan& plan,
                                                            DelaySource* delays, int device_index) {
  cuda_check(cudaSetDevice(device_index), "choosing the device");
  return std::make_shared<CudaChanneliser>(plan, delays);
}

}  // namespace apsyn
