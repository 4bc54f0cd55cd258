// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/projection/projection.h"

#include "tests/bench/projection/projection_cpu.h"
#include "tests/bench/projection/projection_cuda.h"

namespace apsyn::projection {

std::unique_ptr<Gridder> make_gridder(const Device& device, const Setup& setup, unsigned n_threads) {
  if (device.kind == Device::Kind::cuda) return make_cuda_gridder(setup, device.index);
  return make_cpu_gridder(setup, n_threads);
}

}  // namespace apsyn::projection
