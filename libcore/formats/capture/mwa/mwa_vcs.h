// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

/// Recombined files of the legacy voltage capture system: seconds of coarse channels, one after the other,
/// the channels beside each other.
std::unique_ptr<Capture> open_mwa_vcs(const CaptureRequest& request);

}  // namespace apsyn
