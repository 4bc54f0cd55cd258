// SPDX-License-Identifier: GPL-3.0-or-later
// The two stages of dedisperse.h on a piece of time that stays in the cache.
#pragma once

#include "kernels/dedisperse/dedisperse.h"

namespace apsyn {

/// Output samples of a piece.
inline constexpr std::size_t kTileTime = 2048;

/// int16 values that the partial sums of a piece take.
inline std::size_t tile_samples(const DedispersionBatch& batch) {
  std::size_t n = 0;
  for (const PartialSum& sum : batch.sums) n += kTileTime + sum.last_shift - sum.first_shift;
  return n;
}

/// out[t] = sum_i rows[i][t], int8 -> int16, for n samples; sources may overlap. The sum must not overflow.
void add_samples(const std::int8_t* const* rows, std::size_t n_row, std::size_t n, std::int16_t* out);
/// out[t] = sum_i rows[i][t], int16 -> float; `exact` rows can be added without overflow.
void add_partial_sums(const std::int16_t* const* rows, std::size_t n_row, std::size_t exact, std::size_t n,
                      float* out);

}  // namespace apsyn
