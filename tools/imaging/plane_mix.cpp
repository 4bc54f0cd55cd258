// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/plane_mix.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace apsyn::imaging {

PlaneMix::PlaneMix(const Buffer<std::complex<double>, 2>& mix, double factor)
    : n_products_(mix.extent(0)), n_planes_(mix.extent(1)) {
  if (n_products_ > kMost || n_planes_ > kMost) throw std::invalid_argument("more than four products");
  for (std::size_t product = 0; product < n_products_; ++product) {
    std::size_t n = 0;
    for (std::size_t plane = 0; plane < n_planes_; ++plane)
      if (const std::complex<double> own = factor * mix(product, plane); own != 0.0)
        terms_[product][n++] = {plane, own.real(), own.imag()};
    n_terms_ = std::max(n_terms_, n);
  }
}

template <std::size_t n_terms, bool add>
bool PlaneMix::sum(const std::complex<float>* planes, std::size_t n, std::complex<float>* values) const {
  float sound = 0;  // no number as soon as a value is none
  for (std::size_t i = 0; i < n; ++i, planes += n_planes_)
    for (std::size_t product = 0; product < n_products_; ++product, ++values) {
      double re = 0, im = 0;
      for (std::size_t t = 0; t < n_terms; ++t) {
        const Term& term = terms_[product][t];
        // Multiplied by hand, because the operator for complex numbers checks for infinities.
        const double x = planes[term.plane].real(), y = planes[term.plane].imag();
        re += term.re * x - term.im * y;
        im += term.re * y + term.im * x;
      }
      // Rounded as if it were written to a column of its own, so that a prediction minus itself is 0.
      const auto predicted_re = static_cast<float>(re), predicted_im = static_cast<float>(im);
      sound += 0 * predicted_re + 0 * predicted_im;
      if constexpr (add)
        *values += std::complex<float>(predicted_re, predicted_im);
      else
        *values = {predicted_re, predicted_im};
    }
  return sound == 0;
}

bool PlaneMix::apply(const std::complex<float>* planes, std::size_t n, bool add,
                     std::complex<float>* values) const {
  if (n_terms_ == 1) return add ? sum<1, true>(planes, n, values) : sum<1, false>(planes, n, values);
  if (n_terms_ == 2) return add ? sum<2, true>(planes, n, values) : sum<2, false>(planes, n, values);
  return add ? sum<kMost, true>(planes, n, values) : sum<kMost, false>(planes, n, values);
}

}  // namespace apsyn::imaging
