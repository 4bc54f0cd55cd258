// SPDX-License-Identifier: GPL-3.0-or-later
// Weights as most observations have them: in a row one value, or 0 where there is no data, and the same in
// all planes. One value and a bit for each channel then suffice: at most an eighth of the bytes of one
// plane's weights.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apsyn::idg {

/// 32-bit words of a packed row: the value's bits, then a bit for every channel that has it, the lowest
/// first; channels without it weigh +0. A power of two of words: those at the end may be unused.
std::size_t row_weight_words(std::size_t n_chan);
/// Whether rows can be packed, and are then shorter.
bool can_pack_rows(std::size_t n_chan, std::size_t n_planes);
/// Packs weight [row][chan][plane] into packed [row][word]. Returns false, with `packed` undefined, if a
/// row's weights are not of this kind. Bits are compared, so that NaN equals itself.
bool pack_row_weights(const float* weight, std::size_t n_rows, std::size_t n_chan, std::size_t n_planes,
                      std::uint32_t* packed);

}  // namespace apsyn::idg
