// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage's kernels on float32 samples. Samples are complex64; sums are float64, added to.
#pragma once

#include <cuda_runtime.h>

#include "kernels/correlate/cuda/x_stage/means.cuh"

namespace apsyn::x_stage {

/// Inputs i <= j of a pair, or groups of inputs.
struct InputPair {
  unsigned short i, j;
};

struct FloatTask {
  const float2* samples;
  std::size_t chan_stride;  ///< elements; of the register kernel only
  int n_chan, n_spectra, n_input;
  FloatPairSums sums;
};

/// Register tiles. Samples [chan][spectrum][input], sums [part][chan][pair]: part p takes the p-th share of
/// the spectra.
void launch_register(const FloatTask& task, cudaStream_t stream);
/// The number of parts that leaves the fewest multiprocessors idle.
int register_parts(int n_chan, int n_input, int n_sm);

// The designs of Wayth et al. (2009), section 4: samples [spectrum][input][chan], consecutive threads take
// consecutive channels; sums [pair][chan], one part.
/// `pairs`: all input pairs i <= j, row-major.
void launch_pair_parallel(const FloatTask& task, const InputPair* pairs, cudaStream_t stream);
/// `pairs`: all pairs of groups of `group` (2 or 4) inputs.
void launch_group_parallel(const FloatTask& task, int group, const InputPair* pairs, int n_pairs,
                           cudaStream_t stream);
void launch_hybrid_group(const FloatTask& task, int group, cudaStream_t stream);

/// [chan][spectrum][input] -> [spectrum][input][chan].
void launch_channels_fastest(const FloatTask& task, float2* out, cudaStream_t stream);

}  // namespace apsyn::x_stage
