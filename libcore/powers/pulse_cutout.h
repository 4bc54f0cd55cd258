// SPDX-License-Identifier: GPL-3.0-or-later
// The surroundings of a dispersed pulse, dedispersed.
#pragma once

#include "libcore/base/view.h"

namespace apsyn {

struct PulseCutout {
  Buffer<double, 2> spectrum;  ///< [frequency, ascending][time], in units of the noise; NaN: nothing observed
  Buffer<double, 1> profile;   ///< [time], the same of all frequencies together
  double first_s = 0,
         step_s = 0;  ///< left end of the first time bin after the pulse's middle, and their length
  double low_hz = 0, high_hz = 0;  ///< edges of the band
};

}  // namespace apsyn
