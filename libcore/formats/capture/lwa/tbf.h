// SPDX-License-Identifier: GPL-3.0-or-later
// Channelised voltages of all stands of an LWA station: TBF and TBX frames of a triggered buffer, and the
// CHIPS packets of its F-engine as bifrost dumps them. Every packet is one time sample of some channels.
#pragma once

#include <memory>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

std::unique_ptr<Capture> open_tbf(const CaptureRequest& request);
std::unique_ptr<Capture> open_chips(const CaptureRequest& request);

}  // namespace apsyn
