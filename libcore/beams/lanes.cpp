// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/beams/lanes.h"

#include <algorithm>
#include <atomic>

namespace apsyn {

namespace {

LaneTarget best_target() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return LaneTarget::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return LaneTarget::avx2;
#endif
  return LaneTarget::baseline;
}

std::atomic<LaneTarget> limit{LaneTarget::avx512};

}  // namespace

LaneTarget lane_target() {
  static const LaneTarget best = best_target();
  return std::min(best, limit.load(std::memory_order_relaxed));
}

void limit_lane_target(LaneTarget most) {
  limit = most;
}

}  // namespace apsyn
