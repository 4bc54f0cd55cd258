// SPDX-License-Identifier: GPL-3.0-or-later
// Layers in device or managed memory: the device transforms the model and cuts the cells.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "kernels/common/cuda/fft.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/idg/cpu/layers/layer_transform.h"
#include "kernels/idg/cuda/layers/grid_array.cuh"
#include "kernels/idg/cuda/layers/model.h"
#include "kernels/idg/plan/cost.h"
#include "libcore/system/parallel.h"

namespace apsyn::idg_degrid {
namespace {

/// W: the type in which layers are transformed.
template <class T, class W>
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

  double* on_device(std::size_t n_planes) override {
    n_planes_ = n_planes;
    return model_.reserve(n_planes * plan_.image.n_y * plan_.image.n_x);
  }

  void begin_pass(const Geometry& geometry, const LayerRange& layers) override {
    if (n_planes_ == 0) throw std::logic_error("degridder: a pass without a model");
    grids_.reserve(layers.n * n_planes_ * tiled_cells(plan_.n_u, plan_.n_v));
    if (!fft_) {
      work_ = DeviceArray<ComplexOf<W>>(plan_.n_v * plan_.n_u);
      fft_.emplace(int(plan_.n_v), int(plan_.n_u), 1, fft_type<W>());
    }
    count();
    begin_.record(nullptr);
    for (std::size_t layer = 0; layer < layers.n; ++layer)
      make_layer(geometry, layer, plan_.layer_w_lambda(layers.first + layer));
    end_.record(nullptr);
    is_counted_ = false;
  }

  double seconds() override {
    count();
    return seconds_;
  }

  void cut(CutTask<T> cut) override {
    cut.grids = grids_.data();
    launch_cut(cut, nullptr);
  }

 private:
  /// `layer`: of the pass.
  void make_layer(const Geometry& geometry, std::size_t layer, double w_lambda) {
    const std::size_t plane_cells = tiled_cells(plan_.n_u, plan_.n_v);
    const double n_shift = geometry.w_kernel ? 1 - plan_.n_middle : 0;
    for (std::size_t plane = 0; plane < n_planes_; ++plane) {
      launch_model<W>({geometry, model_.data() + plane * plan_.image.n_y * plan_.image.n_x, work_.data(),
                       w_lambda, n_shift},
                      nullptr);
      fft_->execute(work_.data(), CUFFT_INVERSE);  // exponent +1
      launch_narrow<T, W>(work_.data(), grids_.data() + (layer * n_planes_ + plane) * plane_cells,
                          geometry.n_u, geometry.n_v, nullptr);
    }
  }

  void count() {
    if (is_counted_) return;
    end_.wait();
    seconds_ += end_.seconds_since(begin_);
    is_counted_ = true;
  }

  IdgPlan plan_;
  unsigned n_threads_;
  std::size_t n_planes_ = 0;
  Upload<double> model_;           ///< [plane][y][x]
  GridArray<ComplexOf<T>> grids_;  ///< [layer][plane], grid_tiles.cuh
  /// One plane of one layer, and its transform: kept, because planning and allocating take 2 ms.
  DeviceArray<ComplexOf<W>> work_;
  std::optional<CudaFft2d> fft_;
  Event begin_, end_;
  bool is_counted_ = true;  ///< what is between the events
  double seconds_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<CudaModel<T>> make_cuda_model(const IdgPlan& plan, const IdgSetup& setup) {
  if (setup.grid_memory == GridMemory::hybrid) return make_hybrid_model<T>(plan, setup);
  if constexpr (std::is_same_v<T, float>)
    if (is_fast_on_gpu(plan)) return std::make_unique<DeviceModel<float, float>>(plan, setup);
  return std::make_unique<DeviceModel<T, double>>(plan, setup);
}

template std::unique_ptr<CudaModel<float>> make_cuda_model(const IdgPlan&, const IdgSetup&);
template std::unique_ptr<CudaModel<double>> make_cuda_model(const IdgPlan&, const IdgSetup&);

}  // namespace apsyn::idg_degrid
