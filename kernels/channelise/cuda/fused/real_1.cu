// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/cuda/fused/launch.cuh"

namespace apsyn::f_stage {

void launch_fused_real_1(const FusedLaunch& launch) {
  launch_length<1, true>(launch);
}

}  // namespace apsyn::f_stage
