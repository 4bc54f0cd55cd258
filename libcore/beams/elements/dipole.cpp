// SPDX-License-Identifier: GPL-3.0-or-later
// OSKAR's half-wave dipoles.
#include <algorithm>
#include <array>

#include "libcore/beams/elements/element.h"
#include "libcore/beams/lanes.h"

namespace apsyn {
namespace {

/// cos(pi/2 x) / (1 - x^2) as a power series of x^2, whose coefficients are the partial sums of the cosine's
/// at pi/2: exact to double on 0 .. 1, where the quotient would divide 0 by 0 at the end.
constexpr std::size_t kTerms = 14;
constexpr std::array<double, kTerms> taper_series() {
  std::array<double, kTerms> series{};
  double term = 1, sum = 0;
  for (std::size_t n = 0; n < kTerms; ++n) {
    sum += term;
    series[n] = sum;
    const double j = 2.0 * static_cast<double>(n);
    term *= -(kPi / 2) * (kPi / 2) / ((j + 1) * (j + 2));
  }
  return series;
}
constexpr std::array<double, kTerms> kTaper = taper_series();

template <class T>
APSYN_BEAM_INLINE T taper(const T& x) {
  using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const T y = x * x;
  T sum = T{};
  for (std::size_t n = std::is_same_v<T, double> ? kTerms : 8; n-- > 0;)
    sum = sum * y + static_cast<Number>(kTaper[n]);
  return sum;
}

/// e: X theta, X phi, Y theta, Y phi; cos(phi + pi/2) = -sin phi.
template <class T>
APSYN_BEAM_INLINE void dipole_pair(const T& sin_theta, const T& cos_theta, const T& cos_phi, const T& sin_phi,
                                   bool with_cosine, T* e) {
  T x = taper(T(cos_phi * sin_theta)), y = taper(T(sin_phi * sin_theta));
  if (with_cosine) {
    x = x * cos_theta;
    y = y * cos_theta;
  }
  e[0] = -cos_phi * cos_theta * x;
  e[1] = sin_phi * x;
  e[2] = sin_phi * cos_theta * y;
  e[3] = cos_phi * y;
}

class DipolePair final : public Element, public ElementResponse {
 public:
  explicit DipolePair(bool with_cosine) : with_cosine_(with_cosine) {}

  std::shared_ptr<const ElementResponse> at_frequency(double) const override {
    return std::make_shared<DipolePair>(with_cosine_);
  }
  Jones at(std::size_t, const ElementDirection& d) const override {
    double e[4];
    dipole_pair(d.sin_theta, d.cos_theta, d.cos_phi, d.sin_phi, with_cosine_, e);
    return {e[0], e[1], e[2], e[3]};
  }
  void many(View<const float, 2> local, View<float, 3> e) const override {
    run_on_lanes([&](auto) APSYN_BEAM_BODY { many_lanes(local, e); });
  }

 private:
  APSYN_BEAM_INLINE void many_lanes(const View<const float, 2>& local, const View<float, 3>& e) const {
    const std::size_t n = local.extent(1);
    for (std::size_t i = 0; i < n; i += kLanes) {
      const LaneDirection d = lane_direction(local.data() + i, n);
      Lanes out[4];
      dipole_pair(d.sin_theta, d.cos_theta, d.cos_phi, d.sin_phi, with_cosine_, out);
      for (std::size_t j = 0; j < 4; ++j) {
        store_lanes(e.data() + (2 * j) * n + i, out[j]);
        store_lanes(e.data() + (2 * j + 1) * n + i, Lanes{});
      }
    }
  }
  bool with_cosine_;
};

}  // namespace

std::shared_ptr<const Element> make_dipole_element(bool with_cosine) {
  return std::make_shared<DipolePair>(with_cosine);
}

}  // namespace apsyn
