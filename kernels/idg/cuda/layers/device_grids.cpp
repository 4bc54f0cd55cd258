// SPDX-License-Identifier: GPL-3.0-or-later
// Layers in device or managed memory: the device adds subgrids and transforms layers.
#include <complex>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include "kernels/common/cuda/fft.h"
#include "kernels/idg/cpu/layers/layer_transform.h"
#include "kernels/idg/cuda/layers/grid_array.cuh"
#include "kernels/idg/cuda/layers/grids.h"
#include "kernels/idg/cuda/layers/layer_columns.cuh"
#include "kernels/idg/cuda/layers/layer_rows.cuh"
#include "kernels/idg/cuda/tables.h"
#include "kernels/idg/cuda/transfer/download.cuh"
#include "kernels/idg/cuda/transfer/shared_images.cuh"
#include "kernels/idg/plan/cost.h"

namespace apsyn::idg_cuda {
namespace {

template <class T>
class DeviceGrids final : public CudaGrids<T> {
 public:
  DeviceGrids(const IdgPlan& plan, const IdgSetup& setup, std::size_t n_outputs, cudaStream_t stream)
      : plan_(plan),
        n_threads_(setup.n_threads),
        n_planes_(setup.n_planes()),
        n_outputs_(n_outputs),
        stream_(stream),
        shape_{int(plan.n_u), int(plan.n_v),
               setup.grid_memory == GridMemory::gpu && (sizeof(T) == sizeof(double) || is_fast_on_gpu(plan))},
        grids_(setup.grid_memory),
        images_(n_planes_ * plan.image.n_y * plan.image.n_x) {
    std::vector<std::complex<T>> phases;
    for (const std::complex<double>& phase : uv_phases(plan_)) phases.emplace_back(phase);
    to_device(uv_phase_, phases);
    if (std::is_same_v<T, float> && shape_.rows && has_columns(shape_.n_u, shape_.n_v, int(plan.image.n_y))) {
      rows_.emplace(shape_, n_planes_, stream);
      to_device(column_turns_, column_turns(shape_.n_u, shape_.n_v, int(plan.image.n_y)));
    }
    clear_images();
  }

  void keep_scratch() override { keeps_scratch_ = true; }
  const double* device_images() const override { return images_.data(); }
  void clear_images() override {
    cuda_check(cudaMemsetAsync(images_.data(), 0, images_.size() * sizeof(double), stream_),
               "clearing the images");
  }

  void begin_pass(const LayerRange& layers) override {
    layers_ = layers;
    const std::size_t size = layers.n * n_planes_ * shape_.cells();
    const bool fresh = size > grids_.size();
    ComplexOf<T>* grids = grids_.reserve(size);
    if constexpr (std::is_same_v<T, float>)
      if (rows_) rows_->clear(grids, layers.n, fresh);
    if (!rows_)
      cuda_check(cudaMemsetAsync(grids, 0, size * sizeof(ComplexOf<T>), stream_), "clearing the grids");
    layer_used_.assign(layers.n, false);
  }

  void place(TaskLister& lister, const ListPlan& plan, std::vector<RangeWork>& ranges,
             DeviceTasks& tasks) override {
    lister.place(plan, ranges, tasks);
  }

  void add(const SubgridRange<T>& range) override {
    for (std::size_t layer = 0; layer < layers_.n; ++layer)
      if (range.tasks.layer_used[layer]) layer_used_[layer] = true;
    AddTask<T> add{};
    add.subgrids = range.subgrids;
    add.uv_phase = range.finished ? nullptr : uv_phase_.data();
    add.placements = range.tasks.placements.data() + range.work.first;
    add.entries = range.tasks.entries.data();
    add.tiles = range.tasks.tiles.data() + range.work.first_tile;
    add.n_tiles = int(range.work.n_tiles);
    add.n_planes = int(n_planes_);
    add.n_outputs = int(n_outputs_);
    add.side = int(plan_.settings.subgrid);
    add.grid = shape_;
    add.grids = grids_.data();
    add.strip_used = rows_ ? rows_->strip_used() : nullptr;
    if (add.n_tiles > 0) launch_add(add, stream_);
  }

  void end_pass() override {
    if (rows_)
      transform_rows_and_columns();
    else if (shape_.rows)
      transform_in_place();
    else if (is_fast_on_gpu(plan_))
      transform_copies<T>();
    else
      transform_copies<double>();
  }

  std::vector<std::byte> images_handle() override {
    cuda_check(cudaStreamSynchronize(stream_), "transforming layers");
    return shared_handle(images_);
  }

  bool add_images(std::span<const std::byte> handle) override { return add_shared(images_, handle, stream_); }

  Buffer<double, 3> take_images() override {
    Buffer<double, 3> images;
    resize_for_threads(n_threads_, {n_planes_, plan_.image.n_y, plan_.image.n_x}, images);
    const std::size_t bytes = images.size() * sizeof(double);
    if (bytes >= kWorthPinnedBytes) {
      Event summed;
      summed.record(stream_);
      Downloader downloader(n_threads_);
      downloader.expect(images_.data(), bytes, summed);
      downloader.copy(images.data());
    } else
      cuda_check(cudaMemcpy(images.data(), images_.data(), bytes, cudaMemcpyDeviceToHost),
                 "copying images back");
    for (std::size_t plane = 0; plane < n_planes_; ++plane)
      correct_image(plan_, n_threads_, images.view()[plane]);
    return images;
  }

