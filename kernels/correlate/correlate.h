// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage: V_ij = <E_i E_j*> for all pairs of inputs (Wayth et al. 2009, section 4, equation for the
// cross-multiply; signs in apsyn-conventions(7)).
//
// The sums are PairSums (kernels/common/spectra/pair_sums.h): exact for integer samples of up to 8 bits.
// Results do not depend on the number of threads.
#pragma once

#include <complex>
#include <cstdint>

#include "kernels/common/spectra/pair_counts.h"
#include "kernels/common/spectra/pair_sums.h"
#include "kernels/common/spectra/spectra.h"
#include "kernels/correlate/mean.h"

namespace apsyn {

/// Memory of a Correlator with this plan.
std::uint64_t correlator_bytes(const CorrelatorPlan& plan);

class Correlator final : public CorrelationSums {
 public:
  explicit Correlator(const CorrelatorPlan& plan);
  ~Correlator() override;

  /// Adds the spectra of the block's channels. std::logic_error when its shape differs from the plan.
  void add(const SpectraBlock& block);
  /// Computes mean_of() these sums.
  bool mean(const MeanPlan& plan, VisibilityRecord& record) const {
    return mean_of(*this, plan_, plan, record);
  }
  void clear();
  double steps_per_unit(std::size_t input_chan, std::size_t input) const override {
    return steps_(input_chan, input);
  }

  std::complex<double> sum(std::size_t channel, std::size_t i, std::size_t j) const override;
  std::int64_t count(std::size_t input_chan, std::size_t ant1, std::size_t ant2) const override;

 private:
  CorrelatorPlan plan_;
  PairSums sums_;
  PairCounts counts_;
  Buffer<float, 2> steps_;  // [chan][input]
};

/// Drives F and X over whole integrations: blocks start at the integration's start and have a fixed length,
/// so that results do not depend on how the stream arrives.
struct IntegrationPlan {
  std::int64_t n_spectra = 1;       ///< per integration
  std::size_t block_spectra = 128;  ///< transformed and multiplied at a time
  std::size_t batch_chan = 1;       ///< input channels at a time
};

/// Chooses blocks so that one batch of spectra fits into about `cache_bytes`; it exceeds four times that only
/// if four spectra of one input channel do.
IntegrationPlan plan_integration(const CorrelatorPlan& plan, std::int64_t n_spectra,
                                 std::uint64_t cache_bytes);
std::uint64_t spectra_bytes(const CorrelatorPlan& plan, const IntegrationPlan& integration);

class Integrator {
 public:
  Integrator(SpectrumSource& source, Correlator& correlator, const CorrelatorPlan& plan,
             const IntegrationPlan& integration)
      : source_(source), correlator_(correlator), plan_(plan), integration_(integration) {}

  /// Takes spectra before `available`, in whole blocks or, `at_end`, up to the last one. Returns true when an
  /// integration is complete, or is the last and has at least one spectrum: take its mean, then call
  /// next_integration().
  bool advance(std::int64_t available, bool at_end);
  void next_integration();
  std::int64_t next_spectrum() const { return next_; }
  std::int64_t index() const { return index_; }
  std::int64_t spectra_taken() const { return next_ - index_ * integration_.n_spectra; }

 private:
  SpectrumSource& source_;
  Correlator& correlator_;
  CorrelatorPlan plan_;
  IntegrationPlan integration_;
  SpectraBlock block_;
  std::int64_t next_ = 0, index_ = 0;
};

}  // namespace apsyn
