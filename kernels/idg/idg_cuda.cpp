// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA gridder: the host sorts visibilities into tasks (partition.h), the device does the rest, chunk by
// chunk of tasks. All layers of a pass stay in device memory.
#include "kernels/idg/idg_cuda.h"

#include "libcore/core/error.h"

#ifdef APSYN_CUDA
#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "kernels/common/cuda_fft.h"
#include "kernels/common/device_array.h"
#include "kernels/idg/idg_kernels.cuh"
#include "kernels/idg/layer_transform.h"
#include "kernels/idg/partition.h"
#include "kernels/idg/subgrid_tables.h"
#endif

namespace apsyn {

#ifdef APSYN_CUDA
namespace {

using namespace idg_cuda;

/// Scratch for products and subgrids of one chunk of tasks.
constexpr std::size_t kChunkBytes = 1'500'000'000;

std::size_t complex_bytes(const IdgPlan& plan) {
  return plan.settings.precision == Precision::single ? 8 : 16;
}
std::size_t outputs_of(const IdgPlan& plan) {
  return plan.w_handling == WHandling::kernel ? plan.n_terms : 1;
}

/// An array on the device that grows when it must.
template <class T>
class Upload {
 public:
  T* reserve(std::size_t size) {
    if (size > array_.size()) {
      array_ = DeviceArray<T>();  // give back before asking for more
      array_ = DeviceArray<T>(size + size / 4);
    }
    return array_.data();
  }
  T* copy(const void* host, std::size_t size) {
    if (size == 0) return nullptr;
    reserve(size);
    cuda_check(cudaMemcpy(array_.data(), host, size * sizeof(T), cudaMemcpyHostToDevice),
               "copying to the device");
    return array_.data();
  }

 private:
  DeviceArray<T> array_;
};

int wrap(std::int64_t index, std::size_t n) {
  const auto size = static_cast<std::int64_t>(n);
  return static_cast<int>((index % size + size) % size);
}

template <class T>
class CudaGridder final : public Gridder {
 public:
  CudaGridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup)
      : device_(device.index), plan_(plan), setup_(setup), n_threads_(setup.n_threads) {
    select_device();
    const std::size_t n_data_planes = setup.n_data_planes;
    const SubgridTables<T> tables(plan, n_data_planes, setup.psf);
    const std::size_t side = plan.settings.subgrid;
    n_planes_ = tables.n_planes;
    n_data_planes_ = n_data_planes;
    geometry_ = {};
    geometry_.n_planes = int(n_planes_);
    geometry_.n_data_planes = int(n_data_planes);
    geometry_.n_terms = int(plan.n_terms);
    geometry_.side = int(side);
    geometry_.n_outputs = int(tables.n_outputs);
    geometry_.w_kernel = plan.w_handling == WHandling::kernel;
    geometry_.per_u = static_cast<double>(plan.n_u) * plan.image.cell_rad;
    geometry_.per_v = static_cast<double>(plan.n_v) * plan.image.cell_rad;
    geometry_.n_middle = plan.n_middle;
    geometry_.half_w_lambda = plan.half_w_lambda;
    geometry_.kernel_beta = plan.kernel_beta;
    geometry_.layer_step_lambda = plan.layer_step_lambda;

    std::vector<double> coefficient;
    if (geometry_.w_kernel)
      coefficient.assign(tables.taper.begin(), tables.taper.end());
    else
      coefficient.assign(tables.coefficient.begin(), tables.coefficient.end());
    coefficient_ = DeviceArray<double>(coefficient.size());
    copy_in(coefficient_.data(), coefficient.data(), coefficient.size());
    uv_phase_ = DeviceArray<double2>(side);
    copy_in(uv_phase_.data(), reinterpret_cast<const double2*>(tables.uv_phase.data()), side);
    images_ = DeviceArray<double>(n_planes_ * plan.image.n_y * plan.image.n_x);
    cuda_check(cudaMemset(images_.data(), 0, images_.size() * sizeof(double)), "clearing the images");

    rows_padded_ = std::size_t(rows_padded(geometry_));
    const std::size_t subgrids_per_task = n_planes_ * tables.n_outputs;
    const std::size_t task_bytes =
        rows_padded_ * side * sizeof(T) + subgrids_per_task * side * side * sizeof(double2);
    chunk_tasks_ = std::clamp<std::size_t>(kChunkBytes / task_bytes, 1, 16384);
    products_ = DeviceArray<T>(chunk_tasks_ * rows_padded_ * side);
    subgrids_ = DeviceArray<double2>(chunk_tasks_ * subgrids_per_task * side * side);
    cuda_check(cudaMemset(subgrids_.data(), 0, subgrids_.size() * sizeof(double2)), "clearing the subgrids");
    subgrid_fft_ =
        std::make_unique<CudaFft2d>(int(side), int(side), int(chunk_tasks_ * subgrids_per_task), CUFFT_Z2Z);
  }

