// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of the cleaning on a GPU, planned in builds without CUDA too.
#include "kernels/excise/excise_cuda.h"

namespace apsyn {

std::uint64_t cuda_exciser_bytes(const RawSampleFormat& format, std::size_t n_time) {
  constexpr std::uint64_t kTimeGroups = 16, kSumBytes = 24 * kStatisticPieces, kBlocks = 6;
  return n_time * (kBlocks * format.bytes_per_sample() + format.n_chan + 4 * kTimeGroups + 16) +
         format.n_chan * (kSumBytes + 64);
}

}  // namespace apsyn
