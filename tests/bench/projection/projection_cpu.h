// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "tests/bench/projection/projection.h"

namespace apsyn::projection {

std::unique_ptr<Gridder> make_cpu_gridder(const Setup& setup, unsigned n_threads);

}  // namespace apsyn::projection
