// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA gridder: the device cuts blocks into tasks (cuda/partition/cut.cuh), makes their subgrids, range
// by range of tasks, and hands them to the grids (cuda/layers/grids.h). Blocks alternate between two sets of
// arrays, so that one travels while the device sums the other.
#include "kernels/idg/idg_cuda.h"

#include <algorithm>
#include <array>
#include <complex>
#include <future>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/common/cuda/array.h"
#include "kernels/idg/cuda/block.h"
#include "kernels/idg/cuda/fft/subgrid_fft.cuh"
#include "kernels/idg/cuda/grid/sums.h"
#include "kernels/idg/cuda/layers/grids.h"
#include "kernels/idg/cuda/tables.h"
#include "kernels/idg/cuda/tasks.h"
#include "kernels/idg/grid_memory.h"
#include "kernels/idg/partition/partition.h"
#include "kernels/idg/partition/sub_tables.h"
#include "kernels/idg/tracks/node_counts.h"
#include "libcore/base/error.h"

namespace apsyn {

namespace {

using namespace idg_cuda;

template <class T>
class CudaGridder final : public Gridder {
 public:
  CudaGridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup)
      : device_((select(device.index), device.index)),
        plan_(make_w_expansions(plan, has_tensor_cores(device_)).tensor ? plan_for_tensor_cores(plan) : plan),
        setup_(setup),
        sums_(plan_, int(setup.n_data_planes) + (setup.psf == PsfPlane::last ? 1 : 0), device_),
        fft_(plan.settings.subgrid,
             setup.n_planes() * (plan.w_handling == WHandling::kernel ? plan.n_terms : 1)),
        uploader_(setup.n_threads) {
    side_ = int(plan.settings.subgrid);
    n_planes_ = setup.n_planes();
    n_outputs_ = sums_.expansions().w_kernel ? plan.n_terms : 1;
    to_device(n_from_middle_, n_table(plan_, plan_.settings.subgrid / 2));
    std::vector<std::complex<T>> phases;
    for (const std::complex<double>& phase : uv_phases(plan)) phases.emplace_back(phase);
    to_device(uv_phase_, phases);
    if (node_error(plan_) > 0) node_limits_ = node_limits(plan_, node_error(plan_));
    grids_ = make_cuda_grids<T>(plan, setup, n_outputs_, stream_.get());

    range_bytes_ = range_bytes(total_memory());
    const std::size_t subgrid_values = n_planes_ * n_outputs_ * side_ * side_;
    range_tasks_ = std::clamp<std::size_t>(
        range_bytes_ / (sums_.task_values() * sizeof(T) + subgrid_values * sizeof(ComplexOf<T>)), 1, 16384);
    sums_.reserve(range_tasks_);
    subgrids_ = DeviceArray<ComplexOf<T>>(fft_.padded(range_tasks_) * subgrid_values);
    cuda_check(cudaMemset(subgrids_.data(), 0, subgrids_.size() * sizeof(ComplexOf<T>)),
               "clearing the subgrids");
    range_limits_.tasks = range_tasks_;
    for (std::size_t expansion = 0; expansion < sums_.expansions().expansions.size(); ++expansion)
      range_limits_.slots[expansion] = sums_.max_slots(expansion, range_bytes_);
    fft_.use(stream_.get());
    cuda_check(cudaDeviceSynchronize(), "preparing the gridder");
  }

  ~CudaGridder() override { cudaStreamSynchronize(stream_.get()); }

  std::shared_ptr<void> pin(void* memory, std::size_t bytes) override {
    select(device_);
    return pin_memory(memory, bytes);
  }

  void begin_pass(const LayerRange& layers) override {
    if (layers.first + layers.n > plan_.n_layers) throw std::out_of_range("gridder: no such layer");
    select(device_);
    layers_ = layers;
    if (layers_.n > 0) grids_->begin_pass(layers_);
  }

