// SPDX-License-Identifier: GPL-3.0-or-later
// The figure of a filterbank: power against time, the dynamic spectrum, and the mean spectrum.
#pragma once

#include <string>

#include "libcore/plot/canvas.h"
#include "libcore/powers/dynamic_spectrum.h"

namespace apsyn {

struct DynamicSpectrumOptions {
  std::string title;  ///< empty: the source
  std::string colour_map = "ember";
  std::size_t size = 1000;
};

/// FailureError when every sample is missing.
Canvas draw_dynamic_spectrum(const DynamicSpectrum& spectrum, const DynamicSpectrumOptions& options);

}  // namespace apsyn
