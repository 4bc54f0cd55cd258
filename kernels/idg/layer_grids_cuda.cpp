// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/common/cuda_fft.h"
#include "kernels/idg/layer_grids.cuh"
#include "kernels/idg/layer_transform.h"

namespace apsyn {

template <class T>
void CudaLayerGrids<T>::set_model(const IdgPlan& plan, unsigned n_threads, View<const double, 3> images) {
  Buffer<double, 3> corrected(images.shape());
  std::copy(images.begin(), images.end(), corrected.begin());
  n_planes_ = images.extent(0);
  for (std::size_t plane = 0; plane < n_planes_; ++plane)
    correct_image(plan, n_threads, corrected.view()[plane]);
  for (double& pixel : corrected)
    if (std::isnan(pixel)) pixel = 0;
  model_.copy(corrected.data(), corrected.size());
}

template <class T>
double CudaLayerGrids<T>::transform(const IdgPlan& plan, const idg_degrid::Geometry& geometry,
                                    const LayerRange& layers) {
  if (n_planes_ == 0) throw std::logic_error("degridder: a pass without a model");
  const std::size_t cells = plan.n_v * plan.n_u, size = layers.n * n_planes_ * cells;
  if (grids_.size() < size) {
    grids_ = DeviceArray<Cell>();
    grids_ = DeviceArray<Cell>(size);
  }
  const DeviceArray<double2> work(cells);
  const CudaFft2d fft(int(plan.n_v), int(plan.n_u), 1, CUFFT_Z2Z);
  const double n_shift = geometry.w_kernel ? 1 - plan.n_middle : 0;
  Event begin, end;
  begin.record(nullptr);
  for (std::size_t layer = 0; layer < layers.n; ++layer)
    for (std::size_t plane = 0; plane < n_planes_; ++plane) {
      idg_degrid::launch_model({geometry, model_.data() + plane * plan.image.n_y * plan.image.n_x,
                                work.data(), plan.layer_w_lambda(layers.first + layer), n_shift},
                               nullptr);
      fft.execute(work.data(), CUFFT_INVERSE);  // exponent +1
      idg_degrid::launch_narrow<T>(work.data(), grids_.data() + (layer * n_planes_ + plane) * cells, cells,
                                   nullptr);
    }
  end.record(nullptr);
  end.wait();
  return end.seconds_since(begin);
}

template class CudaLayerGrids<float>;
template class CudaLayerGrids<double>;

}  // namespace apsyn
#endif  // APSYN_CUDA
