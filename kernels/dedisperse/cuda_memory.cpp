// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/dedisperse/cuda_memory.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace apsyn {

std::size_t row_samples(const DedispersionBatch& batch, std::size_t n_time) {
  std::uint32_t spread = 0;
  for (const PartialSum& sum : batch.sums) spread = std::max(spread, sum.last_shift - sum.first_shift);
  return (n_time + spread + 4 + 3) / 4 * 4;
}

std::size_t sums_of(const DedispersionPlan& plan, std::size_t n_time) {
  std::size_t most = 0;
  for (const DedispersionBatch& batch : plan.batches) {
    const std::size_t factor = plan.levels[batch.level].factor;
    most = std::max(most, batch.sums.size() * row_samples(batch, (n_time + factor - 1) / factor));
  }
  return most;
}

std::size_t ring_samples(std::size_t capacity, std::size_t factor) {
  return std::bit_ceil(capacity / factor + 64);
}

std::uint64_t cuda_dedisperser_bytes(const DedispersionPlan& plan, std::size_t capacity, std::size_t n_time,
                                     unsigned n_lane) {
  std::uint64_t bytes = plan.band.n_chan * n_time;  // samples that arrive
  for (const TrialLevel& level : plan.levels)
    bytes += plan.band.n_chan * ring_samples(capacity, level.factor);
  return bytes + n_lane * sums_of(plan, n_time) * sizeof(std::int16_t);
}

}  // namespace apsyn
