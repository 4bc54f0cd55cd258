// SPDX-License-Identifier: GPL-3.0-or-later
// Tiles of the Murchison Widefield Array by spherical waves of each dipole where it stands, among the others
// (Sokolowski et al. 2017, PASA 34, e062).
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/beams/jones.h"
#include "libcore/sky/beams.h"

namespace apsyn {

/// A wave of the file: kind s (1 or 2), order m, degree n.
struct MwaWave {
  int s = 0, m = 0, n = 0;
};

/// What the file has for one frequency.
struct MwaFeeCoefficients {
  double freq_hz = 0;
  std::vector<MwaWave> waves;
  /// [X, Y][dipole]: of the first waves, in the order of `waves`.
  std::array<std::array<std::vector<std::complex<double>>, kMwaDipoles>, 2> dipoles;
};

class MwaFeeSource {
 public:
  virtual ~MwaFeeSource() = default;
  /// Of the frequency that is nearest.
  virtual MwaFeeCoefficients nearest(double freq_hz) const = 0;
};

/// Delays and amplitudes of a tile's dipoles, [X, Y][dipole].
struct MwaTile {
  std::array<MwaDelays, 2> delays{};
  std::array<std::array<double, kMwaDipoles>, 2> amplitudes;

  MwaTile();  ///< amplitudes of 1
  bool operator==(const MwaTile&) const = default;
  auto operator<=>(const MwaTile&) const = default;
};

/// The beam of a tile, normalised to the moduli at the zenith with all delays 0. The delays are those of the
/// file's frequency.
class MwaFeeBeam {
 public:
  MwaFeeBeam(const MwaFeeCoefficients& coefficients, const MwaTile& tile);
  /// [X theta, X phi, Y theta, Y phi] at an azimuth (from north through east) and a zenith angle. With q the
  /// parallactic angle, J = E [-cos q, -sin q; sin q, -cos q]: the phi component is the one along the
  /// azimuth.
  Jones response(double az_rad, double za_rad) const;

 private:
  /// Coefficients of both kinds, [(n, m)].
  struct Mode {
    int n = 0, m = 0;
    std::complex<double> q1, q2;  ///< with all factors that do not depend on the direction
  };
  struct Sums {
    std::vector<Mode> modes;
    std::array<std::complex<double>, 2> at(double phi_rad, double za_rad) const;  ///< theta, phi
  };
  static Sums sums_of(const MwaFeeCoefficients& coefficients, std::size_t pol, const MwaTile& tile);
  std::array<Sums, 2> sums_;
  std::array<double, 4> norm_;
};

}  // namespace apsyn
