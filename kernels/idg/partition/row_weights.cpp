// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <bit>

#include "kernels/idg/partition/row_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/partition/row_weights.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::idg::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Bit i: whether values[i] has the bits of `value`; n <= 64.
HWY_INLINE std::uint64_t equal_to(const float* values, std::size_t n, std::uint32_t value) {
  const hn::CappedTag<std::uint32_t, 64> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* bits = reinterpret_cast<const std::uint32_t*>(values);
  const auto wanted = hn::Set(d, value);
  std::uint64_t equal = 0;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    std::uint64_t some = 0;
    hn::StoreMaskBits(d, hn::Eq(hn::LoadU(d, bits + i), wanted), reinterpret_cast<std::uint8_t*>(&some));
    equal |= some << i;
  }
  for (; i < n; ++i) equal |= std::uint64_t(bits[i] == value) << i;
  return equal;
}

/// The lowest of every kPlanes bits, next to each other.
template <std::size_t kPlanes>
HWY_INLINE std::uint64_t first_planes(std::uint64_t bits) {
  if constexpr (kPlanes == 2) {
    bits &= 0x5555'5555'5555'5555;
    bits = (bits | bits >> 1) & 0x3333'3333'3333'3333;
    bits = (bits | bits >> 2) & 0x0f0f'0f0f'0f0f'0f0f;
    bits = (bits | bits >> 4) & 0x00ff'00ff'00ff'00ff;
    bits = (bits | bits >> 8) & 0x0000'ffff'0000'ffff;
    bits = (bits | bits >> 16) & 0xffff'ffff;
  } else if constexpr (kPlanes == 4) {
    bits &= 0x1111'1111'1111'1111;
    bits = (bits | bits >> 3) & 0x0303'0303'0303'0303;
    bits = (bits | bits >> 6) & 0x000f'000f'000f'000f;
    bits = (bits | bits >> 12) & 0x0000'00ff'0000'00ff;
    bits = (bits | bits >> 24) & 0xffff;
  }
  return bits;
}

/// Keeps a channel's bit where those of all its planes are alike; otherwise it becomes 0.
template <std::size_t kPlanes>
HWY_INLINE std::uint64_t in_all_planes(std::uint64_t bits) {
  if constexpr (kPlanes == 4) bits &= bits >> 2;
  if constexpr (kPlanes >= 2) bits &= bits >> 1;
  return first_planes<kPlanes>(bits);
}

template <std::size_t kPlanes>
HWY_INLINE bool pack_row(const float* weight, std::size_t n_chan, std::uint32_t* packed,
                         std::size_t n_words) {
  constexpr std::size_t at_once = 64 / kPlanes;  // channels
  const auto* bits = reinterpret_cast<const std::uint32_t*>(weight);
  std::size_t first = 0;
  while (first + 1 < n_chan * kPlanes && bits[first] == 0) ++first;
  packed[0] = bits[first];
  std::fill(packed + 1, packed + n_words, 0);
  bool known = true;
  for (std::size_t chan = 0; chan < n_chan; chan += at_once) {
    const std::size_t n = std::min(at_once, n_chan - chan);
    const float* own = weight + chan * kPlanes;
    const std::uint64_t has = in_all_planes<kPlanes>(equal_to(own, n * kPlanes, packed[0])),
                        none = in_all_planes<kPlanes>(equal_to(own, n * kPlanes, 0)),
                        all = ~std::uint64_t{0} >> (64 - n);
    known &= (has | none) == all;
    for (std::size_t k = 0; k < n; k += 32)
      packed[1 + (chan + k) / 32] |= static_cast<std::uint32_t>(has >> k << (chan + k) % 32);
  }
  return known;
}

template <std::size_t kPlanes>
HWY_INLINE bool pack(const float* weight, std::size_t n_rows, std::size_t n_chan, std::uint32_t* packed) {
  const std::size_t n_words = row_weight_words(n_chan);
  for (std::size_t row = 0; row < n_rows; ++row)
    if (!pack_row<kPlanes>(weight + row * n_chan * kPlanes, n_chan, packed + row * n_words, n_words))
      return false;
  return true;
}

bool pack_planes(const float* weight, std::size_t n_rows, std::size_t n_chan, std::size_t n_planes,
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

}  // namespace apsyn::idg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn::idg {

HWY_EXPORT(pack_planes);

std::size_t row_weight_words(std::size_t n_chan) {
  return std::bit_ceil(1 + (n_chan + 31) / 32);
}

bool can_pack_rows(std::size_t n_chan, std::size_t n_planes) {
  return (n_planes == 1 || n_planes == 2 || n_planes == 4) && row_weight_words(n_chan) < n_chan;
}

bool pack_row_weights(const float* weight, std::size_t n_rows, std::size_t n_chan, std::size_t n_planes,
                      std::uint32_t* packed) {
  return HWY_DYNAMIC_DISPATCH(pack_planes)(weight, n_rows, n_chan, n_planes, packed);
}

}  // namespace apsyn::idg
#endif
