// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities of a sky model for the rows that are calibrated, about the phase centre of each row's field.
#pragma once

#include <complex>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "kernels/simulate/fast_components.h"
#include "libcore/base/view.h"
#include "libcore/sky/sky_model.h"
#include "tools/calibrate/input.h"

namespace apsyn::calibrate {

class SkyPredictor {
 public:
  /// Keeps references to both. DataError if the products are not correlations of receptors.
  SkyPredictor(const SkyModel& sky, const InputInfo& info);
  bool is_polarised() const { return polarised_; }
  /// 1 (Stokes I, the same for each hand), or as many as the data have products.
  std::size_t n_planes() const { return polarised_ ? info_.products.size() : 1; }
  /// model [row][chan][plane] of a block whose cells have been read.
  void predict(const InputBlock& block, unsigned n_threads, Buffer<std::complex<float>, 3>& model);

 private:
  void predict_part(const InputBlock& block, std::size_t first, std::size_t n,
                    Buffer<std::complex<float>, 3>& model) const;

  const SkyModel& sky_;
  const InputInfo& info_;
  bool polarised_;
  Buffer<std::complex<double>, 2> mix_;  ///< [product][stokes]
  std::map<std::pair<int, int>, std::optional<simulate::FastComponentPredictor>> predictors_;
};

}  // namespace apsyn::calibrate
