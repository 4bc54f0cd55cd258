// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA degridder: the host sorts visibilities into tasks (partition.h), the device predicts them, chunk
// by chunk of tasks; while it works on a chunk, the one before is copied back and added to the caller's data.
#include "kernels/idg/degrid_cuda.h"

#include "kernels/idg/idg_cuda.h"
#include "libcore/core/error.h"

#ifdef APSYN_CUDA
#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "kernels/common/cuda_fft.h"
#include "kernels/common/device_transfer.h"
#include "kernels/idg/cuda_model.h"
#include "kernels/idg/degrid_chunks.h"
#endif

namespace apsyn {

#ifdef APSYN_CUDA
namespace {

using namespace idg_degrid;

/// Scratch for the subgrids and pixels of one chunk, and for what comes back of it (twice): enough to fill
/// the device, few enough that copying and adding begin early.
constexpr std::size_t kSubgridBytes = 1'500'000'000, kPredictedBytes = 100'000'000;

template <class T>
class Implementation final : public CudaDegridder {
 public:
  Implementation(const Device& device, const IdgPlan& plan, const IdgSetup& setup, DegridSum sum)
      : device_(device.index), plan_(plan), setup_(setup), separation_(plan) {
    select_device();
    cudaDeviceProp properties{};
    cuda_check(cudaGetDeviceProperties(&properties, device_), "asking for the device's properties");
    const std::size_t side = plan.settings.subgrid;
    Geometry& g = geometry_;
    g.side = int(side);
    g.n_image_planes = int(setup.n_image_planes());
    g.n_planes = int(setup.n_data_planes);
    g.w_kernel = plan.w_handling == WHandling::kernel;
    g.n_outputs = g.w_kernel ? int(plan.n_terms) : 1;
    g.n_u = int(plan.n_u), g.n_v = int(plan.n_v), g.n_x = int(plan.image.n_x), g.n_y = int(plan.image.n_y);
    g.cell_rad = plan.image.cell_rad;
    g.per_u = static_cast<double>(plan.n_u) * plan.image.cell_rad;
    g.per_v = static_cast<double>(plan.n_v) * plan.image.cell_rad;
    g.n_middle = plan.n_middle;
    g.layer_step_lambda = plan.layer_step_lambda;
    g.half_w_lambda = plan.half_w_lambda;
    g.kernel_beta = plan.kernel_beta;
    upload_tables();
    model_ = make_cuda_model<T>(plan, setup);
    const std::size_t task_bytes = side * side * std::size_t(g.n_outputs) *
                                   std::size_t(g.n_image_planes + g.n_planes) * sizeof(ComplexOf<T>);
    limits_.tasks = std::clamp<std::size_t>(kSubgridBytes / task_bytes, 1, 16384);
    limits_.visibilities = kPredictedBytes / (setup.n_data_planes * sizeof(ComplexOf<T>));
    limits_.tensor = std::is_same_v<T, float> && properties.major == 9 && sum == DegridSum::automatic &&
                     tensor_planes(g.n_planes);
  }

  void set_model(View<const double, 3> images) override {
    if (images.extent(0) != setup_.n_image_planes() || images.extent(1) != plan_.image.n_y ||
        images.extent(2) != plan_.image.n_x)
      throw std::invalid_argument("degridder: the model's planes are not the setup's");
    select_device();
    model_->set(images);
    layers_ = {};
  }

  void begin_pass(std::size_t first_layer, std::size_t n_layers) override {
    if (first_layer + n_layers > plan_.n_layers) throw std::out_of_range("degridder: no such layer");
    select_device();
    geometry_.n_layers = int(n_layers);
    seconds_.layers += model_->begin_pass(geometry_, {first_layer, n_layers});
    layers_ = {first_layer, n_layers};
  }

  GridCounts degrid(const GridBlock& block, View<std::complex<float>, 3> data) override {
    return predict(block, data);
  }
  GridCounts degrid(const GridBlock& block, View<std::complex<double>, 3> data) override {
    return predict(block, data);
  }
  DegridSeconds seconds() override { return seconds_; }

 private:
  void select_device() const { cuda_check(cudaSetDevice(device_), "choosing the device"); }

  void upload_tables() {
    const auto side = static_cast<std::size_t>(geometry_.side);
    taper_.copy(separation_.taper.data(), side * side);
    n_from_middle_.copy(separation_.n_from_middle.data(), side * side);
    n_of_x_.copy(separation_.n_of_x.data(), side);
    n_of_y_.copy(separation_.n_of_y.data(), side);
    residual_.copy(separation_.residual.data(), side * side);
    std::vector<std::complex<T>> uv_phase(side), mix;
    for (std::size_t k = 0; k < side; ++k) {
      const double cell = static_cast<double>(k) - static_cast<double>(side / 2),
                   n = static_cast<double>(side);
      uv_phase[k] = std::complex<T>(std::polar(1 / n, std::numbers::pi * cell * (n - 1) / n));
    }
    uv_phase_.copy(uv_phase.data(), side);
    for (const auto& row : setup_.mix)
      for (const auto& factor : row) mix.push_back(std::complex<T>(factor));
    mix_.copy(mix.data(), mix.size());
  }

