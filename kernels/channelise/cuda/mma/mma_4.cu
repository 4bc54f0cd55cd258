// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/cuda/mma/launch.cuh"

namespace apsyn::f_stage {

void launch_mma_4(const FusedLaunch& launch) {
  launch_mma_length<4>(launch);
}

}  // namespace apsyn::f_stage
