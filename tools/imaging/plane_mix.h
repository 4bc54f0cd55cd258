// SPDX-License-Identifier: GPL-3.0-or-later
// Predicted planes (Stokes parameters or products) to the products of a set.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

#include "libcore/base/view.h"

namespace apsyn::imaging {

/// product p = factor sum_q mix[p][q] plane q, in float64, rounded once to float32.
class PlaneMix {
 public:
  /// mix [product][plane], up to 4 x 4; `factor` 1, or -1 to subtract.
  PlaneMix(const Buffer<std::complex<double>, 2>& mix, double factor);
  std::size_t n_products() const { return n_products_; }
  std::size_t n_planes() const { return n_planes_; }

  /// values [i][product] = (or +=, if `add`) those of planes [i][plane], i < n. False when one of them is not
  /// finite.
  bool apply(const std::complex<float>* planes, std::size_t n, bool add, std::complex<float>* values) const;

 private:
  /// A plane that takes part in a product. Most do not: XX is I + Q.
  struct Term {
    std::size_t plane = 0;
    double re = 0, im = 0;
  };
  static constexpr std::size_t kMost = 4;
  template <std::size_t n_terms, bool add>
  bool sum(const std::complex<float>* planes, std::size_t n, std::complex<float>* values) const;
  template <bool add>
  bool sum_pairs(const std::complex<float>* planes, std::size_t n, std::complex<float>* values) const;

  std::size_t n_products_, n_planes_, n_terms_ = 1;
  std::array<std::array<Term, kMost>, kMost> terms_{};  ///< [product]; factors of 0 behind its own
};

}  // namespace apsyn::imaging
