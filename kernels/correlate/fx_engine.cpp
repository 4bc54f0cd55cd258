// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/fx_engine.h"

namespace apsyn {

namespace {

class CpuFxEngine final : public FxEngine {
 public:
  CpuFxEngine(std::shared_ptr<SpectrumSource> source, const CorrelatorPlan& plan,
              const IntegrationPlan& integration, const MeanPlan& mean)
      : source_(std::move(source)),
        mean_(mean),
        correlator_(plan),
        integrator_(*source_, correlator_, plan, integration) {}

  std::function<void()> append(const VoltageBlock& block) override {
    source_->append(block);
    return {};
  }
  void end_of_stream() override {
    source_->end_of_stream();
    ended_ = true;
  }
  bool next(FxResult& result) override {
    if (!integrator_.advance(source_->available(), ended_)) {
      source_->release(integrator_.next_spectrum());
      return false;
    }
    result.record.index = integrator_.index();
    result.n_spectra = integrator_.spectra_taken();
    result.any_data = correlator_.mean(mean_, result.record);
    integrator_.next_integration();
    return true;
  }
  double clipped_share() const override { return source_->clipped_share(); }
  std::int64_t spectra_done() const override { return integrator_.next_spectrum(); }

 private:
  std::shared_ptr<SpectrumSource> source_;
  const MeanPlan& mean_;
  Correlator correlator_;
  Integrator integrator_;
  bool ended_ = false;
};

/// Of one integration: 8 of a value, 4 of its weight.
std::uint64_t bytes_of_means(const CorrelatorPlan& plan, const MeanPlan& mean) {
  const std::uint64_t n_channel = plan.n_chan * plan.n_fine / mean.n_average;
  return n_channel * mean.baselines.size() * plan.n_pol * plan.n_pol * 12;
}

}  // namespace

std::unique_ptr<FxEngine> make_fx_engine(std::shared_ptr<SpectrumSource> source, const CorrelatorPlan& plan,
                                         const IntegrationPlan& integration, const MeanPlan& mean) {
  return std::make_unique<CpuFxEngine>(std::move(source), plan, integration, mean);
}

std::uint64_t cuda_fx_device_bytes(const CorrelatorPlan& plan, const MeanPlan& mean,
                                   std::size_t max_spectra) {
  const std::uint64_t n_input = plan.n_input(), n_channel = plan.n_chan * plan.n_fine;
  const std::uint64_t tile = n_input > 64 ? 128 : 64, padded = (n_input + tile - 1) / tile * tile;
  const std::uint64_t sums = padded * (padded + tile) / 2 * 8 + n_input * (n_input + 1) / 2 * 16;
  return n_channel * (sums + padded * 2 * max_spectra + n_input * 16) + 2 * bytes_of_means(plan, mean);
}

std::uint64_t cuda_fx_host_bytes(const CorrelatorPlan& plan, const MeanPlan& mean) {
  const std::uint64_t n_input = plan.n_input(), n_channel = plan.n_chan * plan.n_fine;
  const bool from_sums = mean.quantisers.recorder || mean.quantisers.requantiser;
  return 2 * bytes_of_means(plan, mean) +
         (from_sums ? 2 * n_channel * n_input * (n_input + 1) * 8 : kFxPieceBytes);
}

}  // namespace apsyn
