// SPDX-License-Identifier: GPL-3.0-or-later
// A smooth function as a sum of Chebyshev polynomials, where it is asked for so often that it must cost less.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "libcore/base/constants.h"

namespace apsyn {

/// f over -1 .. 1, interpolated at the n_terms zeros of T_n (Press et al., Numerical Recipes, 5.8): of an
/// entire f the error falls faster than any power of n_terms.
class ChebyshevSeries {
 public:
  ChebyshevSeries() = default;
  template <class Function>
  ChebyshevSeries(Function f, std::size_t n_terms) : coefficient_(n_terms) {
    const auto n = static_cast<double>(n_terms);
    for (std::size_t node = 0; node < n_terms; ++node) {
      const double angle = kPi * (static_cast<double>(node) + 0.5) / n, value = f(std::cos(angle));
      for (std::size_t term = 0; term < n_terms; ++term)
        coefficient_[term] += (term == 0 ? 1 : 2) / n * value * std::cos(static_cast<double>(term) * angle);
    }
  }

  /// At n places at once, whose sums fill the lanes of registers (Clenshaw's recurrence).
  template <std::size_t n>
  void at(const double (&x)[n], double (&value)[n]) const {
    double next[n] = {}, after[n] = {};
    for (std::size_t term = coefficient_.size(); term-- > 1;)
      for (std::size_t i = 0; i < n; ++i) {
        const double sum = coefficient_[term] + 2 * x[i] * next[i] - after[i];
        after[i] = next[i];
        next[i] = sum;
      }
    for (std::size_t i = 0; i < n; ++i) value[i] = coefficient_[0] + x[i] * next[i] - after[i];
  }
  double operator()(double x) const {
    const double one[1] = {x};
    double value[1];
    at(one, value);
    return value[0];
  }

 private:
  std::vector<double> coefficient_;
};

}  // namespace apsyn
