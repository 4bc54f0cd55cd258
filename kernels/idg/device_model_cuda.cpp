// SPDX-License-Identifier: GPL-3.0-or-later
// Layers in device or managed memory: the device transforms the model and cuts the cells.
#ifdef APSYN_CUDA
#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "kernels/common/cuda_fft.h"
#include "kernels/common/device_transfer.h"
#include "kernels/idg/cuda_model.h"
#include "kernels/idg/grid_array.cuh"
#include "kernels/idg/layer_transform.h"
#include "kernels/idg/plan_cost.h"
#include "libcore/core/parallel.h"

namespace apsyn::idg_degrid {
namespace {

template <class T>
class DeviceModel final : public CudaModel<T> {
 public:
  DeviceModel(const IdgPlan& plan, const IdgSetup& setup)
      : plan_(plan), n_threads_(setup.n_threads), grids_(setup.grid_memory) {}

  void set(View<const double, 3> images) override {
    Buffer<double, 3> corrected;
    corrected.resize_for_overwrite(images.shape());
    n_planes_ = images.extent(0);
    const std::size_t n_rows = n_planes_ * plan_.image.n_y, n_x = plan_.image.n_x;
    parallel_for(n_threads_, n_rows, [&](std::size_t row, unsigned) {
      std::copy_n(images.data() + row * n_x, n_x, corrected.data() + row * n_x);
    });
    for (std::size_t plane = 0; plane < n_planes_; ++plane)
      correct_image(plan_, n_threads_, corrected.view()[plane]);
    parallel_for(n_threads_, n_rows, [&](std::size_t row, unsigned) {
      for (double& pixel : std::span(corrected.data() + row * n_x, n_x))
        if (std::isnan(pixel)) pixel = 0;
    });
    model_.copy(corrected.data(), corrected.size());
  }

  double begin_pass(const Geometry& geometry, const LayerRange& layers) override {
    if (n_planes_ == 0) throw std::logic_error("degridder: a pass without a model");
    grids_.reserve(layers.n * n_planes_ * tiled_cells(plan_.n_u, plan_.n_v));
    return is_fast_on_gpu(plan_) ? make_layers<T>(geometry, layers) : make_layers<double>(geometry, layers);
  }

  void cut(CutTask<T> cut) override {
    cut.grids = grids_.data();
    launch_cut(cut, nullptr);
  }

 private:
  /// The model to layers, transformed in W. Seconds.
  template <class W>
  double make_layers(const Geometry& geometry, const LayerRange& layers) {
    const std::size_t plane_cells = tiled_cells(plan_.n_u, plan_.n_v);
    const DeviceArray<ComplexOf<W>> work(plan_.n_v * plan_.n_u);
    const CudaFft2d fft(int(plan_.n_v), int(plan_.n_u), 1, fft_type<W>());
    const double n_shift = geometry.w_kernel ? 1 - plan_.n_middle : 0;
    Event begin, end;
    begin.record(nullptr);
    for (std::size_t layer = 0; layer < layers.n; ++layer)
      for (std::size_t plane = 0; plane < n_planes_; ++plane) {
        launch_model<W>({geometry, model_.data() + plane * plan_.image.n_y * plan_.image.n_x, work.data(),
                         plan_.layer_w_lambda(layers.first + layer), n_shift},
                        nullptr);
        fft.execute(work.data(), CUFFT_INVERSE);  // exponent +1
        launch_narrow<T, W>(work.data(), grids_.data() + (layer * n_planes_ + plane) * plane_cells,
                            geometry.n_u, geometry.n_v, nullptr);
      }
    end.record(nullptr);
    end.wait();
    return end.seconds_since(begin);
  }

  IdgPlan plan_;
  unsigned n_threads_;
  std::size_t n_planes_ = 0;
  Upload<double> model_;           ///< [plane][y][x]
  GridArray<ComplexOf<T>> grids_;  ///< [layer][plane], grid_tiles.cuh
};

}  // namespace

template <class T>
std::unique_ptr<CudaModel<T>> make_cuda_model(const IdgPlan& plan, const IdgSetup& setup) {
  if (setup.grid_memory == GridMemory::hybrid) return make_hybrid_model<T>(plan, setup);
  return std::make_unique<DeviceModel<T>>(plan, setup);
}

template std::unique_ptr<CudaModel<float>> make_cuda_model(const IdgPlan&, const IdgSetup&);
template std::unique_ptr<CudaModel<double>> make_cuda_model(const IdgPlan&, const IdgSetup&);

}  // namespace apsyn::idg_degrid
#endif  // APSYN_CUDA
