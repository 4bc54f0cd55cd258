// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage: V_ij = <E_i E_j*> for all pairs of inputs (Wayth et al. 2009, section 4, equation for the
// cross-multiply; signs in apsyn-conventions(7)).
//
// Sums are kept for input pairs i <= j in columns of one panel (16 inputs j) by rows i = 0 .. last of the
// panel: [chan][panel][row][re 16 | im 16], so that a row is a broadcast and a column a vector load. A thread
// owns a (channel, panel) at a time. Within a block of spectra products are added in float32 by fused
// multiply-adds, blocks in float64:
// - samples of up to 8 bits that no transform has touched: every partial sum is an integer of at most
//   2 * 128^2 * kMaxBlockSpectra = 2^24, which float32 holds exactly, as float64 does up to 2^38 spectra: the
//   sums are those of int64 arithmetic, -128 included;
// - the same as codes of two spectra, where the processor multiplies such (multiply_codes.h): int32 within a
//   block, and as exact;
// - otherwise the error relative to the sum of |products| is at most (2 B + 1) 2^-24 for blocks of B spectra,
//   however long the integration; for noise it is about sqrt(B) 2^-25 of one block's sum, and falls with the
//   number of blocks.
// Results do not depend on the number of threads.
#pragma once

#include <complex>
#include <cstdint>

#include "kernels/common/spectra.h"
#include "kernels/correlate/mean.h"
#include "kernels/correlate/pair_counts.h"

namespace apsyn {

inline constexpr std::size_t kMaxBlockSpectra = 512;

/// Bytes that a Correlator of this plan holds.
std::uint64_t correlator_bytes(const CorrelatorPlan& plan);

class Correlator final : public CorrelationSums {
 public:
  explicit Correlator(const CorrelatorPlan& plan);
  ~Correlator() override;

  /// Adds the spectra of the block's channels. std::logic_error when its shape differs from the plan.
  void add(const SpectraBlock& block);
  /// mean_of() these sums.
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
  void add_codes(const SpectraBlock& block);

  CorrelatorPlan plan_;
  std::size_t rows_ = 0;    // of all panels of a channel
  Buffer<double, 2> sums_;  // [channel][see above]
  PairCounts counts_;
  Buffer<float, 2> steps_;             // [chan][input]
  Buffer<std::int32_t, 2> code_sums_;  // [channel of a block][panel input][re, im]
};

/// Drives F and X over whole integrations: blocks start at the integration's start and have a fixed length,
/// so that results do not depend on how the stream arrives.
struct IntegrationPlan {
  std::int64_t n_spectra = 1;       ///< per integration
  std::size_t block_spectra = 128;  ///< transformed and multiplied at a time
  std::size_t batch_chan = 1;       ///< input channels at a time
};

/// Blocks that keep one batch of spectra within about `cache_bytes`, and never beyond four times that unless
/// four spectra of one input channel are.
IntegrationPlan plan_integration(const CorrelatorPlan& plan, std::int64_t n_spectra,
                                 std::uint64_t cache_bytes);
std::uint64_t spectra_bytes(const CorrelatorPlan& plan, const IntegrationPlan& integration);

class Integrator {
 public:
  Integrator(SpectrumSource& source, Correlator& correlator, const CorrelatorPlan& plan,
             const IntegrationPlan& integration)
      : source_(source), correlator_(correlator), plan_(plan), integration_(integration) {}

  /// Takes spectra up to (not including) `available`, as far as whole blocks go, or to the last one `at_end`.
  /// True when an integration is complete, or is the last and has any spectra: take its mean, then call
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
