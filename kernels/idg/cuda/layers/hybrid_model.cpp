// SPDX-License-Identifier: GPL-3.0-or-later
// Layers in host memory: the CPU transforms the model as its own degridder would, and cuts the tasks' cells
// into a ring of pinned buffers while the device predicts the tasks before.
#include <algorithm>
#include <array>
#include <chrono>
#include <complex>
#include <stdexcept>
#include <vector>

#include "kernels/common/cuda/transfer.h"
#include "kernels/idg/cpu/degrid/subgrid_predictor.h"
#include "kernels/idg/cpu/layers/layer_model.h"
#include "kernels/idg/cuda/layers/model.h"
#include "kernels/idg/grid_memory.h"
#include "libcore/system/parallel.h"

namespace apsyn::idg_degrid {
namespace {

template <class T>
class HybridModel final : public CudaModel<T> {
 public:
  HybridModel(const IdgPlan& plan, const IdgSetup& setup)
      : plan_(plan), n_threads_(setup.n_threads), model_(plan, setup.n_threads) {
    const std::size_t n_outputs = plan.w_handling == WHandling::kernel ? plan.n_terms : 1;
    task_cells_ =
        n_outputs * plan.settings.subgrid * plan.settings.subgrid * padded_planes(setup.n_image_planes());
    piece_tasks_ = std::max<std::size_t>(1, kHybridHostBytes / kBuffers / (task_cells_ * sizeof(T) * 2));
    for (Piece& piece : pieces_) {
      piece.host = pinned<std::complex<T>>(piece_tasks_ * task_cells_);
      piece.device = DeviceArray<ComplexOf<T>>(piece_tasks_ * task_cells_);
    }
  }

  void set(View<const double, 3> images) override { model_.set(images); }

  void begin_pass(const Geometry&, const LayerRange& layers) override {
    if (model_.n_planes() == 0) throw std::logic_error("degridder: a pass without a model");
    const auto begin = std::chrono::steady_clock::now();
    grids_.resize_for_overwrite({layers.n, plan_.n_v, plan_.n_u, padded_planes(model_.n_planes())});
    for (std::size_t layer = 0; layer < layers.n; ++layer)
      model_.transform(plan_.layer_w_lambda(layers.first + layer), grids_.view()[layer]);
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  double seconds() override { return seconds_; }

  void cut(CutTask<T> cut) override {
    std::vector<Task> tasks(static_cast<std::size_t>(cut.n_tasks));
    cuda_check(cudaMemcpyAsync(tasks.data(), cut.tasks, tasks.size() * sizeof(Task), cudaMemcpyDeviceToHost,
                               copies_.get()),
               "reading where subgrids lie");
    cuda_check(cudaStreamSynchronize(copies_.get()), "reading where subgrids lie");
    const Geometry& g = cut.geometry;
    const std::size_t task_subgrids = std::size_t(g.n_image_planes) * g.n_outputs * g.side * g.side;
    for (std::size_t first = 0; first < tasks.size(); first += piece_tasks_, next_ = (next_ + 1) % kBuffers) {
      const std::size_t n = std::min(piece_tasks_, tasks.size() - first);
      Piece& piece = pieces_[next_];
      piece.placed.wait();
      parallel_for(n_threads_, n, [&](std::size_t i, unsigned) {
        cut_task(g, tasks[first + i], piece.host.get() + i * task_cells_);
      });
      cuda_check(
          cudaMemcpyAsync(piece.device.data(), piece.host.get(), n * task_cells_ * sizeof(ComplexOf<T>),
                          cudaMemcpyHostToDevice, copies_.get()),
          "copying cells to the device");
      piece.sent.record(copies_.get());
      piece.sent.hold(nullptr);
      launch_place<T>({g, piece.device.data(), cut.uv_phase, int(n), int(grids_.extent(3)),
                       cut.subgrids + first * task_subgrids},
                      nullptr);
      piece.placed.record(nullptr);
    }
  }

 private:
  static constexpr std::size_t kBuffers = 3;
  struct Piece {
    std::unique_ptr<std::complex<T>[], FreePinned> host;
    DeviceArray<ComplexOf<T>> device;
    Event sent, placed;
  };

  /// To [output][v][u][plane].
  void cut_task(const Geometry& g, const Task& task, std::complex<T>* to) const {
    const std::size_t side = plan_.settings.subgrid, n_planes = grids_.extent(3),
                      start_u = std::size_t(task.start_u),
                      first_part = std::min(side, plan_.n_u - start_u) * n_planes;
    for (int output = 0; output < g.n_outputs; ++output) {
      const int layer = task.layer + output;
      const bool inside = layer >= 0 && layer < g.n_layers;
      for (std::size_t v = 0; v < side; ++v, to += side * n_planes) {
        if (!inside) {
          std::fill_n(to, side * n_planes, std::complex<T>(0));
          continue;
        }
        const std::size_t from = (std::size_t(task.start_v) + v) % plan_.n_v;
        std::copy_n(&grids_(std::size_t(layer), from, start_u, 0), first_part, to);
        std::copy_n(&grids_(std::size_t(layer), from, 0, 0), side * n_planes - first_part, to + first_part);
      }
    }
  }

  IdgPlan plan_;
  unsigned n_threads_;
  LayerModel model_;
  Buffer<std::complex<T>, 4> grids_;  ///< [layer][v][u][padded plane], cell k at index k mod n
  double seconds_ = 0;
  std::size_t task_cells_ = 0, piece_tasks_ = 1, next_ = 0;
  std::array<Piece, kBuffers> pieces_;
  CopyStream copies_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaModel<T>> make_hybrid_model(const IdgPlan& plan, const IdgSetup& setup) {
  return std::make_unique<HybridModel<T>>(plan, setup);
}

template std::unique_ptr<CudaModel<float>> make_hybrid_model(const IdgPlan&, const IdgSetup&);
template std::unique_ptr<CudaModel<double>> make_hybrid_model(const IdgPlan&, const IdgSetup&);

}  // namespace apsyn::idg_degrid
