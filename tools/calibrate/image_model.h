// SPDX-License-Identifier: GPL-3.0-or-later
// Model images, degridded for the rows that are calibrated.
#pragma once

#include <memory>

#include "tools/calibrate/model.h"

namespace apsyn::calibrate {

/// DataError and UsageError as find_models().
std::unique_ptr<ModelSource> open_image_model(Tool& tool, const Options& options, VisibilityInput& input);

}  // namespace apsyn::calibrate
