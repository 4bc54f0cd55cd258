// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace apsyn::bench {

/// The CUDA F stage alone, from device memory to device memory, fused and in steps.
void f_stage_cuda();
/// F and X from host memory to means in host memory, as `correlate --device cuda` does without its reader.
void end_to_end_cuda(unsigned n_threads);

}  // namespace apsyn::bench
