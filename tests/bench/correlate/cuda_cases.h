// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace apsyn::bench {

/// The CUDA F stage alone, from device memory to device memory, by every path that makes such spectra; of up
/// to 1024 channels and 4 taps, and of more of both.
void f_stage_cuda();
void f_stage_long_cuda();
/// F and X from host memory to means in host memory, as `correlate --device cuda` does without its reader.
void end_to_end_cuda(unsigned n_threads);

}  // namespace apsyn::bench
