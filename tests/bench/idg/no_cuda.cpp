// SPDX-License-Identifier: GPL-3.0-or-later
// The benchmark of degridding in a build without the CUDA toolkit.
#include "tests/bench/idg/degrid.h"

namespace apsyn::bench {

void degrid_kernels(const Device&) {}

}  // namespace apsyn::bench
