// SPDX-License-Identifier: GPL-3.0-or-later
// The taper of least error for a given subgrid, w included.
//
// A prolate taper keeps the whole padded field's spectrum together. Only the image counts, though, what falls
// into the padding is thrown away, and the phases of w take up most of the room. So: find the even function
// t(eta) that makes least, over visibilities all over the square and the phases psi(eta) they carry,
//
//   sum | e(eta) / t(eta) |^2 + (rounding)^2,   |eta| <= 1 / padding,
//   e(eta) = t(eta) D(eta) - sum_i K(eta - eta_i) t(eta_i) D(eta_i),   D(eta) = exp(i pi u eta - i psi(eta)),
//   K(x) = (1 / L) sum_k exp(i pi k x),  k = -L/2 .. L/2 - 1,  eta_i = (2 i + 1) / L - 1,
//
// e being what L cells stand for less than the visibility is, exactly as the gridder goes about it. The
// criterion is that of least-misfit gridding (Ye, Gull, Tan and Nikolic 2020, MNRAS 491, 1146), here for
// subgrids and with w. Rounding of the uv grid is divided by t as well: steep tapers lose digits. It counts
// as epsilon <t^2>_field <1 / t^2>_image for both axes together.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/idg/plan/taper.h"

namespace apsyn {

/// What a taper is for.
struct TaperCase {
  std::size_t subgrid = 0;            ///< L, even
  double support = 0;                 ///< cells of it beyond those next to visibilities, both sides together
  double padding = 1.5;               ///< padded field / image
  std::vector<ResidualPhase> phases;  ///< of the visibilities farthest from a layer, for each axis
  double rounding = 0;                ///< epsilon of the uv grid's numbers
};

struct FittedTaper {
  Taper taper;
  double error = 0;  ///< relative RMS over the image, the worst of the phases (0 included), rounding included
};

/// By Gauss-Newton steps over an even polynomial times a prolate function; about a millisecond. The first
/// taper on the way whose error is `enough` at most will do, so that who asks no more than whether there is
/// one waits no longer.
FittedTaper fit_taper(const TaperCase& wanted, double enough = 0);

/// The error of any taper, as fit_taper gives it.
double taper_error(const Taper& taper, const TaperCase& of);

}  // namespace apsyn
