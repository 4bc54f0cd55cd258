// SPDX-License-Identifier: GPL-3.0-or-later
// Samples without a header: everything is said by options. Several inputs are one recording in pieces.
#pragma once

#include <memory>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

std::unique_ptr<Capture> open_raw(const CaptureRequest& request);

}  // namespace apsyn
