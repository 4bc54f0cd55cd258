// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/depth_kernels.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "kernels/common/math/gauss_legendre.h"
#include "libcore/base/constants.h"

namespace apsyn {

namespace {

constexpr int kTaps = DepthAxis::kTaps, kNodes = DepthAxis::kNodes;
constexpr double kMiddle = (kTaps - 1) / 2.0;
using Complex = std::complex<double>;
using Square = std::array<std::array<double, kTaps>, kTaps>;

const GaussLegendre& rule() {
  static const GaussLegendre of = gauss_legendre(2 * kNodes);
  return of;
}
/// Of [x, -x] of a node, among those of the rule.
std::size_t place_of(int side, int node) {
  return static_cast<std::size_t>(side == 0 ? kNodes + node : kNodes - 1 - node);
}

/// By elimination; a positive definite matrix needs no pivots.
Square inverse_of(Square matrix) {
  Square inverse{};
  for (std::size_t i = 0; i < kTaps; ++i) inverse[i][i] = 1;
  for (std::size_t i = 0; i < kTaps; ++i) {
    const double scale = 1 / matrix[i][i];
    for (std::size_t k = 0; k < kTaps; ++k) {
      matrix[i][k] *= scale;
      inverse[i][k] *= scale;
    }
    for (std::size_t row = 0; row < kTaps; ++row) {
      if (row == i) continue;
      const double times = matrix[row][i];
      for (std::size_t k = 0; k < kTaps; ++k) {
        matrix[row][k] -= times * matrix[i][k];
        inverse[row][k] -= times * inverse[i][k];
      }
    }
  }
  return inverse;
}

/// Taps of each term for a pair `along` the axis from the middle of its cells, with z = 2 pi h.
using TermTaps = std::array<std::array<Complex, kTaps>, DepthAxis::kTerms>;
TermTaps taps_of(const DepthAxis& axis, int n_term, double along, double z) {
  TermTaps taps{};
  for (int node = 0; node < kNodes; ++node) {
    Complex at[2];
    for (int side = 0; side < 2; ++side)
      at[side] = std::polar(
          1.0, kTwoPi * along * axis.node[node] * (side == 0 ? 1 : -1) - z * axis.depth[side][node]);
    for (int term = 0; term < n_term; ++term) {
      const double of[2] = {term == 0 ? 1 : axis.term[term - 1][0][node],
                            term == 0 ? 1 : axis.term[term - 1][1][node]};
      const Complex sum = of[0] * at[0] + of[1] * at[1];
      const Complex difference = Complex(0, -1) * (of[0] * at[0] - of[1] * at[1]);
      for (int tap = 0; tap < kTaps; ++tap)
        taps[static_cast<std::size_t>(term)][static_cast<std::size_t>(tap)] +=
            static_cast<double>(axis.even[node][tap]) * sum +
            static_cast<double>(axis.odd[node][tap]) * difference;
    }
  }
  return taps;
}

}  // namespace

double DepthField::dn(double l, double m) const {
  // l = l' - a dn, m = m' - b dn and n = n_middle + dn lie on the sphere
  const double a = 1 + slope.u * slope.u + slope.v * slope.v;
  const double b = n_middle - slope.u * l - slope.v * m;
  const double c = l * l + m * m + n_middle * n_middle - 1;
  return (std::sqrt(std::max(0.0, b * b - a * c)) - b) / a;
}

DepthKernels::DepthKernels(const DepthField& field, int n_term) : field_(field), n_term_(n_term) {
  fit(0, static_cast<double>(field.n_x) / 2 / static_cast<double>(field.n_cell_x));
  fit(1, static_cast<double>(field.n_y) / 2 / static_cast<double>(field.n_cell_y));
  separate();
}

/// A Kaiser-Bessel window's, a little wider than the widest whose first zero is at the alias of the field's
/// edge: of tried factors 0.96 leaves the least RMS error.
double DepthKernels::transform(std::size_t axis, double frequency) const {
  const double beta = 0.96 * kPi * kTaps * (1 - edge_[axis]);
  const double square = beta * beta - std::pow(kPi * kTaps * frequency, 2),
               root = std::sqrt(std::abs(square));
  const double value = root < 1e-9 ? 1 : square > 0 ? std::sinh(root) / root : std::sin(root) / root;
  return value * beta / std::sinh(beta);
}

void DepthKernels::fit(std::size_t axis, double edge) {
  edge_[axis] = edge;
  DepthAxis& of = axes_[axis];
  Square normal{};
  for (std::size_t i = 0; i < rule().x.size(); ++i) {
    const double x = rule().x[i] * edge, phi = transform(axis, x), weight = rule().weight[i] / (phi * phi);
    for (std::size_t j = 0; j < kTaps; ++j)
      for (std::size_t k = 0; k < kTaps; ++k)
        normal[j][k] += weight * std::cos(kTwoPi * (static_cast<double>(j) - static_cast<double>(k)) * x);
  }
  const Square inverse = inverse_of(normal);
  for (int node = 0; node < kNodes; ++node) {
    const std::size_t place = place_of(0, node);
    const double x = rule().x[place] * edge, weight = rule().weight[place] / transform(axis, x);
    of.node[node] = static_cast<float>(x);
    for (std::size_t tap = 0; tap < kTaps; ++tap) {
      double even = 0, odd = 0;
      for (std::size_t k = 0; k < kTaps; ++k) {
        const double angle = kTwoPi * (static_cast<double>(k) - kMiddle) * x;
        even += inverse[tap][k] * weight * std::cos(angle);
        odd += inverse[tap][k] * weight * std::sin(angle);
      }
      of.even[node][tap] = static_cast<float>(even);
      of.odd[node][tap] = static_cast<float>(odd);
    }
  }
}

/// The nodes stand at l' = -x n_cell_x pitch and m' = y n_cell_y pitch.
void DepthKernels::separate() {
  constexpr std::size_t n = 2 * kNodes;
  using Vector = std::array<double, n>;
  const double turn_l = -static_cast<double>(field_.n_cell_x) * field_.pitch;
  const double turn_m = static_cast<double>(field_.n_cell_y) * field_.pitch;
  const std::vector<double>& weight = rule().weight;  // add up to 2
  Vector l, m, f{}, g{}, bend_f{}, bend_g{};
  for (std::size_t i = 0; i < n; ++i) {
    l[i] = rule().x[i] * edge_[0] * turn_l;
    m[i] = rule().x[i] * edge_[1] * turn_m;
  }
  std::array<Vector, n> rest;
  double mean = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      constexpr double kStep = 1e-4;
      rest[i][j] = field_.dn(l[i], m[j]);
      f[i] += weight[j] / 2 * rest[i][j];
      g[j] += weight[i] / 2 * rest[i][j];
      mean += weight[i] * weight[j] / 4 * rest[i][j];
      bend_f[i] += weight[j] / 4 * (field_.dn(l[i] + kStep, m[j]) - field_.dn(l[i] - kStep, m[j])) / kStep;
      bend_g[j] += weight[i] / 4 * (field_.dn(l[i], m[j] + kStep) - field_.dn(l[i], m[j] - kStep)) / kStep;
    }
  for (double& value : g) value -= mean;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) rest[i][j] -= f[i] + g[j];
  const auto put = [](const Vector& from, float(&to)[2][kNodes]) {
    for (int side = 0; side < 2; ++side)
      for (int node = 0; node < kNodes; ++node)
        to[side][node] = static_cast<float>(from[place_of(side, node)]);
  };
  put(f, axes_[0].depth);
  put(g, axes_[1].depth);
  put(bend_f, axes_[0].bend);
  put(bend_g, axes_[1].bend);
  for (int term = 1; term < n_term_; ++term) {
    // the largest singular value, from the largest row on: every turn multiplies what is wrong by the square
    // of the next over it
    constexpr int kTurns = 30;
    const auto size = [&](const Vector& of) {
      double squares = 0;
      for (std::size_t i = 0; i < n; ++i) squares += weight[i] / 2 * of[i] * of[i];
      return squares;
    };
    Vector a{}, b = *std::max_element(rest.begin(), rest.end(), [&](const Vector&one, const Vector&other) {
                  return size(one) < size(other);
                });
    for (int turn = 0; turn < kTurns && size(b) > 0; ++turn) {
      const double scale = 1 / std::sqrt(size(b));
      for (double& value : b) value *= scale;
      a.fill(0);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) a[i] += weight[j] / 2 * rest[i][j] * b[j];
      if (turn + 1 == kTurns) break;
      b.fill(0);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) b[j] += weight[i] / 2 * rest[i][j] * a[i];
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) rest[i][j] -= a[i] * b[j];
    put(a, axes_[0].term[term - 1]);
    put(b, axes_[1].term[term - 1]);
  }
}

