// SPDX-License-Identifier: GPL-3.0-or-later
// From the sums of any X stage to visibilities: means, weights, gains, and correction of quantisation.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/correlate/van_vleck.h"
#include "libcore/base/view.h"
#include "libcore/visibility/visibility.h"

namespace apsyn {

struct CorrelatorPlan {
  std::size_t n_chan = 1;  ///< input channels
  std::size_t n_fine = 1;
  std::size_t n_ant = 1, n_pol = 1;
  unsigned n_threads = 1;
  bool codes = false;  ///< spectra come as SpectraBlock::codes

  std::size_t n_input() const { return n_ant * n_pol; }
};

/// The sums of an X stage at the end of an integration.
class CorrelationSums {
 public:
  virtual ~CorrelationSums() = default;
  /// sum of E_i E_j* of any two inputs; exactly real for i = j. channel = input channel * n_fine + fine.
  virtual std::complex<double> sum(std::size_t channel, std::size_t i, std::size_t j) const = 0;
  /// Valid spectra of a pair of antennas.
  virtual std::int64_t count(std::size_t input_chan, std::size_t ant1, std::size_t ant2) const = 0;
  /// s of requantised spectra: the number of steps in one unit of the samples
  /// (kernels/channelise/requantise.h).
  virtual double steps_per_unit(std::size_t /*input_chan*/, std::size_t /*input*/) const { return 1; }
};

/// Quantisers whose effect is removed from the means. Both null: none.
struct QuantiserPlan {
  /// The quantiser of the samples (--van-vleck): in units of their step, before `scale`.
  std::shared_ptr<const QuantiserCurve> recorder;
  /// Whether the sums are of the samples themselves, so that the relation of the two is exact; otherwise of
  /// spectra made from them, whose lags are no longer known: an input's power, the mean over its fine
  /// channels, gives its gain, which crosses are divided by, and the noise added to each channel of its
  /// autocorrelation.
  bool of_samples = false;
  bool real_samples = false;  ///< one component instead of two
  /// The quantiser of requantised spectra; its correction is exact for each channel.
  std::shared_ptr<const QuantiserCurve> requantiser;
};

/// Parameters for turning sums into visibilities.
struct MeanPlan {
  std::vector<Baseline> baselines;
  std::int64_t n_spectra = 1;  ///< of a full integration: weight 1
  std::size_t n_average = 1;   ///< neighbouring channels averaged into one
  double scale = 1;            ///< multiplies the voltages
  /// [ant][pol][chan or chan * fine]: the gains that the voltages are divided by, per input channel or per
  /// fine channel; empty = 1. Products with an input that has none (NaN) have weight 0.
  Buffer<std::complex<double>, 3> gains;
  QuantiserPlan quantisers;
};

/// Memory that mean_of() needs to correct for quantisers.
std::uint64_t quantiser_bytes(const CorrelatorPlan& plan, const QuantiserPlan& quantisers);

/// Means over the valid spectra, weights = valid / n_spectra. Autocorrelations are exactly real; means that
/// are not finite, those without data, and those of inputs whose level is beyond correcting for a quantiser
/// are 0 with weight 0. Returns whether any weight is positive.
bool mean_of(const CorrelationSums& sums, const CorrelatorPlan& plan, const MeanPlan& mean,
             VisibilityRecord& record);

}  // namespace apsyn