  void begin_pass(std::size_t first_layer, std::size_t n_layers) override {
    if (first_layer + n_layers > plan_.n_layers) throw std::out_of_range("gridder: no such layer");
    select_device();
    first_layer_ = first_layer;
    n_layers_ = n_layers;
    const std::size_t size = n_layers * n_planes_ * plan_.n_v * plan_.n_u;
    if (grids_.size() < size) {
      grids_ = DeviceArray<ComplexOf<T>>();
      grids_ = DeviceArray<ComplexOf<T>>(size);
    }
    cuda_check(cudaMemset(grids_.data(), 0, size * sizeof(ComplexOf<T>)), "clearing the grids");
    layer_used_.assign(n_layers, false);
  }

  GridCounts grid(const GridBlock& block) override {
    check_block(block, setup_);
    if (block.weight.size() / std::max<std::size_t>(1, block.weight.extent(2)) > 0x7fffffff)
      throw std::invalid_argument("gridder: more than 2^31 visibilities in a block");
    select_device();
    const Partition parts = partition(plan_, block, {first_layer_, n_layers_}, n_threads_);
    if (parts.tasks.empty()) return {};
    flatten(block, parts);
    geometry_.n_weight_planes = int(block.weight.extent(2));
    PrepareTask<T> prepare{};
    prepare.geometry = geometry_;
    prepare.uvw_m = uvw_.copy(block.uvw_m.data(), block.uvw_m.size());
    prepare.path_m = path_.copy(block.path_m.data(), block.path_m.size());
    prepare.wavenumber = wavenumber_.copy(block.wavenumber.data(), block.wavenumber.size());
    prepare.data = data_.copy(block.data.data(), block.data.size());
    prepare.weight = weight_.copy(block.weight.data(), block.weight.size());
    prepare.visibility = visibility_.copy(visibilities_host_.data(), visibilities_host_.size());
    prepare.task_of = task_of_.copy(task_of_host_.data(), task_of_host_.size());
    prepare.tasks = tasks_.copy(tasks_host_.data(), tasks_host_.size());
    prepare.n_chan = int(block.wavenumber.size());
    prepare.n_visibilities = int(visibilities_host_.size());
    prepare.out.turns = turns_.reserve(visibilities_host_.size());
    prepare.out.terms = terms_.reserve(visibilities_host_.size() * plan_.n_terms * n_planes_);
    launch_prepare(prepare, nullptr);
    // Chunks of tasks: as many as there is scratch for, of visibilities too.
    const std::size_t side = plan_.settings.subgrid, width_v = 2 * std::size_t(padded_half(int(side)));
    const std::size_t most_visibilities =
        std::max<std::size_t>(kChunkBytes / ((side + width_v) * sizeof(T)), 1);
    for (std::size_t first = 0; first < parts.tasks.size();) {
      std::size_t n = 0, n_visibilities = 0;
      do n_visibilities += parts.tasks[first + n++].n_visibilities;
      while (n < chunk_tasks_ && first + n < parts.tasks.size() &&
             n_visibilities + parts.tasks[first + n].n_visibilities <= most_visibilities);
      prepare.out.phasors_u = phasors_u_.reserve(n_visibilities * side);
      prepare.out.phasors_v = phasors_v_.reserve(n_visibilities * width_v);
      launch_phasors<T>({prepare.out, tasks_host_[first].first_visibility, n_visibilities, int(side)},
                        nullptr);
      grid_chunk(parts, first, n, prepare);
      first += n;
    }
    cuda_check(cudaDeviceSynchronize(), "gridding");
    return {parts.n_visibilities, parts.tasks.size()};
  }

  GridCounts count(const GridBlock& block) override {
    check_block(block, setup_);
    const Partition parts = partition(plan_, block, {0, plan_.n_layers}, n_threads_);
    return {parts.n_visibilities, parts.tasks.size()};
  }

  void end_pass() override {
    select_device();
    const std::size_t cells = plan_.n_v * plan_.n_u;
    DeviceArray<double2> work(cells);
    const CudaFft2d fft(int(plan_.n_v), int(plan_.n_u), 1, CUFFT_Z2Z);
    const double n_shift = geometry_.w_kernel ? 1 - plan_.n_middle : 0;
    for (std::size_t layer = 0; layer < n_layers_; ++layer) {
      if (!layer_used_[layer]) continue;
      for (std::size_t plane = 0; plane < n_planes_; ++plane) {
        launch_widen<T>(grids_.data() + (layer * n_planes_ + plane) * cells, work.data(), cells, nullptr);
        fft.execute(work.data(), CUFFT_FORWARD);
        launch_screen({work.data(), images_.data() + plane * plan_.image.n_y * plan_.image.n_x,
                       int(plan_.image.n_x), int(plan_.image.n_y), int(plan_.n_u), int(plan_.n_v),
                       plan_.image.cell_rad, plan_.layer_w_lambda(first_layer_ + layer), n_shift},
                      nullptr);
      }
    }
    cuda_check(cudaDeviceSynchronize(), "transforming layers");
    n_layers_ = 0;
  }

