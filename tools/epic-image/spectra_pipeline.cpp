// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/spectra_pipeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/channelise/channelise.h"
#include "kernels/channelise/channelise_cuda.h"
#include "kernels/common/spectra/spectra.h"
#include "kernels/correlate/pair_sums_cuda.h"
#include "kernels/epic/epic.h"
#include "kernels/epic/epic_cuda.h"
#include "kernels/epic/fft/fft_cuda.h"
#include "libcore/array/delays.h"
#include "libcore/voltage/voltage.h"
#include "tools/epic-image/setup.h"

namespace apsyn {
namespace {

class HostPipeline final : public SpectraPipeline {
 public:
  /// `delays` may be null; it and the setup must outlive the pipeline.
  HostPipeline(const EpicSetup& setup, EpicPlan plan, DelaySource* delays)
      : setup_(setup),
        imager_(make_imager(setup.method, std::move(plan))),
        channeliser_(spectra_of(setup, *imager_), delays) {}

  DirectImager& imager() override { return *imager_; }
  void replace_imager(EpicPlan plan) override {
    imager_ = make_imager(setup_.method, std::move(plan));
    channeliser_.give_codes(imager_->takes_codes());
  }
  std::size_t append(const VoltageBlock& block, std::size_t) override {
    channeliser_.append(block);
    return block.n_time;
  }
  void end_of_stream() override { channeliser_.end_of_stream(); }
  std::int64_t ready(std::int64_t next, std::int64_t left, bool at_end) const override {
    const auto wanted = std::min(left, static_cast<std::int64_t>(setup_.block_spectra));
    const std::int64_t n = std::min(channeliser_.available() - next, wanted);
    return n < wanted && !at_end ? 0 : n;
  }
  void add(std::int64_t first, std::size_t n_spectra) override {
    for (std::size_t chan = 0; chan < setup_.epic.n_chan; chan += setup_.batch_chan) {
      channeliser_.spectra(first, n_spectra, chan, std::min(setup_.batch_chan, setup_.epic.n_chan - chan),
                           spectra_);
      imager_->add(spectra_);
    }
  }
  void release(std::int64_t spectrum) override { channeliser_.release(spectrum); }

 private:
  static ChannelisePlan spectra_of(const EpicSetup& setup, const DirectImager& imager) {
    ChannelisePlan f = setup.f;
    f.codes = imager.takes_codes();
    return f;
  }

  const EpicSetup& setup_;
  std::unique_ptr<DirectImager> imager_;
  Channeliser channeliser_;
  SpectraBlock spectra_;
};

std::unique_ptr<DeviceImager> make_device_imager(const EpicSetup& setup, EpicPlan plan) {
  if (plan.field) return make_field_imager_cuda(setup.method, std::move(plan), setup.device.index);
  if (setup.method == EpicMethod::fft)
    return make_fft_imager_cuda(std::move(plan), setup.device.index, setup.fft_precision);
  if (setup.method == EpicMethod::dft)
    return make_dft_imager_cuda(std::move(plan), setup.precision, setup.device.index, make_device_pair_sums,
                                static_cast<double>(setup.accumulate_spectra));
  return make_corr_imager_cuda(std::move(plan), make_device_pair_sums, setup.device.index);
}

}  // namespace

std::unique_ptr<SpectraPipeline> make_pipeline(const EpicSetup& setup, EpicPlan plan, DelaySource* delays) {
  if (setup.on_gpu())
    return make_device_pipeline(make_cuda_channeliser(setup.cuda, delays, setup.device.index),
                                make_device_imager(setup, std::move(plan)), [&setup](EpicPlan other) {
                                  return make_device_imager(setup, std::move(other));
                                });
  return std::make_unique<HostPipeline>(setup, std::move(plan), delays);
}

}  // namespace apsyn
