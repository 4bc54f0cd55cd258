// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/check.h"
#include "kernels/idg/cuda/grid/image_pixels.cuh"

namespace apsyn::idg_cuda {
namespace {

/// A thread owns four pixels of a task.
template <bool kAterms, class T>
__global__ void __launch_bounds__(128) make_images(ImageTask<T> task) {
  const int half = task.side / 2, pixel = blockIdx.x * blockDim.x + threadIdx.x, own = blockIdx.y;
  if (pixel >= half * half) return;
  const int n_planes = image_planes(task);
  for_each_pixel<kAterms>(
      task, own, pixel, [&](int plane, int output, int y, int x, const AtermValue<T>& value) {
        ComplexOf<T>* image =
            task.images +
            ((std::size_t(own) * n_planes + plane) * task.n_outputs + output) * task.side * task.side;
        image[y * task.side + x].x = value.re;
        image[y * task.side + x].y = value.im;
      });
}

}  // namespace

template <class T>
void launch_images(const ImageTask<T>& task, cudaStream_t stream) {
  const int half = task.side / 2;
  const dim3 blocks((half * half + 127) / 128, task.n_tasks);
  if (task.aterms == DeviceAterms::none)
    make_images<false><<<blocks, 128, 0, stream>>>(task);
  else
    make_images<true><<<blocks, 128, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the subgrids' images");
}

template void launch_images(const ImageTask<float>&, cudaStream_t);
template void launch_images(const ImageTask<double>&, cudaStream_t);

}  // namespace apsyn::idg_cuda
