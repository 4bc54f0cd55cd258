// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities of a sky model for the rows that are calibrated, about the phase centre of each row's field.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/sky/sky_model.h"
#include "tools/calibrate/input.h"
#include "tools/imaging/components/component_sums.h"

namespace apsyn::calibrate {

class SkyPredictor {
 public:
  /// Keeps references to sky and info. DataError if the products are not correlations of receptors.
  SkyPredictor(const SkyModel& sky, const InputInfo& info, const imaging::ComponentSumsSetup& setup);
  bool is_polarised() const { return polarised_; }
  /// 1 (Stokes I, the same for each hand), or as many as the data have products.
  std::size_t n_planes() const { return polarised_ ? info_.products.size() : 1; }
  /// model [row][chan][plane] of a block whose cells have been read.
  void predict(const InputBlock& block, Buffer<std::complex<float>, 3>& model);
  /// Memory besides `model`.
  std::uint64_t bytes() const;

 private:
  /// A product that is the sum of two planes, each times 1, i, -1, -i or 0: of two numbers the sum in single
  /// precision is that in float64, rounded.
  struct PlanePair {
    std::array<std::size_t, 2> plane{};
    std::array<float, 2> re{}, im{};  ///< factors
  };

  void predict_part(const InputBlock& block, std::size_t first, std::size_t n,
                    Buffer<std::complex<float>, 3>& model);
  imaging::ComponentSums& sums_of(int window, int field);
  void mix_row(const std::complex<float>* from, std::size_t n_chan, std::complex<float>* to) const;

  const SkyModel& sky_;
  const InputInfo& info_;
  imaging::ComponentSumsSetup setup_;
  bool polarised_;                       ///< Stokes parameters other than I, or A-terms
  Buffer<std::complex<double>, 2> mix_;  ///< [product][plane of the sums]
  bool mixes_ = false;                   ///< products are not the planes themselves
  std::vector<PlanePair> pairs_;         ///< [product], or empty
  std::map<std::pair<int, int>, std::unique_ptr<imaging::ComponentSums>> sums_;  ///< [window, field]
  Buffer<std::complex<float>, 3> planes_;  ///< [row][chan][plane] of a part
  Buffer<std::uint32_t, 2> station_;       ///< [row][p, q] of a part
};

}  // namespace apsyn::calibrate
