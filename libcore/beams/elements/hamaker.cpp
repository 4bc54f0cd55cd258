// SPDX-License-Identifier: GPL-3.0-or-later
// LOFAR-ASTRON-MEM-248 (Hamaker 2011). With the frequency folded in, an element is a polynomial in theta for
// each harmonic of phi.
#include <cmath>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/beams/elements/element.h"
#include "libcore/beams/lanes.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxHarmonics = 4, kMaxPowers = 16;

class HamakerResponse final : public ElementResponse {
 public:
  HamakerResponse(const HamakerCoefficients& from, double freq_hz)
      : n_harmonics_(from.c.extent(0)), n_powers_(from.c.extent(1)) {
    const double x = (freq_hz - from.freq_centre_hz) / from.freq_range_hz;
    for (std::size_t k = 0; k < n_harmonics_; ++k)
      for (std::size_t t = 0; t < n_powers_; ++t)
        for (std::size_t i = 0; i < 2; ++i) {
          std::complex<double> sum = 0;
          for (std::size_t j = from.c.extent(2); j-- > 0;) sum = sum * x + from.c(k, t, j, i);
          exact_[k][t][i] = {sum.real(), sum.imag()};
          rounded_[k][t][i] = {static_cast<float>(sum.real()), static_cast<float>(sum.imag())};
        }
  }

  Jones at(std::size_t, const ElementDirection& d) const override {
    Cx<double> e[4];
    sum_harmonics(exact_, polar_angle(d.sin_theta, d.cos_theta), d.cos_phi, d.sin_phi, e);
    return {std::complex(e[0].re, e[0].im), std::complex(e[1].re, e[1].im), std::complex(e[2].re, e[2].im),
            std::complex(e[3].re, e[3].im)};
  }

  void many(View<const float, 2> local, View<float, 3> e) const override {
    run_on_lanes([&](auto) APSYN_BEAM_BODY { many_lanes(local, e); });
  }

 private:
  template <class T>
  using Table = Cx<T>[kMaxHarmonics][kMaxPowers][2];

  template <class T, class C>
  APSYN_BEAM_INLINE void sum_harmonics(const Table<C>& c, const T& theta, const T& cos_phi, const T& sin_phi,
                                       Cx<T>* e) const {
    const T zero = T{};
    for (std::size_t i = 0; i < 4; ++i) e[i] = {zero, zero};
    // cos and sin of (2 k + 1) phi, from one harmonic to the next by a turn of 2 phi.
    const T cos_2 = cos_phi * cos_phi - sin_phi * sin_phi, sin_2 = 2 * sin_phi * cos_phi;
    T cosine = cos_phi, sine = sin_phi;
    for (std::size_t k = 0; k < n_harmonics_; ++k) {
      Cx<T> p[2];
      for (std::size_t i = 0; i < 2; ++i) {
        p[i] = {zero + c[k][n_powers_ - 1][i].re, zero + c[k][n_powers_ - 1][i].im};
        for (std::size_t t = n_powers_ - 1; t-- > 0;)
          p[i] = {p[i].re * theta + c[k][t][i].re, p[i].im * theta + c[k][t][i].im};
      }
      const T signed_sine = k % 2 == 0 ? sine : -sine;
      e[0] = {e[0].re + cosine * p[0].re, e[0].im + cosine * p[0].im};
      e[1] = {e[1].re - signed_sine * p[1].re, e[1].im - signed_sine * p[1].im};
      e[2] = {e[2].re + signed_sine * p[0].re, e[2].im + signed_sine * p[0].im};
      e[3] = {e[3].re + cosine * p[1].re, e[3].im + cosine * p[1].im};
      const T next = cosine * cos_2 - sine * sin_2;
      sine = sine * cos_2 + cosine * sin_2;
      cosine = next;
    }
  }

  APSYN_BEAM_INLINE void many_lanes(const View<const float, 2>& local, const View<float, 3>& e) const {
    const std::size_t n = local.extent(1);
    for (std::size_t i = 0; i < n; i += kLanes) {
      const LaneDirection d = lane_direction(local.data() + i, n);
      Cx<Lanes> out[4];
      sum_harmonics(rounded_, polar_angle(d.sin_theta, d.cos_theta), d.cos_phi, d.sin_phi, out);
      for (std::size_t j = 0; j < 4; ++j) {
        store_lanes(e.data() + (2 * j) * n + i, out[j].re);
        store_lanes(e.data() + (2 * j + 1) * n + i, out[j].im);
      }
    }
  }

  std::size_t n_harmonics_, n_powers_;
  Table<double> exact_{};
  Table<float> rounded_{};
};

class Hamaker final : public Element {
 public:
  explicit Hamaker(HamakerCoefficients coefficients) : coefficients_(std::move(coefficients)) {
    if (coefficients_.c.extent(0) > kMaxHarmonics || coefficients_.c.extent(1) > kMaxPowers ||
        coefficients_.c.size() == 0)
      throw DataError("Hamaker's element: {} harmonics of {} powers of the angle: at most {} of {} are known",
                      coefficients_.c.extent(0), coefficients_.c.extent(1), kMaxHarmonics, kMaxPowers);
  }
  std::shared_ptr<const ElementResponse> at_frequency(double freq_hz) const override {
    return std::make_shared<HamakerResponse>(coefficients_, freq_hz);
  }

 private:
  HamakerCoefficients coefficients_;
};

}  // namespace

std::shared_ptr<const Element> make_hamaker_element(HamakerCoefficients coefficients) {
  return std::make_shared<Hamaker>(std::move(coefficients));
}

}  // namespace apsyn
