// SPDX-License-Identifier: GPL-3.0-or-later
// Mark 5B recordings of one station: real samples of 1 or 2 bits in some channels.
#pragma once

#include <memory>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

std::unique_ptr<Capture> open_mark5b(const CaptureRequest& request);

}  // namespace apsyn
