// SPDX-License-Identifier: GPL-3.0-or-later
// Sixteen directions at a time in single precision. The equations of elements are templates over the type of
// a number, double or Lanes, so that both precisions share them. For libcore/beams only.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "libcore/base/constants.h"

// Vectors of GCC and clang. What works on them is inlined into functions that are compiled for one
// instruction set each; run_on_lanes() calls the one that the processor has.
#define APSYN_BEAM_INLINE inline __attribute__((always_inline))
/// Stands between () and {} of a lambda that run_on_lanes() takes.
#define APSYN_BEAM_BODY __attribute__((always_inline))

#if defined(__x86_64__)
#define APSYN_BEAM_AVX512 \
  __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,prefer-vector-width=512")))
#define APSYN_BEAM_AVX2 __attribute__((target("avx2,fma")))
#endif

namespace apsyn {

inline constexpr std::size_t kLanes = 16;
using Lanes = float __attribute__((vector_size(64)));

/// The instruction sets that lanes are compiled for; the best that the processor has is found once.
enum class LaneTarget { baseline, avx2, avx512 };
LaneTarget lane_target();
/// No better one than this from now on: tests run them all.
void limit_lane_target(LaneTarget most);

#if defined(__x86_64__)
template <class Body>
APSYN_BEAM_AVX512 void run_on_avx512(const Body& body) {
  body(std::integral_constant<LaneTarget, LaneTarget::avx512>());
}
template <class Body>
APSYN_BEAM_AVX2 void run_on_avx2(const Body& body) {
  body(std::integral_constant<LaneTarget, LaneTarget::avx2>());
}
#endif

/// Calls body(target), compiled for the instructions of lane_target(), which `target` is at compile time. The
/// body must be APSYN_BEAM_BODY, and all that it calls APSYN_BEAM_INLINE.
template <class Body>
void run_on_lanes(const Body& body) {
  switch (lane_target()) {
#if defined(__x86_64__)
    case LaneTarget::avx512:
      return run_on_avx512(body);
    case LaneTarget::avx2:
      return run_on_avx2(body);
#endif
    default:
      return body(std::integral_constant<LaneTarget, LaneTarget::baseline>());
  }
}

template <class T>
struct Cx {
  T re, im;
};

APSYN_BEAM_INLINE Lanes load_lanes(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
APSYN_BEAM_INLINE void store_lanes(float* to, const Lanes& lanes) {
  std::memcpy(to, &lanes, sizeof lanes);
}

APSYN_BEAM_INLINE double root(double x) {
  return std::sqrt(x);
}
APSYN_BEAM_INLINE Lanes root(const Lanes& x) {
  float values[kLanes];
  store_lanes(values, x);
  for (float& value : values) value = __builtin_sqrtf(value);
  return load_lanes(values);
}

/// a < b ? then : otherwise, lane by lane, by the sign of a - b: compilers take comparisons of vectors apart.
APSYN_BEAM_INLINE Lanes where_less(const Lanes& a, float b, const Lanes& then, const Lanes& otherwise) {
  using Bits = int __attribute__((vector_size(64)));
  const Bits mask = (Bits)(a - b) >> 31;
  return (Lanes)((mask & (Bits)then) | (~mask & (Bits)otherwise));
}
APSYN_BEAM_INLINE Lanes at_least(const Lanes& x, float least) {
  return where_less(x, least, Lanes{} + least, x);
}

/// A direction in the axes of a field: `local` is p of the first of kLanes, q and r follow `stride` further.
/// Below the horizon stands its nearest point. Theta is at least 1e-5, as of element_direction().
struct LaneDirection {
  Lanes sin_theta, cos_theta, cos_phi, sin_phi;
};
APSYN_BEAM_INLINE LaneDirection lane_direction(const float* local, std::size_t stride) {
  const Lanes p = load_lanes(local), q = load_lanes(local + stride), r = load_lanes(local + 2 * stride);
  const Lanes across = root(p * p + q * q);
  const Lanes safe = at_least(across, 1e-20f);
  LaneDirection d;
  const Lanes inverse = 1 / safe;
  d.cos_phi = where_less(across, 1e-10f, Lanes{} + 1, p * inverse);
  d.sin_phi = where_less(across, 1e-10f, Lanes{}, q * inverse);
  d.sin_theta = where_less(r, 0, Lanes{} + 1, at_least(across, 1e-5f));
  d.cos_theta = at_least(r, 0);
  return d;
}

/// Angle from the axis, of its sine and its cosine, in 0 .. pi.
APSYN_BEAM_INLINE double polar_angle(double sine, double cosine) {
  return std::atan2(sine, cosine);
}
/// Above the horizon; 3e-8 off.
APSYN_BEAM_INLINE Lanes polar_angle(const Lanes& sine, const Lanes& cosine) {
  // Twice the arc tangent of tan(theta / 2), which is at most 1: Abramowitz & Stegun 4.4.49.
  const Lanes t = sine / (1 + at_least(cosine, 0));
  const Lanes y = t * t;
  Lanes sum = y * 0.0028662257f - 0.0161657367f;
  sum = sum * y + 0.0429096138f;
  sum = sum * y - 0.0752896400f;
  sum = sum * y + 0.1065626393f;
  sum = sum * y - 0.1420889944f;
  sum = sum * y + 0.1999355085f;
  sum = sum * y - 0.3333314528f;
  return 2 * (t + t * y * sum);
}

}  // namespace apsyn
