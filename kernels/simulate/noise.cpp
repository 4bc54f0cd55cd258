// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <stdexcept>

#include "kernels/simulate/noise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simulate/noise.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::simulate::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using U32 = hn::ScalableTag<std::uint32_t>;
using F32 = hn::ScalableTag<float>;
using VU = hn::Vec<U32>;
using VF = hn::Vec<F32>;

/// High and low halves of the 32 x 32 -> 64-bit products, lane by lane.
HWY_INLINE void multiply_wide(VU a, VU b, VU& high, VU& low) {
  const U32 d;
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t product = std::uint64_t{hn::GetLane(a)} * hn::GetLane(b);
  high = hn::Set(d, static_cast<std::uint32_t>(product >> 32));
  low = hn::Set(d, static_cast<std::uint32_t>(product));
#else
  const VU even = hn::BitCast(d, hn::MulEven(a, b));  // lanes: low, high of the even products
  const VU odd = hn::BitCast(d, hn::MulEven(hn::DupOdd(a), hn::DupOdd(b)));
  low = hn::OddEven(hn::DupEven(odd), even);
  high = hn::OddEven(odd, hn::DupOdd(even));
#endif
}

HWY_INLINE void philox_vectors(VU& c0, VU& c1, VU& c2, VU& c3, std::uint32_t key0, std::uint32_t key1) {
  const U32 d;
  const VU m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  for (int round = 0; round < 10; ++round) {
    VU high0, low0, high1, low1;
    multiply_wide(m0, c0, high0, low0);
    multiply_wide(m1, c2, high1, low1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, key0));
    c1 = low1;
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, key1));
    c3 = low0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/// (1/2 .. 2^24 - 1/2) 2^-24; the half keeps the logarithm finite.
HWY_INLINE VF unit_interval(VU x) {
  const F32 f;
  const hn::RebindToSigned<U32> i;
  const VF whole = hn::ConvertTo(f, hn::BitCast(i, hn::ShiftRight<8>(x)));
  return hn::Mul(hn::Add(whole, hn::Set(f, 0.5f)), hn::Set(f, 0x1p-24f));
}

HWY_INLINE void box_muller(VU x0, VU x1, VF& re, VF& im) {
  const F32 f;
  // u below 1 - 2^-24 rounds to a float below or equal 1: the radicand is then 0, never negative.
  const VF radicand = hn::Max(hn::Neg(hn::Log(f, unit_interval(x0))), hn::Zero(f));
  const VF radius = hn::Sqrt(radicand);
  const VF angle = hn::Mul(hn::Sub(unit_interval(x1), hn::Set(f, 0.5f)), hn::Set(f, 6.28318530717958648f));
  re = hn::Mul(radius, hn::Cos(f, angle));
  im = hn::Mul(radius, hn::Sin(f, angle));
}

/// n_pairs pairs of complex samples from generator blocks first_block, first_block + 1, ...
void gaussian_pairs(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block, std::size_t n_pairs,
                    float* HWY_RESTRICT out) {
  const U32 d;
  const F32 f;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float tail[4 * hn::MaxLanes(F32())];
  for (std::size_t pair = 0; pair < n_pairs; pair += lanes) {
    const std::uint64_t block = first_block + pair;
    const VU base = hn::Set(d, static_cast<std::uint32_t>(block));
    VU c0 = hn::Add(base, hn::Iota(d, 0));
    const VU carry = hn::IfThenElseZero(hn::Lt(c0, base), hn::Set(d, 1));
    VU c1 = hn::Add(hn::Set(d, static_cast<std::uint32_t>(block >> 32)), carry);
    VU c2 = hn::Set(d, static_cast<std::uint32_t>(stream));
    VU c3 = hn::Set(d, static_cast<std::uint32_t>(stream >> 32));
    philox_vectors(c0, c1, c2, c3, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
    VF re_even, im_even, re_odd, im_odd;
    box_muller(c0, c1, re_even, im_even);
    box_muller(c2, c3, re_odd, im_odd);
    if (pair + lanes <= n_pairs) {
      hn::StoreInterleaved4(re_even, im_even, re_odd, im_odd, f, out + 4 * pair);
    } else {
      hn::StoreInterleaved4(re_even, im_even, re_odd, im_odd, f, tail);
      std::copy_n(tail, 4 * (n_pairs - pair), out + 4 * pair);
    }
  }
}

}  // namespace apsyn::simulate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn::simulate {

HWY_EXPORT(gaussian_pairs);

std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4>& counter,
                                    const std::array<std::uint32_t, 2>& key) {
  auto [c0, c1, c2, c3] = counter;
  auto [key0, key1] = key;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = 0xD2511F53ull * c0, product1 = 0xCD9E8D57ull * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c1 = static_cast<std::uint32_t>(product1);
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c3 = static_cast<std::uint32_t>(product0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

void gaussian_noise(std::uint64_t seed, const NoiseStream& stream, std::int64_t first,
                    std::span<std::complex<float>> noise) {
  if (first % 2 != 0) throw std::invalid_argument("gaussian_noise: the first sample must be even");
  const std::uint64_t first_block = static_cast<std::uint64_t>(first / 2);
  const std::size_t n_pairs = noise.size() / 2;
  HWY_DYNAMIC_DISPATCH(gaussian_pairs)
  (seed, stream.id(), first_block, n_pairs, reinterpret_cast<float*>(noise.data()));
  if (noise.size() % 2 != 0) {
    std::complex<float> last[2];
    HWY_DYNAMIC_DISPATCH(gaussian_pairs)
    (seed, stream.id(), first_block + n_pairs, 1, reinterpret_cast<float*>(last));
    noise.back() = last[0];
  }
}

double uniform_noise(std::uint64_t seed, const NoiseStream& stream, std::int64_t n) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const std::uint64_t counter = static_cast<std::uint64_t>(n), id = stream.id();
  const auto x = philox({low(counter), high(counter), low(id), high(id)}, {low(seed), high(seed)});
  return (x[0] + 0.5) * 0x1p-32;
}

}  // namespace apsyn::simulate
#endif
