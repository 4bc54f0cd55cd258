// SPDX-License-Identifier: GPL-3.0-or-later
// What a GPU is given at a time, and what that takes of the host's memory.
#pragma once

#include <cstdint>

#include "libcore/system/device.h"
#include "tools/beamform/options.h"
#include "tools/beamform/setup.h"

namespace apsyn {

void plan_gpu(const BeamformOptions& options, const Device& device, bool four_bit, BeamformSetup& setup,
              std::uint64_t max_memory_bytes);

}  // namespace apsyn
