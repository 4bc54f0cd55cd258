// SPDX-License-Identifier: GPL-3.0-or-later
// Elements as sums of spherical waves. P / sin theta follows the three-term recursion of P itself, so that
// nothing is divided by sin theta; of m = 0, where D vanishes, sin theta dP/d(cos theta) = -P_l^1.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/beams/elements/element.h"
#include "libcore/beams/lanes.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;

constexpr int kMaxDegree = 24;

/// L of l (l + 2) waves.
int degree_of(std::size_t n_waves) {
  int degree = 1;
  while (static_cast<std::size_t>(degree * (degree + 2)) < n_waves) ++degree;
  if (static_cast<std::size_t>(degree * (degree + 2)) != n_waves || degree > kMaxDegree)
    throw DataError("spherical waves: {} of them are no full set l = 1 .. L with L <= {}", n_waves,
                    kMaxDegree);
  return degree;
}

/// N of the header.
double wave_norm(int l, int m) {
  double ratio = 1;  // (l - m)! / (l + m)!
  for (int i = l - m + 1; i <= l + m; ++i) ratio /= i;
  return std::sqrt((2 * l + 1) / (4 * kPi * l * (l + 1)) * ratio);
}

std::size_t wave_index(int l, int m) {
  return static_cast<std::size_t>(l * l - 1 + l + m);
}

/// Calls use(l, m, d, q) for l = max(m, 1) .. L of each m = 0 .. L: |D| = N d and Q = N q e^{i m phi}.
template <class Use>
void for_each_wave(int degree, double sin_theta, double cos_theta, const Use& use) {
  double first = -1;  // (-1)^m (2 m - 1)!! sin^(m - 1) of m = 1
  double of_order_1[kMaxDegree + 1];
  for (int m = 1; m <= degree; ++m) {
    double before = 0, p = first;
    for (int l = m; l <= degree; ++l) {
      const double next = ((2 * l + 1) * cos_theta * p - (l + m) * before) / (l - m + 1);
      if (m == 1) of_order_1[l] = p;
      use(l, m, m * p, (l + 1) * cos_theta * p - (l - m + 1) * next);
      before = p;
      p = next;
    }
    first *= -(2 * m + 1) * sin_theta;
  }
  for (int l = 1; l <= degree; ++l) use(l, 0, 0.0, -sin_theta * of_order_1[l]);
}

/// D and Q in double precision, [wave].
struct Basis {
  std::vector<Complex> d, q;

  Basis(int degree, const ElementDirection& direction)
      : d(static_cast<std::size_t>(degree * (degree + 2))), q(d.size()) {
    std::vector<Complex> turn{1.0};  // e^{i m phi}
    for (int m = 1; m <= degree; ++m)
      turn.push_back(turn.back() * Complex(direction.cos_phi, direction.sin_phi));
    for_each_wave(degree, direction.sin_theta, direction.cos_theta,
                  [&](int l, int m, double size_d, double size_q) {
                    const double norm = wave_norm(l, m);
                    const Complex z = turn[static_cast<std::size_t>(m)];
                    const Complex i(0, 1);
                    d[wave_index(l, m)] = i * (norm * size_d) * z;
                    q[wave_index(l, m)] = norm * size_q * z;
                    if (m == 0) return;
                    d[wave_index(l, -m)] = -i * (norm * size_d) * std::conj(z);
                    q[wave_index(l, -m)] = norm * size_q * std::conj(z);
                  });
  }
};