  GridCounts grid(const GridBlock& block) override {
    check_block(block, setup_);
    if (block.weight.size() / std::max<std::size_t>(1, block.weight.extent(2)) > 0x7fffffff)
      throw std::invalid_argument("gridder: more than 2^31 visibilities in a block");
    select(device_);
    const auto kept = block.id == 0 ? kept_.end() : kept_.find(block.id);
    std::unique_ptr<DeviceBlock>& place = kept == kept_.end() ? blocks_[next_block_] : kept->second;
    next_block_ ^= 1;
    DeviceBlock* at = place.get();
    const bool is_there = kept != kept_.end(), may_keep = !is_there && block.id != 0 && may_keep_;
    const Reading reading(uploader_);
    if (!is_there || at->layers != layers_) {
      ChosenRows chosen;
      if (!is_there && !may_keep)
        chosen = idg::rows_of_pass(plan_, block, layers_, setup_.n_threads, std::move(row_memory_));
      prepare(*at, block, is_there, chosen);
      if (chosen) row_memory_ = std::move(*chosen);
    }
    if (may_keep) {
      if (has_room_for(block, *at)) {
        kept_.emplace(block.id, std::move(place));
        place = std::make_unique<DeviceBlock>();
      } else {
        may_keep_ = false;
      }
    }
    if (at->tables.n_tables == 0) return {};
    uploader_.hold(stream_.get());
    const DeviceRows& rows = at->rows;
    const BlockArrays arrays{rows.uvw.data(),           block.path_m.size() == 0 ? nullptr : rows.path.data(),
                             rows.wavenumber.data(),    rows.data.data(),
                             rows.weight.data(),        int(block.wavenumber.size()),
                             int(setup_.n_data_planes), int(rows.weight_planes)};
    sums_.prepare(at->tasks, at->tables.runs.data(), at->tracks, arrays, stream_.get());
    for (const RangeWork& range : at->ranges) grid_range(*at, block, range);
    at->done.record(stream_.get());
    uploader_.settle();
    return {at->tables.n_visibilities, at->tables.n_tables};
  }

  GridCounts count(const GridBlock& block) override {
    check_block(block, setup_);
    const Partition parts = partition(plan_, block, {0, plan_.n_layers}, setup_.n_threads);
    return {parts.n_visibilities, parts.tasks.size()};
  }

  void end_pass() override {
    select(device_);
    if (layers_.n > 0) grids_->end_pass();
    layers_.n = 0;
  }

  std::vector<std::byte> images_handle() override {
    select(device_);
    return grids_->images_handle();
  }

  bool add_images(std::span<const std::byte> handle) override {
    select(device_);
    return grids_->add_images(handle);
  }

  Buffer<double, 3> take_images() override {
    select(device_);
    return grids_->take_images();
  }

 private:
  static void select(int device) { cuda_check(cudaSetDevice(device), "choosing the device"); }

  static std::size_t total_memory() {
    std::size_t free_bytes = 0, total_bytes = 0;
    cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the device's memory");
    return total_bytes;
  }

  /// Cuts the block into tasks; meanwhile its values travel, unless they are on the device. What is to be
  /// kept for other layers has all rows.
  void prepare(DeviceBlock& to, const GridBlock& block, bool is_there, const ChosenRows& chosen) {
    to.layers = {};
    to.done.wait();
    std::future<void> values;
    if (!is_there) {
      if (chosen && chosen->empty()) {
        to.tables.n_tables = 0;
        return;
      }
      to.rows.copy_geometry(uploader_, block, cuts_.get(), chosen);
      values = std::async(std::launch::async, [&] {
        select(device_);
        to.rows.copy_values(uploader_, block, chosen);
      });
    }
    if (!cutter_.cut(idg::cut_limits(plan_, layers_), to.rows.cut_input(block), to.tables)) {
      partition(plan_, block, layers_, setup_.n_threads);
      throw std::logic_error("gridder: the device refuses what the host does not");
    }
    if (to.tables.n_tables > 0) {
      const ListPlan plan = list_plan(plan_, sums_.expansions(), n_outputs_, layers_);
      if (node_limits_.error > 0) finder_.find(node_limits_, to.rows.cut_input(block), to.tables, to.tracks);
      to.ranges = lister_.list(plan, to.tables, range_limits_, to.tasks, &to.tracks);
      grids_->place(lister_, plan, to.ranges, to.tasks);
    }
    if (values.valid()) values.get();
    to.layers = layers_;
  }

