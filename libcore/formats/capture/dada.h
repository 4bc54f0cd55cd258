// SPDX-License-Identifier: GPL-3.0-or-later
// A recording in several PSRDADA files, as dada_dbdisk writes them: each has a header of its own and begins
// where the one before ended, or after a pause, which is filled with missing data. Samples are handed on as
// they are.
#pragma once

#include <memory>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

std::unique_ptr<Capture> open_dada(const CaptureRequest& request);

}  // namespace apsyn
