// SPDX-License-Identifier: GPL-3.0-or-later
// What the F stage on tensor cores multiplies samples by (cuda/mma/mma.cuh): taps, the first pass of the
// transform and its turns in one, as three digits of 8 bits.
//
// Of a transform of L = P R samples, n = R a + b, P = 8 for complex samples and 16 for real ones, row r of
// set b makes 16 real numbers of the samples x(R a + b) of each tap p:
//   y(b, f) = sum_p sum_a h(p L + n) x(p L + n) exp(-2 pi i n f / L),  f = 0..7
// and X(f + P g) = sum_b y(b, f) exp(-2 pi i b g / R). Row r holds Re y(b, r), row r + 8 Im y(b, r). Of real
// samples y(b, 0) is real, and row 8 holds sum_a (-1)^a h x, which is y(b, 8) but for its turn by b / 2R.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace apsyn::f_stage {

/// 16 bytes, of which the first four are the unit as float32, and then the digits, highest first, in the
/// order in which threads of a warp hold the left factor of m16n8k32 (four taps, two at a time) or m16n8k16
/// (one): [set b][pair of taps][digit][lane][words of 4]. A weight is unit (d2 + 2^-8 d1 + 2^-16 d0); units
/// are a 127th of the largest weight, so that weights are exact to 2^-24 of it. `taps` is [tap][sample].
std::vector<std::uint8_t> mma_factors(bool real, int length, std::span<const float> taps);

}  // namespace apsyn::f_stage