 private:
  template <class W>
  ScreenTask<W> screen_task(double* image, int n_planes) const {
    ScreenTask<W> task{};
    task.image = image;
    task.n_planes = n_planes;
    task.n_x = int(plan_.image.n_x);
    task.n_y = int(plan_.image.n_y);
    task.n_u = shape_.n_u;
    task.n_v = shape_.n_v;
    task.cell_rad = plan_.image.cell_rad;
    task.n_shift = plan_.w_handling == WHandling::kernel ? 1 - plan_.n_middle : 0;
    return task;
  }
  std::vector<std::size_t> used_layers() const {
    std::vector<std::size_t> used;
    for (std::size_t layer = 0; layer < layers_.n; ++layer)
      if (layer_used_[layer]) used.push_back(layer);
    return used;
  }
  /// Rows of all layers are transformed where they are, then columns on their way into the image.
  void transform_rows_and_columns() {
    if constexpr (std::is_same_v<T, float>) {
      rows_->transform(grids_.data());
      ColumnsTask task{.screen = screen_task<float>(images_.data(), int(n_planes_)),
                       .strip_used = {},
                       .turns = column_turns_.data()};
      ScreenTask<float>& screen = task.screen;
      auto finish = [&] {
        if (screen.n_layers > 0) launch_columns(task, stream_);
        screen.n_layers = 0;
      };
      for (const std::size_t layer : used_layers()) {
        task.strip_used[screen.n_layers] = rows_->strip_used(layer);
        screen.layers[screen.n_layers++] = {grids_.data() + layer * n_planes_ * shape_.cells(),
                                            plan_.layer_w_lambda(layers_.first + layer)};
        if (screen.n_layers == screen.kMaxLayers) finish();
      }
      finish();
      cuda_check(cudaStreamSynchronize(stream_), "transforming layers");
    }
  }
  /// All layers are transformed where they are, then summed up at every pixel.
  void transform_in_place() {
    CudaFft2d& fft = transform(fft_type<T>());
    ScreenTask<T> task = screen_task<T>(images_.data(), int(n_planes_));
    auto finish = [&] {
      if (task.n_layers > 0) launch_screen(task, stream_);
      task.n_layers = 0;
    };
    for (const std::size_t layer : used_layers()) {
      ComplexOf<T>* grids = grids_.data() + layer * n_planes_ * shape_.cells();
      for (std::size_t plane = 0; plane < n_planes_; ++plane)
        fft.execute(grids + plane * shape_.cells(), CUFFT_FORWARD);
      task.layers[task.n_layers++] = {grids, plan_.layer_w_lambda(layers_.first + layer)};
      if (task.n_layers == task.kMaxLayers) finish();
    }
    finish();
    end_transforms();
  }

  /// One layer's plane after the other, in W.
  template <class W>
  void transform_copies() {
    CudaFft2d& fft = transform(fft_type<W>());
    if (work_.size() == 0) work_ = DeviceArray<std::byte>(plan_.n_v * plan_.n_u * sizeof(ComplexOf<W>));
    auto* work = reinterpret_cast<ComplexOf<W>*>(work_.data());
    for (const std::size_t layer : used_layers())
      for (std::size_t plane = 0; plane < n_planes_; ++plane) {
        launch_widen<T, W>(grids_.data() + (layer * n_planes_ + plane) * shape_.cells(), work, shape_.n_u,
                           shape_.n_v, stream_);
        fft.execute(work, CUFFT_FORWARD);
        ScreenTask<W> task = screen_task<W>(images_.data() + plane * plan_.image.n_y * plan_.image.n_x, 1);
        task.layers[task.n_layers++] = {work, plan_.layer_w_lambda(layers_.first + layer)};
        launch_screen(task, stream_);
      }
    end_transforms();
  }

  /// Transforms one plane of one layer, in the stream.
  CudaFft2d& transform(cufftType type) {
    if (!fft_) {
      fft_.emplace(shape_.n_v, shape_.n_u, 1, type);
      fft_->use(stream_);
    }
    return *fft_;
  }
  /// Another gridder may need the scratch memory.
  void end_transforms() {
    cuda_check(cudaStreamSynchronize(stream_), "transforming layers");
    if (keeps_scratch_) return;
    fft_.reset();
    work_ = {};
  }

  IdgPlan plan_;
  unsigned n_threads_;
  std::size_t n_planes_, n_outputs_;
  cudaStream_t stream_;
  GridShape shape_;  ///< in rows where layers are transformed in their own precision
  LayerRange layers_;
  std::vector<bool> layer_used_;
  DeviceArray<ComplexOf<T>> uv_phase_;
  GridArray<ComplexOf<T>> grids_;  ///< [layer][plane] of shape_
  DeviceArray<double> images_;     ///< [plane][y][x]
  DeviceArray<float2> column_turns_;
  std::optional<LayerRows> rows_;  ///< where columns go into the image by themselves
  bool keeps_scratch_ = false;
  std::optional<CudaFft2d> fft_;
  DeviceArray<std::byte> work_;  ///< a plane
};

}  // namespace

template <class T>
std::unique_ptr<CudaGrids<T>> make_cuda_grids(const IdgPlan& plan, const IdgSetup& setup,
                                              std::size_t n_outputs, cudaStream_t stream) {
  if (setup.grid_memory == GridMemory::hybrid) return make_hybrid_grids<T>(plan, setup, n_outputs, stream);
  return std::make_unique<DeviceGrids<T>>(plan, setup, n_outputs, stream);
}

template std::unique_ptr<CudaGrids<float>> make_cuda_grids(const IdgPlan&, const IdgSetup&, std::size_t,
                                                           cudaStream_t);
template std::unique_ptr<CudaGrids<double>> make_cuda_grids(const IdgPlan&, const IdgSetup&, std::size_t,
                                                            cudaStream_t);

}  // namespace apsyn::idg_cuda