class SkalaResponse final : public ElementResponse {
 public:
  explicit SkalaResponse(const WaveCoefficients& from) : degree_(degree_of(from.values.extent(1))) {
    values_.resize({from.values.extent(1), 4});
    std::copy_n(from.values.data(), values_.size(), values_.data());
    // What many() multiplies with d and q: of +m and of -m, in the order theta and phi of X, then of Y.
    const Complex i(0, 1);
    for (int m = 0; m <= degree_; ++m)
      for (int l = std::max(1, m); l <= degree_; ++l) {
        Factors& factors = factors_.emplace_back();
        for (int sign = 1; sign >= -1; sign -= 2)
          for (std::size_t row = 0; row < 2; ++row) {
            const double norm = m == 0 && sign < 0 ? 0 : wave_norm(l, m);
            const Complex te = norm * values_(wave_index(l, sign * m), 2 * row),
                          tm = norm * values_(wave_index(l, sign * m), 2 * row + 1);
            Factor* to = factors.of[sign > 0 ? 0 : 1] + 2 * row;
            to[0] = {rounded(-static_cast<double>(sign) * i * te), rounded(-tm)};
            to[1] = {rounded(static_cast<double>(sign) * i * tm), rounded(-te)};
          }
      }
  }

  Jones at(std::size_t, const ElementDirection& direction) const override {
    const Basis basis(degree_, direction);
    Jones e{};
    for (std::size_t wave = 0; wave < basis.d.size(); ++wave)
      for (std::size_t row = 0; row < 2; ++row) {
        const Complex te = values_(wave, 2 * row), tm = values_(wave, 2 * row + 1);
        e[2 * row] -= basis.q[wave] * tm + basis.d[wave] * te;
        e[2 * row + 1] += basis.d[wave] * tm - basis.q[wave] * te;
      }
    return e;
  }

  void many(View<const float, 2> local, View<float, 3> e) const override {
    run_on_lanes([&](auto) APSYN_BEAM_BODY { many_lanes(local, e); });
  }

 private:
  struct Factor {
    Cx<float> d, q;
  };
  struct Factors {
    Factor of[2][4];
  };
  static Cx<float> rounded(const Complex& a) {
    return {static_cast<float>(a.real()), static_cast<float>(a.imag())};
  }

  APSYN_BEAM_INLINE void many_lanes(const View<const float, 2>& local, const View<float, 3>& e) const {
    const std::size_t n = local.extent(1);
    for (std::size_t i = 0; i < n; i += kLanes) {
      const LaneDirection at = lane_direction(local.data() + i, n);
      Cx<Lanes> out[4] = {};
      const Factors* factors = factors_.data();
      Cx<Lanes> turn{Lanes{} + 1, Lanes{}};  // e^{i m phi}
      Lanes first = Lanes{} - 1, of_order_1[kMaxDegree + 1];
      // m = 0 needs P_l^1, so it is computed on the way; its factors come first.
      const Factors* of_order_0 = factors;
      factors += degree_;
      for (int m = 1; m <= degree_; ++m) {
        turn = {turn.re * at.cos_phi - turn.im * at.sin_phi, turn.re * at.sin_phi + turn.im * at.cos_phi};
        Cx<Lanes> sums[2][4] = {};
        Lanes before{}, p = first;
        for (int l = m; l <= degree_; ++l, ++factors) {
          const Lanes next =
              (static_cast<float>(2 * l + 1) * at.cos_theta * p - static_cast<float>(l + m) * before) *
              (1.0f / static_cast<float>(l - m + 1));
          if (m == 1) of_order_1[l] = p;
          const Lanes d = static_cast<float>(m) * p;
          const Lanes q = static_cast<float>(l + 1) * at.cos_theta * p - static_cast<float>(l - m + 1) * next;
          for (std::size_t sign = 0; sign < 2; ++sign)
            for (std::size_t j = 0; j < 4; ++j) add(sums[sign][j], factors->of[sign][j], d, q);
          before = p;
          p = next;
        }
        for (std::size_t j = 0; j < 4; ++j) {
          const Cx<Lanes>&plus = sums[0][j], &minus = sums[1][j];
          out[j].re += plus.re * turn.re - plus.im * turn.im + minus.re * turn.re + minus.im * turn.im;
          out[j].im += plus.re * turn.im + plus.im * turn.re + minus.im * turn.re - minus.re * turn.im;
        }
        first = first * at.sin_theta * static_cast<float>(-(2 * m + 1));
      }
      for (int l = 1; l <= degree_; ++l, ++of_order_0) {
        const Lanes q = -at.sin_theta * of_order_1[l];
        for (std::size_t j = 0; j < 4; ++j) add(out[j], of_order_0->of[0][j], Lanes{}, q);
      }
      for (std::size_t j = 0; j < 4; ++j) {
        store_lanes(e.data() + (2 * j) * n + i, out[j].re);
        store_lanes(e.data() + (2 * j + 1) * n + i, out[j].im);
      }
    }
  }
  static APSYN_BEAM_INLINE void add(Cx<Lanes>& to, const Factor& factor, const Lanes& d, const Lanes& q) {
    to.re += factor.d.re * d + factor.q.re * q;
    to.im += factor.d.im * d + factor.q.im * q;
  }

