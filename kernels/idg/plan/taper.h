// SPDX-License-Identifier: GPL-3.0-or-later
// The window over the padded field that makes subgrids small, and the error that it leaves.
//
// A subgrid samples taper(x) exp(i phase(x)) at L points across the padded field, eta in [-1, 1], and stands
// for it by L Fourier coefficients (uv cells). The error of the final image is the part of the spectrum that
// lies outside the subgrid, divided by the taper again. Tapers: the prolate spheroidal wave function of order
// 0 with bandwidth c (its energy is the most concentrated of all), and the Kaiser-Bessel window
// I0(c sqrt(1 - eta^2)) / I0(c). Half the support in uv cells is about c / pi.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace apsyn {

enum class TaperKind { automatic, least_misfit, pswf, kaiser_bessel };

/// The names of the command line: auto, lm, pswf or kb. parse_taper() throws UsageError for any other.
const char* taper_name(TaperKind kind);
TaperKind parse_taper(std::string_view name);

class Taper {
 public:
  Taper() = default;
  /// pswf or kaiser_bessel.
  Taper(TaperKind kind, double c);
  /// least_misfit: a prolate function times an even polynomial, coefficients of P_0, P_2, P_4 ..
  Taper times(std::vector<double> factor) const;
  double operator()(double eta) const;  ///< 1 at eta = 0, 0 outside [-1, 1]
  /// operator() for all values of eta, bit for bit the same but faster.
  std::vector<double> at(const std::vector<double>& eta) const;
  TaperKind kind() const { return kind_; }
  double c() const { return c_; }

 private:
  TaperKind kind_ = TaperKind::pswf;
  double c_ = 0, scale_ = 1;
  std::vector<double> prolate_;  ///< coefficients of Legendre polynomials of even degree
  std::vector<double> factor_;   ///< likewise; empty = 1
};

/// What a subgrid has to represent besides the taper: the residual w phase -2 pi half_w (n - n_mid) on the
/// line through the field where n varies fastest. half_w = 0: no phase.
struct ResidualPhase {
  double half_w = 0;          ///< wavelengths
  double half_width_l = 0;    ///< direction cosine at eta = 1
  double other_axis_max = 0;  ///< largest |m| of the image
};

/// Relative RMS error over the image (|eta| <= 1 / padding) of a visibility at the edge of the region that a
/// subgrid serves, when half of `support` cells are free beyond the two cells that it lies between.
double taper_error(const Taper& taper, double support, double padding, const ResidualPhase& phase);

/// The smallest c whose error is at most `wanted`, or else the c of smallest error: a flat taper loses fewer
/// digits.
double choose_taper_c(TaperKind kind, double support, double padding, double wanted);

}  // namespace apsyn
