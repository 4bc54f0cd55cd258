// SPDX-License-Identifier: GPL-3.0-or-later
// The benchmark of the X stage in a build without the CUDA toolkit.
#include "libcore/base/error.h"
#include "tests/bench/x_stage/x_stage_bench.h"

namespace apsyn::bench {

void run_pack() {
  throw DeviceError("this build has no CUDA: build with -DAPSYN_CUDA=ON");
}

double device_copy_rate() {
  return 0;
}

}  // namespace apsyn::bench
