// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels behind dedisperse_cuda.h.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::dedispersion {

/// Samples of one level: row `chan` is a ring of mask + 1 bytes (a power of two from 4 on), where sample t is
/// at t & mask.
struct SampleRing {
  std::uint8_t* first = nullptr;
  std::uint64_t mask = 0;
};

/// Samples that arrive, [chan][time], into one ring from its sample `at` on: sums of `factor` over its root.
struct AppendTask {
  const std::int8_t* samples = nullptr;
  std::size_t n_chan = 0, n_time = 0;  ///< null samples: zeros, n_time of the ring
  SampleRing ring;
  std::uint64_t at = 0;
  int factor = 1, scale = 1;  ///< scale: 65536 over the root of factor
};
void launch_append(const AppendTask& task, cudaStream_t stream);

/// Row i is r of equation (2) of dedisperse.h, from shift `first_shift` on.
struct PartialRow {
  std::uint32_t first_chan = 0, n_chan = 0;
  std::uint32_t first_offset = 0;  ///< of the row's channels, in `offsets`
  std::uint32_t first_shift = 0;
};
struct PartialTask {
  SampleRing ring;
  std::uint64_t first = 0;  ///< sample of output 0
  const PartialRow* rows = nullptr;
  const std::uint32_t* offsets = nullptr;
  std::size_t n_row = 0, n_time = 0;  ///< n_time: with the shifts
  std::int16_t* out = nullptr;        ///< [row][stride], stride a multiple of 4 and at least n_time + 4
  std::size_t stride = 0;
};
void launch_partial_sums(const PartialTask& task, cudaStream_t stream);

/// Where a trial reads a row: its row, and how many samples after the row's first.
struct RowUse {
  std::uint32_t row = 0, shift = 0;
};
/// Samples behind the last row that are read, and not used.
constexpr std::size_t kReadBeyond = 1024 + 4;
struct TrialTask {
  const std::int16_t* sums = nullptr;  ///< of PartialTask, and kReadBeyond more
  std::size_t sum_stride = 0;
  const RowUse* uses = nullptr;  ///< [trial][sub-band]
  std::size_t n_trial = 0, n_subband = 0, n_time = 0;
  float* out = nullptr;
  std::size_t stride = 0;
};
void launch_trials(const TrialTask& task, cudaStream_t stream);

}  // namespace apsyn::dedispersion
