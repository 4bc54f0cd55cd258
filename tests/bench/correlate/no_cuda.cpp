// SPDX-License-Identifier: GPL-3.0-or-later
// The benchmark of the F and X stages in a build without the CUDA toolkit.
#include "tests/bench/correlate/cuda_cases.h"

namespace apsyn::bench {

void end_to_end_cuda(unsigned) {}

void f_stage_cuda() {}

void f_stage_long_cuda() {}

}  // namespace apsyn::bench
