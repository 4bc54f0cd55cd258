// SPDX-License-Identifier: GPL-3.0-or-later
// The effect of quantising on correlations, and its inverse (van Vleck & Middleton 1966; Price 1958; Bussgang
// 1952).
//
// The quantiser: q = clip(round(x [+ d]), low, high) of a two's complement format in units of its step, that
// is a staircase with thresholds t = low + 1/2 .. high - 1/2; with dither d, uniform in [-1/2, 1/2), each
// threshold is spread over one step. For x_1, x_2 normal with zero mean, RMS sigma_1, sigma_2 (in steps) and
// correlation rho, Mehler's expansion in normalised Hermite polynomials h_k (He_k / sqrt(k!)) gives
//   E q_1 q_2 = sum over k of a_k(sigma_1) a_k(sigma_2) rho^k,
//   a_0 = low + sum over t of Q(t / sigma),  a_k = sum over t of phi(t / sigma) h_(k-1)(t / sigma) / sqrt(k),
// with phi and Q the normal density and its upper tail. E q^2 follows from the thresholds directly. The sum
// is taken to k = 95; the remaining terms are the part of the rounding errors that only nearly equal signals
// share. For many fine steps it is known at rho = 1, where E q_1 q_2 is a sum over thresholds, and falls as
// rho^(4 pi^2 sigma_1 sigma_2), the first term of Poisson's sum for a staircase without ends. For few or
// coarse ones, beyond |rho| = 0.9, the bivariate density at all pairs of thresholds, dE / drho, is integrated
// instead. All in float64, a_k interpolated in log sigma.
//
// A complex sample has two such components. For circular noise both halves of Re V = <re re'> + <im im'> are
// alike, and so are those of Im V: each is half of the complex mean.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace apsyn {

struct Quantiser {
  int low = -8, high = 7;
  bool dither = false;
};

/// Two's complement of 2 to 8 bits.
Quantiser twos_complement(unsigned n_bit);

/// E q^2 at `rms` steps.
double quantised_power(const Quantiser& quantiser, double rms);

inline constexpr std::size_t kVanVleckTerms = 96;

/// a_0 .. a_95 at `rms` steps.
std::array<double, kVanVleckTerms> quantised_terms(const Quantiser& quantiser, double rms);

/// E q_1 q_2 at rho = 1.
double quantised_product_of_equals(const Quantiser& quantiser, double rms1, double rms2);

class QuantiserCurve {
 public:
  explicit QuantiserCurve(const Quantiser& quantiser);

  struct Level {
    double rms = 0;       ///< steps; 0 = outside of what can be corrected
    double position = 0;  ///< in the tables
    double gain = 1;      ///< E q x / E x^2
  };
  /// The level of an input from its mean of q^2; rms = 0 (unknown) below an RMS of 0.2 steps or above 4 (high
  /// + 1), where nearly all samples are the same or clipped.
  Level level(double mean_square) const;
  /// E x_1 x_2 from E q_1 q_2, both in squares of steps, within +- sigma_1 sigma_2.
  double product(const Level& level1, const Level& level2, double quantised) const;
  /// The same from half the difference of E q_1 q_2 at rho and -rho, which is what Im V consists of: even
  /// terms cancel.
  double product_of_difference(const Level& level1, const Level& level2, double quantised) const;

 private:
  class Products;
  double solve(Products& products, const Level& level1, const Level& level2, double quantised) const;
  double solve_series(Products& products, const Level& level1, const Level& level2, double quantised) const;
  double solve_integral(Products& products, const Level& level1, const Level& level2, double quantised,
                        double sign) const;

  Quantiser quantiser_;
  double first_log_ = 0;
  std::vector<double> power_;                              // [node], rising
  std::vector<std::array<double, kVanVleckTerms>> terms_;  // [node]
};

}  // namespace apsyn
