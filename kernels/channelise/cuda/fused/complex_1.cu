// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/cuda/fused/launch.cuh"

namespace apsyn::f_stage {

void launch_fused_complex_1(const FusedLaunch& launch) {
  launch_length<1, false>(launch);
}

}  // namespace apsyn::f_stage
