// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/row_weights.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace apsyn::idg {
namespace {

template <std::size_t kPlanes>
bool pack_row(const float* weight, std::size_t n_chan, std::uint32_t* packed, std::size_t n_words) {
  const std::size_t n = n_chan * kPlanes;
  auto bits_of = [&](std::size_t i) { return std::bit_cast<std::uint32_t>(weight[i]); };
  if (std::memcmp(weight, weight + 1, (n - 1) * sizeof(float)) == 0) {
    packed[0] = bits_of(0);
    std::fill(packed + 1, packed + n_words, ~0u);
    return true;
  }
  std::size_t first = 0;
  while (bits_of(first) == 0) ++first;
  const std::uint32_t value = packed[0] = bits_of(first);
  std::uint32_t n_others = 0;
  for (std::size_t word = 1; word < n_words; ++word) {
    const std::size_t begin = (word - 1) * 32, end = std::min(n_chan, begin + 32);
    std::uint32_t having = 0;
    for (std::size_t chan = begin; chan < end; ++chan) {
      std::uint32_t from_value = 0, from_zero = 0;
      for (std::size_t plane = 0; plane < kPlanes; ++plane) {
        from_value |= bits_of(chan * kPlanes + plane) ^ value;
        from_zero |= bits_of(chan * kPlanes + plane);
      }
      having |= std::uint32_t(from_value == 0) << (chan - begin);
      n_others += from_value != 0 && from_zero != 0;
    }
    packed[word] = having;
  }
  return n_others == 0;
}

template <std::size_t kPlanes>
bool pack(const float* weight, std::size_t n_rows, std::size_t n_chan, std::uint32_t* packed) {
  const std::size_t n_words = row_weight_words(n_chan);
  for (std::size_t row = 0; row < n_rows; ++row)
    if (!pack_row<kPlanes>(weight + row * n_chan * kPlanes, n_chan, packed + row * n_words, n_words))
      return false;
  return true;
}

}  // namespace

std::size_t row_weight_words(std::size_t n_chan) {
  return std::bit_ceil(1 + (n_chan + 31) / 32);
}

bool can_pack_rows(std::size_t n_chan, std::size_t n_planes) {
  return (n_planes == 1 || n_planes == 2 || n_planes == 4) && row_weight_words(n_chan) < n_chan;
}

bool pack_row_weights(const float* weight, std::size_t n_rows, std::size_t n_chan, std::size_t n_planes,
                      std::uint32_t* packed) {
  switch (n_planes) {
    case 1:
      return pack<1>(weight, n_rows, n_chan, packed);
    case 2:
      return pack<2>(weight, n_rows, n_chan, packed);
    case 4:
      return pack<4>(weight, n_rows, n_chan, packed);
    default:
      return false;
  }
}

}  // namespace apsyn::idg
