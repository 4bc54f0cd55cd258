// SPDX-License-Identifier: GPL-3.0-or-later
// From the apparent sky, which is the true one times the average beam of the stations, to the true one.
#pragma once

#include <algorithm>
#include <cmath>

#include "libcore/base/view.h"
#include "tools/imaging/images.h"

namespace apsyn::imaging {

/// The highest pixel of a beam; 0 when none is a number.
inline double beam_peak(View<const double, 2> beam) {
  double peak = 0;
  for (const double value : beam) peak = std::fmax(peak, value);
  return peak;
}

/// An image [plane][y][x] over the beam [y][x]; NaN where that is too weak.
inline Buffer<double, 3> over_beam(View<const double, 3> image, View<const double, 2> beam) {
  Buffer<double, 3> result(image.shape());
  const double least = kMinBeam * beam_peak(beam);
  for (std::size_t i = 0; i < image.size(); ++i) {
    const double response = beam.data()[i % beam.size()];
    result.data()[i] = response > least ? image.data()[i] / response : NAN;
  }
  return result;
}

/// The same of a model: 0 where the beam is too weak, for there are no components.
inline Buffer<double, 3> model_over_beam(View<const double, 3> model, View<const double, 2> beam) {
  Buffer<double, 3> result = over_beam(model, beam);
  for (double& flux : result)
    if (!std::isfinite(flux)) flux = 0;
  return result;
}

}  // namespace apsyn::imaging
