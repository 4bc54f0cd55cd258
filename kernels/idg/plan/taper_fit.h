// SPDX-License-Identifier: GPL-3.0-or-later
// The taper of least error for a given subgrid, w included.
//
// A prolate taper concentrates the spectrum of the whole padded field. But only the image counts (errors in
// the padding are thrown away), and the phases of w take up most of the available support. So we look for the
// even function t(eta) that minimises, over visibilities anywhere in the square and the phases psi(eta) that
// they carry,
//
//   sum | e(eta) / t(eta) |^2 + (rounding)^2,   |eta| <= 1 / padding,
//   e(eta) = t(eta) D(eta) - sum_i K(eta - eta_i) t(eta_i) D(eta_i),   D(eta) = exp(i pi u eta - i psi(eta)),
//   K(x) = (1 / L) sum_k exp(i pi k x),  k = -L/2 .. L/2 - 1,  eta_i = (2 i + 1) / L - 1,
//
// where e is the part of the visibility that L cells do not represent, computed exactly as the gridder does
// it. The criterion is that of least-misfit gridding (Ye, Gull, Tan and Nikolic 2020, MNRAS 491, 1146), here
// for subgrids and with w. Rounding of the uv grid is divided by t as well: steep tapers lose digits. It
// counts as epsilon <t^2>_field <1 / t^2>_image for both axes together.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/idg/plan/taper.h"

namespace apsyn {

/// What a taper is for.
struct TaperCase {
  std::size_t subgrid = 0;  ///< L, even
  double support = 0;    ///< cells of the subgrid beyond those next to visibilities, on both sides together
  double padding = 1.5;  ///< padded field / image
  std::vector<ResidualPhase> phases;  ///< of the visibilities farthest from a layer, for each axis
  double rounding = 0;                ///< epsilon of the uv grid's numbers
};

struct FittedTaper {
  Taper taper;
  double error = 0;  ///< relative RMS over the image, the worst of the phases (0 included), rounding included
};

/// By Gauss-Newton steps over an even polynomial times a prolate function; about a millisecond. Returns early
/// with the first taper whose error is at most `enough`, for callers that only need to know whether one
/// exists.
FittedTaper fit_taper(const TaperCase& wanted, double enough = 0);

/// The error of any taper, defined as FittedTaper::error is.
double taper_error(const Taper& taper, const TaperCase& of);

}  // namespace apsyn
