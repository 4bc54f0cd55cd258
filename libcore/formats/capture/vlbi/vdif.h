// SPDX-License-Identifier: GPL-3.0-or-later
// VDIF recordings: frames of several threads in any order, in one or more inputs. Threads, by input and
// rising number, are the inputs of the output: antennas, or antennas' polarisations.
#pragma once

#include <memory>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

std::unique_ptr<Capture> open_vdif(const CaptureRequest& request);

}  // namespace apsyn
