// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/cuda/mma/launch.cuh"

namespace apsyn::f_stage {

void launch_mma_1(const FusedLaunch& launch) {
  launch_mma_length<1>(launch);
}

}  // namespace apsyn::f_stage
