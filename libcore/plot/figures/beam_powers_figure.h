// SPDX-License-Identifier: GPL-3.0-or-later
// The figure of several beams: the power of each against time.
#pragma once

#include <vector>

#include "libcore/plot/figures/dynamic_spectrum_figure.h"

namespace apsyn {

struct BeamPower {
  std::string name;
  DynamicSpectrum spectrum;  ///< of one band
};

/// Times count from the first beam's start. FailureError when every sample of every beam is missing.
Canvas draw_beam_powers(const std::vector<BeamPower>& beams, const DynamicSpectrumOptions& options);

}  // namespace apsyn