  template <class Out>
  GridCounts predict(const GridBlock& block, View<std::complex<Out>, 3> data) {
    check_block(block, setup_);
    const std::size_t n_row = block.uvw_m.extent(0), n_chan = block.wavenumber.size();
    if (data.shape() != std::array<std::size_t, 3>{n_row, n_chan, setup_.n_data_planes})
      throw std::invalid_argument("degridder: the data's shape is not the block's");
    if (n_row * n_chan > 0x7fffffff)
      throw std::invalid_argument("degridder: more than 2^31 visibilities in a block");
    select_device();
    const Partition parts = partition(plan_, block, layers_, setup_.n_threads);
    if (parts.tasks.empty()) return {};
    const TaskLists lists = list_tasks(plan_, parts, layers_, setup_.n_threads);
    const ChunkLists chunks = list_chunks(plan_, parts, lists, limits_, separation_);
    std::size_t most_tasks = 0, most_visibilities = 0;
    for (const Chunk& chunk : chunks.chunks) {
      most_tasks = std::max(most_tasks, chunk.n_tasks);
      most_visibilities = std::max(most_visibilities, chunk.n_visibilities);
    }
    reserve(most_tasks, most_visibilities);

    const Task* tasks = tasks_.copy(lists.tasks.data(), lists.tasks.size());
    Event begin, prepared;
    const PrepareTask<T> prepare = upload(block, lists, tasks, parts.n_visibilities);
    begin.record(nullptr);
    launch_prepare(prepare, nullptr);
    prepared.record(nullptr);
    ShapeTask<T> shape{};
    shape.jones = jones_.copy(block.aterms.jones.data(), block.aterms.jones.size() / 4);
    shape.n_chan_slots = int(block.aterms.jones.extent(1));
    shape.n_stations = int(block.aterms.jones.extent(2));
    const Unit* units[kSums];
    for (int sum = 0; sum < kSums; ++sum)
      units[sum] = units_[sum].copy(chunks.units[sum].data(), chunks.units[sum].size());

    std::vector<Times> times(chunks.chunks.size());
    for (std::size_t i = 0; i < chunks.chunks.size(); ++i) {
      const Chunk& chunk = chunks.chunks[i];
      predict_chunk(chunk, shape, lists, tasks + chunk.first_task, units, i % 2, times[i]);
      if (i > 0) {
        copied_[(i - 1) % 2].wait();
        add_chunk(parts, lists, chunks.chunks[i - 1], host_predicted_[(i - 1) % 2].get(), setup_.n_threads,
                  data);
      }
    }
    const std::size_t last = chunks.chunks.size() - 1;
    copied_[last % 2].wait();
    add_chunk(parts, lists, chunks.chunks[last], host_predicted_[last % 2].get(), setup_.n_threads, data);
    seconds_.prepare += prepared.seconds_since(begin);
    for (const Times& time : times) {
      seconds_.subgrids += time.shaped.seconds_since(time.begin);
      seconds_.sums += time.summed.seconds_since(time.shaped);
    }
    seconds_.visibilities += parts.n_visibilities;
    for (const auto& list : {chunks.units[int(Sum::tensor)], chunks.units[int(Sum::tensor_first_order)]})
      for (const Unit& unit : list) seconds_.tensor_visibilities += unit.n_visibilities;
    return {parts.n_visibilities, parts.tasks.size()};
  }

  struct Times {
    Event begin, shaped, summed;
  };

  void reserve(std::size_t n_tasks, std::size_t n_visibilities) {
    const std::size_t side = plan_.settings.subgrid, subgrid = side * side * std::size_t(geometry_.n_outputs);
    const std::size_t transforms = std::size_t(geometry_.n_image_planes) * std::size_t(geometry_.n_outputs);
    if (fft_ == nullptr || fft_tasks_ < n_tasks) {
      fft_ = std::make_unique<CudaFft2d>(int(side), int(side), int(n_tasks * transforms),
                                         std::is_same_v<T, float> ? CUFFT_C2C : CUFFT_Z2Z);
      fft_tasks_ = n_tasks;
      const std::size_t size = n_tasks * subgrid * setup_.n_image_planes();
      // The transform always takes as many as it was planned for.
      cuda_check(cudaMemset(subgrids_.reserve(size), 0, size * sizeof(ComplexOf<T>)), "clearing subgrids");
    }
    pixels_.reserve(n_tasks * subgrid * setup_.n_data_planes);
    scale_.reserve(n_tasks);
    const std::size_t predicted = n_visibilities * setup_.n_data_planes;
    for (int slot = 0; slot < 2; ++slot) {
      predicted_[slot].reserve(predicted);
      if (host_size_ < predicted) host_predicted_[slot] = pinned<std::complex<T>>(predicted);
    }
    host_size_ = std::max(host_size_, predicted);
  }