  /// The caller's memory is no longer read when it ends, whatever has been thrown; what fails here fails in
  /// the next call, too.
  struct Reading {
    explicit Reading(Uploader& of) : uploader(of) {}
    ~Reading() {
      try {
        uploader.settle();
      } catch (...) {
      }
    }
    Uploader& uploader;
  };

  /// place_grids() leaves an eighth of the memory to blocks: half of that may be kept. The next block, and
  /// what sums over such a one as `own`, must still find room.
  bool has_room_for(const GridBlock& block, const DeviceBlock& own) const {
    std::size_t free_bytes = 0, total_bytes = 0;
    cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the device's memory");
    const std::size_t bytes = block.uvw_m.size() * 8 + (block.data.size() + block.aterms.jones.size()) * 8 +
                              block.weight.size() * 4 + sums_.prepared_bytes(own.tasks, own.tracks);
    return free_bytes > total_bytes / 16 + bytes + bytes / 4;
  }

  void grid_range(const DeviceBlock& from, const GridBlock& block, const RangeWork& work) {
    ImageTask<T> image{};
    image.shape = sums_.sum(from.tasks, work, stream_.get());
    image.n_tasks = int(work.n);
    image.side = side_;
    image.n_outputs = int(n_outputs_);
    image.sums = sums_.sums();
    image.coefficient = sums_.coefficient(work.expansion);
    image.n_from_middle = sums_.expansions().w_kernel ? nullptr : n_from_middle_.data();
    image.screen_lambda = from.tasks.screen_lambda.data() + work.first;
    if (setup_.aterms != AtermMode::none) {
      image.aterms =
          setup_.aterms == AtermMode::normalised ? DeviceAterms::normalised : DeviceAterms::adjoint;
      image.jones = from.rows.jones.data();
      image.keys = from.tasks.keys.data() + work.first;
      image.n_chan_slots = int(block.aterms.jones.extent(1));
      image.n_stations = int(block.aterms.jones.extent(2));
      image.n_image_planes = int(setup_.n_image_planes());
      for (std::size_t s = 0; s < setup_.mix.size(); ++s)
        for (std::size_t c = 0; c < 4; ++c)
          image.mix[s][c] = {setup_.mix[s][c].real(), setup_.mix[s][c].imag()};
    }
    image.images = subgrids_.data();
    const bool finished = has_cells<T>(side_, image_planes(image), image.n_outputs);
    if (finished) {
      launch_cells(image, uv_phase_.data(), stream_.get());
    } else {
      launch_images(image, stream_.get());
      fft_.execute(subgrids_.data(), work.n, CUFFT_INVERSE);  // exponent +1
    }
    grids_->add({subgrids_.data(), finished, from.tasks, work});
  }

  int device_;
  IdgPlan plan_;
  IdgSetup setup_;
  TaskSums<T> sums_;
  SubgridFft<T> fft_;
  int side_ = 0;
  std::size_t n_planes_ = 0, n_outputs_ = 1, range_bytes_ = 0, range_tasks_ = 0;
  idg::NodeLimits node_limits_{};
  LayerRange layers_;
  CopyStream stream_;
  CopyStream cuts_ = CopyStream::urgent();
  Uploader uploader_;
  idg::DeviceCutter cutter_{cuts_.get()};
  TrackFinder finder_{cuts_.get()};
  TaskLister lister_{cuts_.get()};
  RangeLimits range_limits_{};
  std::array<std::unique_ptr<DeviceBlock>, 2> blocks_{std::make_unique<DeviceBlock>(),
                                                      std::make_unique<DeviceBlock>()};
  std::map<std::uint64_t, std::unique_ptr<DeviceBlock>> kept_;  ///< [block id]
  std::vector<std::uint32_t> row_memory_;                       ///< for those that are chosen
  bool may_keep_ = true;                                        ///< until there is no room
  std::size_t next_block_ = 0;
  DeviceArray<double> n_from_middle_;
  DeviceArray<ComplexOf<T>> subgrids_, uv_phase_;
  std::unique_ptr<CudaGrids<T>> grids_;
};

}  // namespace

std::unique_ptr<Gridder> make_cuda_gridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup) {
  if (plan.settings.precision == Precision::single)
    return std::make_unique<CudaGridder<float>>(device, plan, setup);
  return std::make_unique<CudaGridder<double>>(device, plan, setup);
}

}  // namespace apsyn
