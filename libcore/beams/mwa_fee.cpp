// SPDX-License-Identifier: GPL-3.0-or-later
// With c = sqrt((2 n + 1) / 2 (n - |m|)! / (n + |m|)! / (n (n + 1))), negative for odd m > 0, P with the
// Condon-Shortley phase, p = P_n^|m| / sin za, p' = P_n^(|m| + 1), u = cos za and phi = pi/2 - az:
//   E_theta = sum of c i^n e^{i m phi} (p (|m| q2 u - m q1) + q2 p'),
//   E_phi = -sum of c i^(n + 1) e^{i m phi} (p (m q2 - |m| q1 u) - q1 p').
// q_s of a wave is the sum over the dipoles d of v_d times the file's coefficient, v_d = amplitude
// exp(-2 pi i f_file delay 435 ps), 0 for dead dipoles.
#include "libcore/beams/mwa_fee.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;

constexpr int kMaxDegree = 60;

double wave_norm(int n, int m) {
  const int order = std::abs(m);
  double ratio = 1;  // (n - |m|)! / (n + |m|)!
  for (int i = n - order + 1; i <= n + order; ++i) ratio /= i;
  const double c = std::sqrt((2 * n + 1) / 2.0 * ratio / (n * (n + 1.0)));
  return m > 0 && m % 2 != 0 ? -c : c;
}

Complex power_of_i(int n) {
  static constexpr Complex kPowers[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  return kPowers[n % 4];
}

}  // namespace

MwaTile::MwaTile() {
  for (auto& pol : amplitudes) pol.fill(1);
}

MwaFeeBeam::Sums MwaFeeBeam::sums_of(const MwaFeeCoefficients& from, std::size_t pol, const MwaTile& tile) {
  std::map<std::pair<int, int>, Mode> modes;
  for (std::size_t dipole = 0; dipole < kMwaDipoles; ++dipole) {
    const int delay = tile.delays[pol][dipole];
    if (delay == kMwaDeadDipole) continue;
    const Complex voltage =
        std::polar(tile.amplitudes[pol][dipole], -kTwoPi * from.freq_hz * delay * kMwaDelayStep_s);
    const std::vector<Complex>& own = from.dipoles[pol][dipole];
    if (own.size() > from.waves.size())
      throw DataError("MWA beam: dipole {} has {} coefficients and the file {} modes", dipole + 1, own.size(),
                      from.waves.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const MwaWave& wave = from.waves[i];
      if (wave.n < 1 || wave.n > kMaxDegree || std::abs(wave.m) > wave.n || wave.s < 1 || wave.s > 2)
        throw DataError("MWA beam: mode s = {}, m = {}, n = {}: |m| <= n <= {} is needed", wave.s, wave.m,
                        wave.n, kMaxDegree);
      Mode& mode = modes[{wave.n, wave.m}];
      mode.n = wave.n;
      mode.m = wave.m;
      (wave.s == 1 ? mode.q1 : mode.q2) += voltage * own[i];
    }
  }
  Sums sums;
  for (auto& [key, mode] : modes) {
    const Complex factor = wave_norm(mode.n, mode.m) * power_of_i(mode.n);
    mode.q1 *= factor;
    mode.q2 *= factor;
    sums.modes.push_back(mode);
  }
  return sums;
}

std::array<Complex, 2> MwaFeeBeam::Sums::at(double phi_rad, double za_rad) const {
  const int degree = modes.empty() ? 0 : modes.back().n;
  const double u = std::cos(za_rad), sine = std::sin(za_rad);
  // P_n^m / sin za, [m][n]; of m = 0 nothing is needed.
  double p[kMaxDegree + 2][kMaxDegree + 1] = {};
  double first = -1;
  for (int m = 1; m <= degree; ++m) {
    double before = 0, now = first;
    for (int n = m; n <= degree; ++n) {
      p[m][n] = now;
      const double next = ((2 * n + 1) * u * now - (n + m) * before) / (n - m + 1);
      before = now;
      now = next;
    }
    first *= -(2 * m + 1) * sine;
  }
  Complex turns[kMaxDegree + 1] = {1.0};  // e^{i m phi}
  const Complex turn_of_1 = std::polar(1.0, phi_rad);
  for (int m = 1; m <= degree; ++m) turns[m] = turns[m - 1] * turn_of_1;
  Complex theta = 0, phi = 0;
  for (const Mode& mode : modes) {
    const int order = std::abs(mode.m);
    const double own = p[order][mode.n], above = sine * p[order + 1][mode.n];
    const Complex turn = mode.m < 0 ? std::conj(turns[order]) : turns[order];
    theta += turn * (own * (order * u * mode.q2 - static_cast<double>(mode.m) * mode.q1) + above * mode.q2);
    phi -= Complex(0, 1) * turn *
           (own * (static_cast<double>(mode.m) * mode.q2 - order * u * mode.q1) - above * mode.q1);
  }
  return {theta, phi};
}

MwaFeeBeam::MwaFeeBeam(const MwaFeeCoefficients& coefficients, const MwaTile& tile) {
  for (std::size_t pol = 0; pol < 2; ++pol) {
    sums_[pol] = sums_of(coefficients, pol, tile);
    const Sums zenith = sums_of(coefficients, pol, MwaTile());
    const auto modulus = [&](double phi_rad, std::size_t component) {
      const double value = std::abs(zenith.at(phi_rad, 0)[component]);
      if (!(value > 0))
        throw DataError("MWA beam: it is 0 at the zenith: the file is not what it is named as");
      return value;
    };
    norm_[2 * pol] = 1 / modulus(pol == 0 ? 0 : kPi / 2, 0);
    norm_[2 * pol + 1] = 1 / modulus(pol == 0 ? -kPi / 2 : 0, 1);
  }
}

Jones MwaFeeBeam::response(double az_rad, double za_rad) const {
  const double phi_rad = kPi / 2 - az_rad;
  const auto x = sums_[0].at(phi_rad, za_rad), y = sums_[1].at(phi_rad, za_rad);
  return {norm_[0] * x[0], norm_[1] * x[1], norm_[2] * y[0], norm_[3] * y[1]};
}

}  // namespace apsyn
