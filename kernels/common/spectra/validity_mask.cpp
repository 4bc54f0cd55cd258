// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/spectra/validity_mask.h"

#include <algorithm>
#include <cstring>

namespace apsyn {

void mask_of(const SpectraBlock& block, std::uint8_t* mask) {
  const std::size_t n_ant = block.valid.extent(1), n = block.n_spectra;
  if (n == 0) return;
  bool constant = true;  // as antennas are that are flagged or dead
  for (std::size_t ant = 0; ant < n_ant && constant; ++ant) {
    const std::uint8_t* valid = &block.valid(0, ant, 0);
    constant = std::memcmp(valid, valid + 1, n - 1) == 0;
  }
  if (constant) {
    for (std::size_t ant = 0; ant < n_ant; ++ant) mask[ant] = block.valid(0, ant, 0);
    for (std::size_t i = 1; i < n; ++i) std::memcpy(mask + i * n_ant, mask, n_ant);
    return;
  }
  constexpr std::size_t kTile = 64;
  for (std::size_t first = 0; first < n; first += kTile)
    for (std::size_t ant = 0; ant < n_ant; ++ant)
      for (std::size_t i = first; i < std::min(n, first + kTile); ++i)
        mask[i * n_ant + ant] = block.valid(0, ant, i);
}

}  // namespace apsyn
