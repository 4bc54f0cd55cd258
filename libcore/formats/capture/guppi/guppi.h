// SPDX-License-Identifier: GPL-3.0-or-later
// GUPPI RAW: blocks with a header each. Several inputs are the files of one recording, in any order.
#pragma once

#include <memory>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

std::unique_ptr<Capture> open_guppi(const CaptureRequest& request);

}  // namespace apsyn