  Buffer<double, 3> take_images() override {
    select_device();
    Buffer<double, 3> images({n_planes_, plan_.image.n_y, plan_.image.n_x});
    cuda_check(
        cudaMemcpy(images.data(), images_.data(), images.size() * sizeof(double), cudaMemcpyDeviceToHost),
        "copying images back");
    const LayerTransform transform(plan_, n_threads_);
    for (std::size_t plane = 0; plane < n_planes_; ++plane) transform.correct(images.view()[plane]);
    return images;
  }

 private:
  void select_device() const { cuda_check(cudaSetDevice(device_), "choosing the device"); }
  template <class U>
  static void copy_in(U* device, const U* host, std::size_t n) {
    cuda_check(cudaMemcpy(device, host, n * sizeof(U), cudaMemcpyHostToDevice), "copying to the device");
  }

  /// Runs of channels -> one index per visibility, in the order of the tasks.
  void flatten(const GridBlock& block, const Partition& parts) {
    const auto n_chan = static_cast<std::uint32_t>(block.wavenumber.size());
    visibilities_host_.clear();
    task_of_host_.clear();
    tasks_host_.clear();
    for (const SubgridTask& task : parts.tasks) {
      tasks_host_.push_back({double(task.centre_u), double(task.centre_v), plan_.layer_w_lambda(task.layer),
                             std::uint32_t(visibilities_host_.size()), std::uint32_t(task.n_visibilities)});
      for (std::size_t i = task.first_run; i < task.first_run + task.n_runs; ++i) {
        const VisibilityRun& run = parts.runs[i];
        for (std::uint32_t chan = run.first_channel; chan < run.first_channel + run.n_channels; ++chan) {
          visibilities_host_.push_back(run.row * n_chan + chan);
          task_of_host_.push_back(std::uint32_t(tasks_host_.size() - 1));
        }
      }
    }
  }

  void grid_chunk(const Partition& parts, std::size_t first, std::size_t n, const PrepareTask<T>& prepared) {
    launch_product<T>({geometry_, prepared.out, prepared.tasks + first, int(n), int(rows_padded_),
                       tasks_host_[first].first_visibility, products_.data()},
                      nullptr);
    launch_combine<T>(
        {geometry_, products_.data(), coefficient_.data(), int(n), int(rows_padded_), subgrids_.data()},
        nullptr);
    subgrid_fft_->execute(subgrids_.data(), CUFFT_INVERSE);  // exponent +1
    place(parts, first, n);
    AddTask<T> add{};
    add.geometry = geometry_;
    add.subgrids = subgrids_.data();
    add.uv_phase = uv_phase_.data();
    add.placements = placements_.copy(placements_host_.data(), placements_host_.size());
    add.entries = entries_.copy(entries_host_.data(), entries_host_.size());
    add.tiles = tiles_.copy(tiles_host_.data(), tiles_host_.size());
    add.n_tiles = int(tiles_host_.size());
    add.n_u = int(plan_.n_u);
    add.n_v = int(plan_.n_v);
    add.grids = grids_.data();
    if (add.n_tiles > 0) launch_add(add, nullptr);
  }

