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

  void append(const VoltageBlock& block) override { source_->append(block); }
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

}  // namespace

std::unique_ptr<FxEngine> make_fx_engine(std::shared_ptr<SpectrumSource> source, const CorrelatorPlan& plan,
                                         const IntegrationPlan& integration, const MeanPlan& mean) {
  return std::make_unique<CpuFxEngine>(std::move(source), plan, integration, mean);
}

}  // namespace apsyn
