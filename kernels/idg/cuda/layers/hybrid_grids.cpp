// SPDX-License-Identifier: GPL-3.0-or-later
// Layers in host memory. The device puts a range's subgrids into their final form; while it makes the next
// range, they come back through a ring of pinned buffers and the CPU adds them as its own gridder would, in
// the order of the tasks.
#include <algorithm>
#include <array>
#include <complex>
#include <vector>

#include "kernels/idg/cpu/layers/host_grids.h"
#include "kernels/idg/cuda/layers/grids.h"
#include "kernels/idg/cuda/tables.h"
#include "kernels/idg/grid_memory.h"

namespace apsyn::idg_cuda {
namespace {

template <class T>
class HybridGrids final : public CudaGrids<T> {
 public:
  HybridGrids(const IdgPlan& plan, const IdgSetup& setup, std::size_t n_outputs, cudaStream_t stream)
      : side_(plan.settings.subgrid),
        n_planes_(setup.n_planes()),
        n_outputs_(n_outputs),
        stream_(stream),
        grids_(plan, n_planes_, setup.n_threads) {
    std::vector<std::complex<T>> phases;
    for (const std::complex<double>& phase : uv_phases(plan)) phases.emplace_back(phase);
    to_device(uv_phase_, phases);
    piece_tasks_ = std::max<std::size_t>(1, kHybridHostBytes / kBuffers / (task_cells() * sizeof(T) * 2));
    for (auto& buffer : buffers_) buffer = pinned<std::complex<T>>(piece_tasks_ * task_cells());
  }

  void begin_pass(const LayerRange& layers) override {
    pending_.places.clear();
    grids_.begin_pass(layers);
  }

  void place(TaskLister& lister, const ListPlan&, std::vector<RangeWork>&, DeviceTasks& tasks) override {
    tasks.places = lister.places(tasks);
  }

  void add(const SubgridRange<T>& range) override {
    // The buffer's last contents, those of the range before the pending one, have been added.
    const std::size_t slot = pending_.slot ^ 1, n = range.work.n;
    ComplexOf<T>* ordered = ordered_[slot].reserve(n * task_cells());
    if (range.finished)
      cuda_check(cudaMemcpyAsync(ordered, range.subgrids, n * task_cells() * sizeof(ComplexOf<T>),
                                 cudaMemcpyDeviceToDevice, stream_),
                 "keeping subgrids");
    else
      launch_reorder<T>({range.subgrids, uv_phase_.data(), n * n_planes_ * n_outputs_, int(side_), ordered},
                        stream_);
    ready_[slot].record(stream_);
    Pending next{slot, {}};
    for (std::size_t i = range.work.first; i < range.work.first + n; ++i) {
      const TaskPlace& place = range.tasks.places[i];
      next.places.push_back({place.layer, place.start_v, place.start_u});
    }
    add_pending();
    pending_ = std::move(next);
  }

  void end_pass() override {
    add_pending();
    grids_.end_pass();
  }

  Buffer<double, 3> take_images() override { return grids_.take_images(); }

 private:
  static constexpr std::size_t kBuffers = 3;
  /// A range whose subgrids are in ordered_[slot], or on the way there.
  struct Pending {
    std::size_t slot = 0;
    std::vector<SubgridPlace> places;  ///< [task]
  };

  std::size_t task_cells() const { return n_planes_ * n_outputs_ * side_ * side_; }

  void add_pending() {
    const std::size_t n = pending_.places.size(), n_pieces = (n + piece_tasks_ - 1) / piece_tasks_;
    auto tasks_of = [&](std::size_t piece) { return std::min(piece_tasks_, n - piece * piece_tasks_); };
    auto fetch = [&](std::size_t piece) {
      if (piece >= n_pieces) return;
      cuda_check(cudaMemcpyAsync(buffers_[piece % kBuffers].get(),
                                 ordered_[pending_.slot].data() + piece * piece_tasks_ * task_cells(),
                                 tasks_of(piece) * task_cells() * sizeof(ComplexOf<T>),
                                 cudaMemcpyDeviceToHost, copies_.get()),
                 "copying subgrids back");
      arrived_[piece % kBuffers].record(copies_.get());
    };
    if (n_pieces > 0) ready_[pending_.slot].hold(copies_.get());
    for (std::size_t piece = 0; piece < kBuffers; ++piece) fetch(piece);
    for (std::size_t piece = 0; piece < n_pieces; ++piece) {
      arrived_[piece % kBuffers].wait();
      grids_.add({pending_.places.data() + piece * piece_tasks_, tasks_of(piece)},
                 View<const std::complex<T>, 5>(buffers_[piece % kBuffers].get(),
                                                {tasks_of(piece), n_planes_, n_outputs_, side_, side_}));
      fetch(piece + kBuffers);
    }
    pending_.places.clear();
  }

  std::size_t side_, n_planes_, n_outputs_, piece_tasks_ = 1;
  cudaStream_t stream_;
  HostGrids<T> grids_;
  DeviceArray<ComplexOf<T>> uv_phase_;
  std::array<Upload<ComplexOf<T>>, 2> ordered_;  ///< [task][plane][output][v][u]
  std::array<Event, 2> ready_;
  Pending pending_;
  std::array<std::unique_ptr<std::complex<T>[], FreePinned>, kBuffers> buffers_;
  std::array<Event, kBuffers> arrived_;
  CopyStream copies_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaGrids<T>> make_hybrid_grids(const IdgPlan& plan, const IdgSetup& setup,
                                                std::size_t n_outputs, cudaStream_t stream) {
  return std::make_unique<HybridGrids<T>>(plan, setup, n_outputs, stream);
}

template std::unique_ptr<CudaGrids<float>> make_hybrid_grids(const IdgPlan&, const IdgSetup&, std::size_t,
                                                             cudaStream_t);
template std::unique_ptr<CudaGrids<double>> make_hybrid_grids(const IdgPlan&, const IdgSetup&, std::size_t,
                                                              cudaStream_t);

}  // namespace apsyn::idg_cuda
