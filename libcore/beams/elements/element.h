// SPDX-License-Identifier: GPL-3.0-or-later
// What a single element (a pair of dipoles or log-periodic antennas) receives: E, rows X and Y, columns the
// field along theta and phi of the axes p, q, r of its field: theta from r, phi from p towards q.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"
#include "libcore/beams/jones.h"

namespace apsyn {

/// A direction in the axes of a field, of which phi is always defined.
struct ElementDirection {
  double sin_theta = 0, cos_theta = 1, cos_phi = 1, sin_phi = 0;
};
/// Of a unit vector along p, q, r; theta is at least 1e-5.
ElementDirection element_direction(const Vec3& local);

/// Spherical waves of elements that each have coefficients of their own. The sum over elements k of a phasor
/// g_k times E_k is that of the waves W, each times the sum over k of g_k and its coefficients: one product
/// of matrices for all elements.
class EmbeddedWaves {
 public:
  virtual ~EmbeddedWaves() = default;
  /// [element][wave][TE_X TM_X TE_Y TM_Y]
  virtual View<const std::complex<double>, 3> coefficients() const = 0;
  /// W [wave][theta of TE, theta of TM, phi of TE, phi of TM]; with the other sign for Y.
  virtual void waves(const ElementDirection& direction, View<std::complex<double>, 2> w) const = 0;
};

/// An element at one frequency, which is folded into its coefficients.
class ElementResponse {
 public:
  virtual ~ElementResponse() = default;
  /// [X theta, X phi, Y theta, Y phi] of element `index`, of no account where all elements are alike.
  virtual Jones at(std::size_t index, const ElementDirection& direction) const = 0;
  /// The same in single precision, where all elements are alike: of `local` [p, q, r][direction] makes `e`
  /// [X theta, X phi, Y theta, Y phi][re, im][direction]. The directions are a multiple of kLanes; those
  /// below the horizon get what stands at the horizon.
  virtual void many(View<const float, 2> local, View<float, 3> e) const = 0;
  /// Null where all elements are alike.
  virtual const EmbeddedWaves* embedded() const { return nullptr; }
};

class Element {
 public:
  virtual ~Element() = default;
  /// How many different elements there are; 1: all are alike.
  virtual std::size_t n_elements() const { return 1; }
  /// DataError where there is nothing for the frequency.
  virtual std::shared_ptr<const ElementResponse> at_frequency(double freq_hz) const = 0;
};

/// Hamaker's dual dipole, LOFAR's: c [harmonic k][power t of theta][power j of frequency][2]. With
/// x = (f - centre) / range, P_i = sum over t, j of c[k][t][j][i] theta^t x^j and a_k = (-1)^k (2 k + 1) phi
///   E = sum over k of [cos a_k P_0, -sin a_k P_1; sin a_k P_0, cos a_k P_1].
struct HamakerCoefficients {
  double freq_centre_hz = 0, freq_range_hz = 0;
  Buffer<std::complex<double>, 4> c;
};
std::shared_ptr<const Element> make_hamaker_element(HamakerCoefficients coefficients);

/// Half-wave dipoles along p and q; `with_cosine`: times cos(theta), OSKAR's stand-in for a ground plane.
///   t(u) = cos(pi/2 cos u sin theta) / (1 - cos^2 u sin^2 theta), E_theta = -cos u cos theta t,
///   E_phi = sin u t, u = phi for X and phi + pi/2 for Y.
std::shared_ptr<const Element> make_dipole_element(bool with_cosine);

/// Coefficients of spherical waves at one frequency: [element][wave][TE_X TM_X TE_Y TM_Y], the waves in the
/// order of l^2 - 1 + l + m with l = 1 .. L, m = -l .. l.
struct WaveCoefficients {
  double freq_hz = 0;  ///< for which they were made
  Buffer<std::complex<double>, 3> values;
};

/// Where coefficients come from: a file, when they are wanted.
class WaveSource {
 public:
  virtual ~WaveSource() = default;
  virtual std::size_t n_elements() const = 0;
  /// The coefficients whose frequency is nearest.
  virtual WaveCoefficients nearest(double freq_hz) const = 0;
};

/// Waves with the Condon-Shortley phase, P = P_l^|m|(cos theta),
/// N = sqrt((2 l + 1) / (4 pi l (l + 1)) (l - |m|)! / (l + |m|)!):
///   D = N e^{i m phi} i m P / sin theta, Q = N e^{i m phi} sin theta dP/d(cos theta).
/// skala40: one element for all,
///   E_theta = sum of (-Q TM - D TE), E_phi = sum of (D TM - Q TE).
/// feko: with b = sqrt(376.730313668 ohm) (-1)^max(m, 0), A = sum of b (i^{l+1} D TE - i^l Q TM),
/// B = sum of b (i^l D TM + i^{l+1} Q TE): E_theta = conj A, E_phi = conj B for X, and the negatives for Y.
enum class WaveConvention { skala40, feko };
std::shared_ptr<const Element> make_wave_element(std::shared_ptr<const WaveSource> source,
                                                 WaveConvention convention);

/// A pattern at one frequency, [phi][theta][X theta, X phi, Y theta, Y phi]. Angles rise, phi from 0 to 2 pi,
/// theta from 0 to the horizon or beyond.
struct ElementPattern {
  std::vector<double> phi_rad, theta_rad;
  Buffer<std::complex<double>, 3> e;
};

/// Where patterns come from: a file, when they are wanted.
class PatternSource {
 public:
  virtual ~PatternSource() = default;
  /// DataError for frequencies beyond those that there are.
  virtual ElementPattern at(double freq_hz) const = 0;
};

/// Linear in either angle between the points of the pattern; one element for all.
std::shared_ptr<const Element> make_grid_element(std::shared_ptr<const PatternSource> source);

}  // namespace apsyn
