// SPDX-License-Identifier: GPL-3.0-or-later
// The benchmark of the X stage in a build without the CUDA toolkit.
#include "libcore/base/error.h"
#include "tests/bench/x_stage/x_stage_bench.h"

namespace apsyn::bench {
namespace {

[[noreturn]] void refuse() {
  throw DeviceError("this build has no CUDA: build with -DAPSYN_CUDA=ON");
}

}  // namespace

void run_integers(const std::vector<std::size_t>&) {
  refuse();
}

void run_float(const std::vector<std::size_t>&) {
  refuse();
}

void run_paper() {
  refuse();
}

void run_pack() {
  refuse();
}

}  // namespace apsyn::bench
