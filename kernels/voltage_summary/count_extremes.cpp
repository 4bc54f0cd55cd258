// SPDX-License-Identifier: GPL-3.0-or-later
// Rows are taken several at a time, so that they fill whole vectors; 16-bit counters are spilled in time.
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/voltage_summary/sample_counts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/voltage_summary/count_extremes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// counters[i] += rows of `width` pairs, a multiple of 32, with an extreme at pair i.
void count_rows(const std::int8_t* samples, std::size_t n_rows, std::size_t width, int low, int high,
                std::int16_t* counters) {
  const hn::CappedTag<std::int16_t, 32> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto lowest = hn::Set(d, static_cast<std::int16_t>(low));
  const auto highest = hn::Set(d, static_cast<std::int16_t>(high));
  const auto one = hn::Set(d, std::int16_t{1});
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t pair = 0; pair < width; pair += lanes) {
      HWY_ALIGN std::int16_t both[32];
      std::memcpy(both, samples + 2 * (row * width + pair), 2 * lanes);
      const auto value = hn::Load(d, both);
      const auto im = hn::ShiftRight<8>(value), re = hn::ShiftRight<8>(hn::ShiftLeft<8>(value));
      const auto inside = hn::And(hn::Gt(hn::Min(re, im), lowest), hn::Lt(hn::Max(re, im), highest));
      const auto outside = hn::IfThenZeroElse(inside, one);
      hn::StoreU(hn::Add(hn::LoadU(d, counters + pair), outside), d, counters + pair);
    }
}

/// The same of packed samples of 4 bits, into counters of bytes.
void count_packed_rows(const std::uint8_t* samples, std::size_t n_rows, std::size_t width,
                       std::uint8_t* counters) {
  const hn::CappedTag<std::uint8_t, 32> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto upper = hn::Set(d, std::uint8_t{0xF0}), lower = hn::Set(d, std::uint8_t{0x0F});
  const auto one = hn::Set(d, std::uint8_t{1});
  const auto is = [&](auto part, std::uint8_t value) { return hn::Eq(part, hn::Set(d, value)); };
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t pair = 0; pair < width; pair += lanes) {
      const auto both = hn::LoadU(d, samples + row * width + pair);
      const auto re = hn::And(both, upper), im = hn::And(both, lower);
      const auto outside = hn::Or(hn::Or(is(re, 0x70), is(re, 0x80)), hn::Or(is(im, 0x07), is(im, 0x08)));
      hn::StoreU(hn::Add(hn::LoadU(d, counters + pair), hn::IfThenElseZero(outside, one)), d,
                 counters + pair);
    }
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(count_rows);
HWY_EXPORT(count_packed_rows);

namespace {

constexpr std::size_t kWhole = 32, kWide = 256;

/// Rows that are taken together, so that they fill whole vectors.
std::size_t rows_together(std::size_t n_pairs) {
  const std::size_t together = kWhole / std::gcd(n_pairs, kWhole);
  return together * ((kWide + together * n_pairs - 1) / (together * n_pairs));
}

}  // namespace

void count_extremes(const std::int8_t* samples, std::size_t n_rows, std::size_t n_pairs, int low, int high,
                    std::int64_t* counts) {
  constexpr std::size_t kSpill = 32767;
  const std::size_t together = rows_together(n_pairs);
  const std::size_t width = together * n_pairs;
  std::vector<std::int16_t> counters(width);
  std::size_t row = 0;
  while (n_rows - row >= together) {
    const std::size_t n = std::min(kSpill, (n_rows - row) / together);
    std::fill(counters.begin(), counters.end(), std::int16_t{0});
    HWY_DYNAMIC_DISPATCH(count_rows)
    (samples + 2 * row * n_pairs, n, width, low, high, counters.data());
    for (std::size_t i = 0; i < width; ++i) counts[i % n_pairs] += counters[i];
    row += n * together;
  }
  for (; row < n_rows; ++row)
    for (std::size_t pair = 0; pair < n_pairs; ++pair) {
      const std::int8_t* at = samples + 2 * (row * n_pairs + pair);
      counts[pair] += at[0] <= low || at[0] >= high || at[1] <= low || at[1] >= high;
    }
}

void count_extremes_4bit(const std::uint8_t* samples, std::size_t n_rows, std::size_t n_pairs,
                         std::int64_t* counts) {
  constexpr std::size_t kSpill = 255;
  const std::size_t together = rows_together(n_pairs);
  const std::size_t width = together * n_pairs;
  std::vector<std::uint8_t> counters(width);
  std::size_t row = 0;
  while (n_rows - row >= together) {
    const std::size_t n = std::min(kSpill, (n_rows - row) / together);
    std::fill(counters.begin(), counters.end(), std::uint8_t{0});
    HWY_DYNAMIC_DISPATCH(count_packed_rows)(samples + row * n_pairs, n, width, counters.data());
    for (std::size_t i = 0; i < width; ++i) counts[i % n_pairs] += counters[i];
    row += n * together;
  }
  const auto extreme = [](unsigned nibble) { return nibble == 7 || nibble == 8; };
  for (; row < n_rows; ++row)
    for (std::size_t pair = 0; pair < n_pairs; ++pair) {
      const unsigned both = samples[row * n_pairs + pair];
      counts[pair] += extreme(both >> 4) || extreme(both & 15u);
    }
}

}  // namespace apsyn
#endif