double DepthKernels::error(const std::vector<std::array<double, 3>>& uvh_s, double hz) const {
  constexpr int kPlaces = 9;
  constexpr std::size_t kPairs = 200;
  const double turn_l = -static_cast<double>(field_.n_cell_x) * field_.pitch;
  const double turn_m = static_cast<double>(field_.n_cell_y) * field_.pitch;
  const std::size_t n_ant = uvh_s.size(), step = (n_ant * (n_ant - 1) / 2 / kPairs) | 1;
  double squares = 0, weights = 0;
  for (std::size_t a = 0, next = 0, pair = 0; a < n_ant; ++a)
    for (std::size_t b = a + 1; b < n_ant; ++b, ++pair) {
      if (pair < next) continue;
      next = pair + step;
      const double z = kTwoPi * hz * (uvh_s[a][2] - uvh_s[b][2]);
      // of a pixel over the pair's own fringe, for each term
      std::array<std::array<Complex, DepthAxis::kTerms>, kPlaces> seen[2];
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const double place = hz * (uvh_s[a][axis] - uvh_s[b][axis]) * (axis == 0 ? -turn_l : -turn_m);
        const double along = place - kMiddle - std::ceil(place - kMiddle - 0.5);
        const TermTaps taps = taps_of(axes_[axis], n_term_, along, z);
        for (std::size_t i = 0; i < kPlaces; ++i) {
          const double x = edge_[axis] * (2.0 * static_cast<double>(i) / (kPlaces - 1) - 1);
          for (std::size_t term = 0; term < DepthAxis::kTerms; ++term) {
            Complex sum = 0;
            for (std::size_t tap = 0; tap < kTaps; ++tap)
              sum += taps[term][tap] *
                     std::polar(1.0, kTwoPi * (static_cast<double>(tap) - kMiddle - along) * x);
            seen[axis][i][term] = sum / transform(axis, x);
          }
        }
      }
      for (std::size_t i = 0; i < kPlaces; ++i)
        for (std::size_t j = 0; j < kPlaces; ++j) {
          const auto end = [](std::size_t at) { return at == 0 || at + 1 == kPlaces ? 0.5 : 1; };
          const double x = edge_[0] * (2.0 * static_cast<double>(i) / (kPlaces - 1) - 1);
          const double y = edge_[1] * (2.0 * static_cast<double>(j) / (kPlaces - 1) - 1);
          Complex sum = 0;
          for (std::size_t term = 0; term < DepthAxis::kTerms; ++term)
            sum += (term == 0 ? 1 : Complex(0, -z)) * seen[0][i][term] * seen[1][j][term];
          squares +=
              end(i) * end(j) * std::norm(sum - std::polar(1.0, -z * field_.dn(x * turn_l, y * turn_m)));
          weights += end(i) * end(j);
        }
    }
  return weights > 0 ? std::sqrt(squares / weights) : 0;
}

}  // namespace apsyn
