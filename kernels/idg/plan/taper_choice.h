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

/// The error that a plan's accuracy leaves to the taper alone. `with_w`: the taper also has to hold the phase
/// of w, which fills small squares in much padding completely.
double allowed_taper_error(const IdgSettings& settings, bool with_w);

/// The smallest kernel padding that reaches the error `wanted` when w is ignored.
std::size_t min_kernel_padding(const IdgSettings& settings, double wanted);

struct ChosenTaper {
  Taper taper;
  double error = 0;
};

/// The taper for the plan's kernel padding when w is ignored; an error of `wanted` suffices. The plan's
/// subgrid may be 0. A fitted taper is the best one, or the first found with an error of at most `enough` for
/// callers that only need to know whether one exists.
ChosenTaper taper_without_w(const IdgSettings& settings, double wanted, double enough = 0);
/// The taper for the plan's subgrid when visibilities are up to half_w from a layer; the plan's own taper if
/// its kind is not fitted to w. `enough` as above.
ChosenTaper taper_with_w(const IdgPlan& plan, const Field& field, double half_w, double enough = 0);

/// Whether the result depends on which half_w in [low, high) is the largest possible one.
using HalfWMatters = std::function<bool(double low, double high)>;
/// Step of half_w, as a fraction of the largest half_w that is wanted.
inline constexpr double kHalfWStep = 1.0 / 256;
/// Largest |w - w_layer| whose phase still fits into the kernel padding beside the taper with an error of at
/// most `limit`; up to `most`. Within a range for which `matters` is false, any value of that range.
double largest_half_w(const IdgPlan& plan, const Field& field, double limit, double most,
                      const HalfWMatters& matters);

}  // namespace apsyn::idg
