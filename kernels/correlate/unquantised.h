// SPDX-License-Identifier: GPL-3.0-or-later
// Corrects one integration's means for quantisers: first for the requantiser's steps, then for the
// recorder's.
//
// The correction is exact (kernels/correlate/van_vleck.h) if the sums are of the quantised values themselves.
// For sums of spectra of such values it uses Bussgang's theorem: q = g x + e, where e is uncorrelated with x
// and assumed white, g = E q x / E x^2, so that cross-correlations come out multiplied by g_i g_j, and
// autocorrelations as g^2 S + E e^2.
#pragma once

#include <vector>

#include "kernels/correlate/mean.h"

namespace apsyn {

class Unquantised {
 public:
  Unquantised(const CorrelationSums& sums, const CorrelatorPlan& plan, const QuantiserPlan& quantisers);

  /// Mean of q_i q_j* -> of E_i E_j*, in units of the samples. False when a level is beyond correcting.
  bool correct(std::size_t channel, std::size_t i, std::size_t j, std::complex<double>& mean) const;

 private:
  struct Whitened {
    double gain = 0;   ///< 0 = beyond correcting
    double noise = 0;  ///< of a spectrum's power
  };
  void find_levels(const CorrelationSums& sums);
  void find_gains();

  CorrelatorPlan plan_;
  const QuantiserPlan& quantisers_;
  const QuantiserCurve* exact_ = nullptr;    // of what the sums are of
  Buffer<QuantiserCurve::Level, 2> levels_;  // [channel][input], of exact_
  Buffer<double, 2> power_;                  // [channel][input], mean |E|^2 without exact_; < 0 = unknown
  Buffer<double, 2> steps_;                  // [chan][input]
  Buffer<Whitened, 2> whitened_;             // [chan][input], of the recorder
};

}  // namespace apsyn
