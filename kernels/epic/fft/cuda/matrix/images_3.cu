// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/cuda/matrix/images.cuh"

namespace apsyn::epic_fft {

void launch_image_grids_3(const ImageGridsTask& task, const MatrixSize& size, cudaStream_t stream) {
  launch_steps_y<3>(task, size, stream);
}

}  // namespace apsyn::epic_fft
