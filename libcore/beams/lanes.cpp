// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/beams/lanes.h"

namespace apsyn {

LaneTarget lane_target() {
#if defined(__x86_64__)
  static const LaneTarget best = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
      return LaneTarget::avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? LaneTarget::avx2
                                                                           : LaneTarget::baseline;
  }();
  return best;
#else
  return LaneTarget::baseline;
#endif
}

}  // namespace apsyn
