// SPDX-License-Identifier: GPL-3.0-or-later
// Which taper a plan gets, and how far from a layer its subgrids may then reach.
#pragma once

#include "kernels/idg/idg.h"

namespace apsyn::idg {

/// What the geometry of a field means for w.
struct Field {
  double half_l, half_m;                 ///< of the padded field
  double image_l, image_m;               ///< largest |l|, |m| of the image
  double n_least_image, n_least_padded;  ///< 0 when the corner is beyond the horizon
};
Field measure_field(const IdgPlan& plan);

/// The error of the taper that a plan may have for its accuracy, everything else apart. `with_w`: for the
/// phase of w as well, which small squares in much padding have all over.
double allowed_taper_error(const IdgSettings& settings, bool with_w);

/// Least kernel padding for an error without w.
std::size_t least_kernel_padding(const IdgSettings& settings, double wanted);

struct ChosenTaper {
  Taper taper;
  double error = 0;
};

/// For the plan's kernel padding, without w; an error of `wanted` will do. The plan's subgrid may be 0.
ChosenTaper taper_without_w(const IdgSettings& settings, double wanted);
/// For the plan's subgrid and visibilities as far as half_w from a layer. A taper that is not fitted to w is
/// the plan's own.
ChosenTaper taper_with_w(const IdgPlan& plan, const Field& field, double half_w);
/// Largest |w - w_layer| whose phase still fits into the kernel padding beside the taper with an error of at
/// most `limit`; up to `most`.
double largest_half_w(const IdgPlan& plan, const Field& field, double limit, double most);

}  // namespace apsyn::idg