  int degree_;
  Buffer<Complex, 2> values_;     // [wave][TE_X TM_X TE_Y TM_Y]
  std::vector<Factors> factors_;  // by m, then l
};

class FekoResponse final : public ElementResponse, public EmbeddedWaves {
 public:
  explicit FekoResponse(WaveCoefficients from)
      : values_(std::move(from.values)), degree_(degree_of(values_.extent(1))) {
    for (Complex& value : values_.view().span()) value = std::conj(value);
  }

  Jones at(std::size_t index, const ElementDirection& direction) const override {
    Buffer<Complex, 2> w({values_.extent(1), 4});
    waves(direction, w);
    Jones e{};
    for (std::size_t wave = 0; wave < w.extent(0); ++wave)
      for (std::size_t row = 0; row < 2; ++row) {
        const Complex te = values_(index, wave, 2 * row), tm = values_(index, wave, 2 * row + 1);
        const double sign = row == 0 ? 1 : -1;
        e[2 * row] += sign * (w(wave, 0) * te + w(wave, 1) * tm);
        e[2 * row + 1] += sign * (w(wave, 2) * te + w(wave, 3) * tm);
      }
    return e;
  }
  void many(View<const float, 2>, View<float, 3>) const override {
    throw std::logic_error("ElementResponse::many: the elements are not alike");
  }
  const EmbeddedWaves* embedded() const override { return this; }
  View<const Complex, 3> coefficients() const override { return values_; }

  void waves(const ElementDirection& direction, View<Complex, 2> w) const override {
    const Basis basis(degree_, direction);
    const double root_impedance = std::sqrt(376.730313668);
    static constexpr Complex kPowers[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};  // of i
    std::size_t wave = 0;
    for (int l = 1; l <= degree_; ++l)
      for (int m = -l; m <= l; ++m, ++wave) {
        const Complex b = m > 0 && m % 2 != 0 ? -root_impedance : root_impedance;
        const Complex power = b * kPowers[l % 4], next = b * kPowers[(l + 1) % 4];
        w(wave, 0) = std::conj(next * basis.d[wave]);
        w(wave, 1) = -std::conj(power * basis.q[wave]);
        w(wave, 2) = std::conj(next * basis.q[wave]);
        w(wave, 3) = std::conj(power * basis.d[wave]);
      }
  }

 private:
  Buffer<Complex, 3> values_;  // conjugated
  int degree_;
};

class WaveElement final : public Element {
 public:
  WaveElement(std::shared_ptr<const WaveSource> source, WaveConvention convention)
      : source_(std::move(source)), convention_(convention) {}
  std::size_t n_elements() const override { return source_->n_elements(); }
  std::shared_ptr<const ElementResponse> at_frequency(double freq_hz) const override {
    WaveCoefficients found = source_->nearest(freq_hz);
    if (convention_ == WaveConvention::skala40) return std::make_shared<SkalaResponse>(found);
    return std::make_shared<FekoResponse>(std::move(found));
  }

 private:
  std::shared_ptr<const WaveSource> source_;
  WaveConvention convention_;
};

}  // namespace

std::shared_ptr<const Element> make_wave_element(std::shared_ptr<const WaveSource> source,
                                                 WaveConvention convention) {
  return std::make_shared<WaveElement>(std::move(source), convention);
}

}  // namespace apsyn
