// SPDX-License-Identifier: GPL-3.0-or-later
// The benchmark of projection gridders in a build without the CUDA toolkit.
#include "libcore/base/error.h"
#include "tests/bench/projection/projection_cuda.h"

namespace apsyn::projection {

std::unique_ptr<Gridder> make_cuda_gridder(const Setup&, int) {
  throw DeviceError("this build has no CUDA");
}

}  // namespace apsyn::projection
