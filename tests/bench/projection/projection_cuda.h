// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "tests/bench/projection/projection.h"

namespace apsyn::projection {

/// DeviceError in a build without CUDA.
std::unique_ptr<Gridder> make_cuda_gridder(const Setup& setup, int device);

}  // namespace apsyn::projection
