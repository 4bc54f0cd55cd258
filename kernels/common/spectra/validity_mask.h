// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "kernels/common/spectra/spectra.h"

namespace apsyn {

/// Validity that does not depend on the channel, as kernels take it: mask[spectrum][ant].
void mask_of(const SpectraBlock& block, std::uint8_t* mask);

}  // namespace apsyn
