// SPDX-License-Identifier: GPL-3.0-or-later
// The choice of a plan's taper, and how far from a layer its subgrids may then reach.
#pragma once

#include <functional>

#include "kernels/idg/idg.h"

namespace apsyn::idg {

/// What the geometry of a field means for w.
struct Field {
  double half_l, half_m;             ///< of the padded field
  double image_l, image_m;           ///< largest |l|, |m| of the image
  double n_min_image, n_min_padded;  ///< 0 when the corner is beyond the horizon
};
Field measure_field(const IdgPlan& plan);

/// The error of the taper that a plan may have for its accuracy, everything else apart. `with_w`: for the
/// phase of w as well, which small squares in much padding have all over.
double allowed_taper_error(const IdgSettings& settings, bool with_w);

/// Least kernel padding for an error without w.
std::size_t min_kernel_padding(const IdgSettings& settings, double wanted);

struct ChosenTaper {
  Taper taper;
  double error = 0;
};

/// For the plan's kernel padding, without w; an error of `wanted` will do. The plan's subgrid may be 0.
/// Fitted tapers are the best there is, or, to know no more than that, the first found whose error is
/// `enough` at most.
ChosenTaper taper_without_w(const IdgSettings& settings, double wanted, double enough = 0);
/// For the plan's subgrid and visibilities as far as half_w from a layer. A taper that is not fitted to w is
/// the plan's own. `enough` as above.
ChosenTaper taper_with_w(const IdgPlan& plan, const Field& field, double half_w, double enough = 0);

/// Whether it matters which of the half_w from low up to high, this one excluded, is the largest.
using HalfWMatters = std::function<bool(double low, double high)>;
/// In steps of so much of the largest that is wanted.
inline constexpr double kHalfWStep = 1.0 / 256;
/// Largest |w - w_layer| whose phase still fits into the kernel padding beside the taper with an error of at
/// most `limit`; up to `most`. Where it does not matter which it is, one of these.
double largest_half_w(const IdgPlan& plan, const Field& field, double limit, double most,
                      const HalfWMatters& matters);

}  // namespace apsyn::idg