  /// Which subgrids of the chunk overlap which tile of which layer, each tile's in the order of the tasks.
  void place(const Partition& parts, std::size_t first, std::size_t n) {
    struct Overlap {
      std::uint64_t tile;
      std::uint32_t entry;
    };
    const auto half = static_cast<std::int64_t>(plan_.settings.subgrid / 2);
    const std::size_t tiles_u = (plan_.n_u + kGridTile - 1) / kGridTile;
    const std::size_t tiles_v = (plan_.n_v + kGridTile - 1) / kGridTile;
    std::vector<Overlap> overlaps;
    std::vector<std::size_t> across, down;
    placements_host_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const SubgridTask& task = parts.tasks[first + i];
      placements_host_[i] = {wrap(task.centre_v - half, plan_.n_v), wrap(task.centre_u - half, plan_.n_u)};
      tiles_reached(placements_host_[i].start_u, plan_.n_u, across);
      tiles_reached(placements_host_[i].start_v, plan_.n_v, down);
      for (std::size_t output = 0; output < outputs_of(plan_); ++output) {
        const std::size_t layer = task.layer + output;
        if (layer < first_layer_ || layer >= first_layer_ + n_layers_) continue;
        layer_used_[layer - first_layer_] = true;
        for (std::size_t v : down)
          for (std::size_t u : across)
            overlaps.push_back({((layer - first_layer_) * tiles_v + v) * tiles_u + u,
                                std::uint32_t(i * outputs_of(plan_) + output)});
      }
    }
    std::stable_sort(overlaps.begin(), overlaps.end(),
                     [](const Overlap& a, const Overlap& b) { return a.tile < b.tile; });
    entries_host_.clear();
    tiles_host_.clear();
    std::uint64_t last = UINT64_MAX;
    for (const Overlap& overlap : overlaps) {
      if (overlap.tile != last)
        tiles_host_.push_back(
            {int(overlap.tile / tiles_u / tiles_v), int(overlap.tile / tiles_u % tiles_v) * kGridTile,
             int(overlap.tile % tiles_u) * kGridTile, std::uint32_t(entries_host_.size()), 0});
      last = overlap.tile;
      ++tiles_host_.back().n_entries;
      entries_host_.push_back(overlap.entry);
    }
  }

  /// Tiles that cells start .. start + side - 1 (mod n) fall into, each once.
  void tiles_reached(int start, std::size_t n, std::vector<std::size_t>& tiles) const {
    tiles.clear();
    for (std::size_t k = 0; k < plan_.settings.subgrid; ++k) {
      const std::size_t tile = (static_cast<std::size_t>(start) + k) % n / kGridTile;
      if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(tile);
    }
  }

  int device_;
  IdgPlan plan_;
  IdgSetup setup_;
  unsigned n_threads_;
  Geometry geometry_{};
  std::size_t n_planes_ = 0, n_data_planes_ = 0, rows_padded_ = 0, chunk_tasks_ = 0;
  std::size_t first_layer_ = 0, n_layers_ = 0;
  std::vector<bool> layer_used_;
  std::vector<std::uint32_t> visibilities_host_, task_of_host_, entries_host_;
  std::vector<Task> tasks_host_;
  std::vector<Placement> placements_host_;
  std::vector<GridTile> tiles_host_;
  DeviceArray<T> products_;
  DeviceArray<double> coefficient_;
  DeviceArray<double2> uv_phase_, subgrids_;
  DeviceArray<ComplexOf<T>> grids_;
  DeviceArray<double> images_;  ///< [plane][y][x]
  std::unique_ptr<CudaFft2d> subgrid_fft_;
  Upload<double> uvw_, path_, wavenumber_;
  Upload<float> weight_;
  Upload<float2> data_;
  Upload<double2> turns_;
  Upload<T> phasors_u_, phasors_v_;
  Upload<ComplexOf<T>> terms_;
  Upload<std::uint32_t> visibility_, task_of_, entries_;
  Upload<Task> tasks_;
  Upload<Placement> placements_;
  Upload<GridTile> tiles_;
};

}  // namespace

std::size_t cuda_gridder_layers(const Device& device, const IdgPlan& plan, std::size_t n_planes) {
  cuda_check(cudaSetDevice(device.index), "choosing the device");
  std::size_t free_bytes = 0, total_bytes = 0;
  cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the device's memory");
  const std::size_t cells = plan.n_u * plan.n_v;
  // The layer's transform works in float64 with scratch of its own; blocks of visibilities need room too.
  const std::size_t fixed =
      kChunkBytes * 4 + cells * 16 * 3 + n_planes * plan.image.n_x * plan.image.n_y * 8 + total_bytes / 8;
  const std::size_t layer = cells * n_planes * complex_bytes(plan);
  if (fixed + layer > free_bytes)
    throw DeviceError("{}: {} bytes are free and this image needs {}: make it smaller, or use --device cpu",
                      device.description, free_bytes, fixed + layer);
  return std::min(plan.n_layers, (free_bytes - fixed) / layer);
}

std::unique_ptr<Gridder> make_cuda_gridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup) {
  if (setup.aterms != AtermMode::none)
    throw DeviceError("{}: A-terms are for --device cpu as yet", device.description);
  if (plan.settings.precision == Precision::single)
    return std::make_unique<CudaGridder<float>>(device, plan, setup);
  return std::make_unique<CudaGridder<double>>(device, plan, setup);
}

#else

std::size_t cuda_gridder_layers(const Device& device, const IdgPlan&, std::size_t) {
  throw DeviceError("{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device.description);
}

std::unique_ptr<Gridder> make_cuda_gridder(const Device& device, const IdgPlan&, const IdgSetup&) {
  throw DeviceError("{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device.description);
}

#endif

}  // namespace apsyn
