// SPDX-License-Identifier: GPL-3.0-or-later
// Time samples of an LWA station: TBN, narrow-band and of all stands, and DRX, of beams.
#pragma once

#include <memory>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

std::unique_ptr<Capture> open_tbn(const CaptureRequest& request);
std::unique_ptr<Capture> open_drx(const CaptureRequest& request);

}  // namespace apsyn