  PrepareTask<T> upload(const GridBlock& block, const TaskLists& lists, const Task* tasks, std::size_t n) {
    PrepareTask<T> task{};
    task.geometry = geometry_;
    task.uvw_m = uvw_.copy(block.uvw_m.data(), block.uvw_m.size());
    task.path_m = path_.copy(block.path_m.data(), block.path_m.size());
    task.wavenumber = wavenumber_.copy(block.wavenumber.data(), block.wavenumber.size());
    task.runs = runs_.copy(lists.runs.data(), lists.runs.size());
    task.tasks = tasks;
    task.n_runs = lists.runs.size();
    const std::size_t channels_each = n / lists.runs.size();
    while (task.lanes_log2 < 4 && channels_each >= std::size_t(2) << task.lanes_log2) ++task.lanes_log2;
    task.prepared = prepared_.reserve(n);
    return task;
  }

  void predict_chunk(const Chunk& chunk, ShapeTask<T> shape, const TaskLists& lists, const Task* tasks,
                     const Unit* const* units, std::size_t slot, Times& times) {
    const int n_tasks = int(chunk.n_tasks);
    times.begin.record(nullptr);
    model_->cut({geometry_, nullptr, uv_phase_.data(), tasks, n_tasks, subgrids_.data()},
                {lists.tasks.data() + chunk.first_task, chunk.n_tasks});
    fft_->execute(subgrids_.data(), CUFFT_FORWARD);  // exponent -1
    shape.geometry = geometry_;
    shape.subgrids = subgrids_.data();
    shape.taper = taper_.data();
    shape.n_from_middle = n_from_middle_.data();
    shape.tasks = tasks;
    shape.n_tasks = n_tasks;
    shape.mix = mix_.data();
    shape.pixels = pixels_.data();
    shape.scale = scale_.data();
    launch_shape(shape, nullptr);
    times.shaped.record(nullptr);
    SumTask<T> sum{};
    sum.geometry = geometry_;
    sum.pixels = pixels_.data();
    sum.scale = scale_.data();
    sum.n_from_middle = n_from_middle_.data();
    sum.tasks = tasks;
    sum.prepared = prepared_.data();
    sum.first_visibility = static_cast<std::uint32_t>(chunk.first_visibility);
    sum.out = predicted_[slot].data();
    auto take = [&](Sum kind) {
      sum.units = units[int(kind)] == nullptr ? nullptr : units[int(kind)] + chunk.first_unit[int(kind)];
      sum.n_units = int(chunk.n_units[int(kind)]);
    };
    take(Sum::direct);
    launch_direct(sum, nullptr);
    if constexpr (std::is_same_v<T, float>) {
      const TensorTables tables{n_of_x_.data(), n_of_y_.data(), residual_.data()};
      take(Sum::tensor);
      launch_tensor(sum, tables, TensorTerms::phases, nullptr);
      take(Sum::tensor_first_order);
      launch_tensor(sum, tables, TensorTerms::first_order, nullptr);
    }
    times.summed.record(nullptr);
    cuda_check(cudaStreamWaitEvent(copies_.get(), times.summed.get()), "ordering streams");
    cuda_check(cudaMemcpyAsync(host_predicted_[slot].get(), predicted_[slot].data(),
                               chunk.n_visibilities * setup_.n_data_planes * sizeof(ComplexOf<T>),
                               cudaMemcpyDeviceToHost, copies_.get()),
               "copying visibilities back");
    copied_[slot].record(copies_.get());
  }

  int device_;
  IdgPlan plan_;
  IdgSetup setup_;
  WSeparation separation_;
  Geometry geometry_{};
  ChunkLimits limits_{};
  LayerRange layers_{};
  DegridSeconds seconds_;
  std::unique_ptr<CudaFft2d> fft_;
  std::size_t fft_tasks_ = 0, host_size_ = 0;
  std::unique_ptr<std::complex<T>[], FreePinned> host_predicted_[2];
  Upload<ComplexOf<T>> predicted_[2], subgrids_, pixels_, uv_phase_, mix_;
  Upload<double> uvw_, path_, wavenumber_, taper_, n_from_middle_;
  std::unique_ptr<CudaModel<T>> model_;
  Upload<float> n_of_x_, n_of_y_, residual_, scale_;
  Upload<AtermMatrix<float>> jones_;
  Upload<Prepared<T>> prepared_;
  Upload<Task> tasks_;
  Upload<Run> runs_;
  Upload<Unit> units_[kSums];
  CopyStream copies_;
  Event copied_[2];
};

}  // namespace

std::unique_ptr<CudaDegridder> make_cuda_degridder(const Device& device, const IdgPlan& plan,
                                                   const IdgSetup& setup, DegridSum sum) {
  if (plan.settings.precision == Precision::single)
    return std::make_unique<Implementation<float>>(device, plan, setup, sum);
  return std::make_unique<Implementation<double>>(device, plan, setup, sum);
}

#else

std::unique_ptr<CudaDegridder> make_cuda_degridder(const Device& device, const IdgPlan&, const IdgSetup&,
                                                   DegridSum) {
  throw DeviceError("{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device.description);
}

#endif

std::unique_ptr<Degridder> make_cuda_degridder(const Device& device, const IdgPlan& plan,
                                               const IdgSetup& setup) {
  return make_cuda_degridder(device, plan, setup, DegridSum::automatic);
}

}  // namespace apsyn
