// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA gridder: the host cuts blocks into tasks (partition.h), the device makes their subgrids, range by
// range of tasks, and hands them to the grids (cuda_grids.h). Blocks alternate between two sets of arrays, so
// that one travels while the device sums the other.
#include "kernels/idg/idg_cuda.h"

#include "libcore/core/error.h"

#ifdef APSYN_CUDA
#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/common/cuda_fft.h"
#include "kernels/common/device_array.h"
#include "kernels/idg/cuda_block.h"
#include "kernels/idg/cuda_grids.h"
#include "kernels/idg/cuda_sums.h"
#include "kernels/idg/cuda_tables.h"
#include "kernels/idg/cuda_tasks.h"
#include "kernels/idg/grid_memory.h"
#include "kernels/idg/partition.h"
#endif

namespace apsyn {

#ifdef APSYN_CUDA
namespace {

using namespace idg_cuda;

template <class T>
constexpr cufftType kTransform = sizeof(T) == 4 ? CUFFT_C2C : CUFFT_Z2Z;

template <class T>
class CudaGridder final : public Gridder {
 public:
  CudaGridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup)
      : device_((select(device.index), device.index)),
        plan_(plan),
        setup_(setup),
        sums_(plan, int(setup.n_data_planes) + (setup.psf == PsfPlane::last ? 1 : 0), device_),
        uploader_(setup.n_threads) {
    side_ = int(plan.settings.subgrid);
    n_planes_ = setup.n_planes();
    n_outputs_ = sums_.ways().w_kernel ? plan.n_terms : 1;
    to_device(n_from_middle_, n_table(plan_, plan_.settings.subgrid / 2));
    grids_ = make_cuda_grids<T>(plan, setup, n_outputs_, stream_.get());

    range_bytes_ = range_bytes(total_memory());
    const std::size_t subgrid_values = n_planes_ * n_outputs_ * side_ * side_;
    range_tasks_ = std::clamp<std::size_t>(
        range_bytes_ / (sums_.task_values() * sizeof(T) + subgrid_values * sizeof(ComplexOf<T>)), 1, 16384);
    sums_.reserve(range_tasks_);
    subgrids_ = DeviceArray<ComplexOf<T>>(range_tasks_ * subgrid_values);
    cuda_check(cudaMemset(subgrids_.data(), 0, subgrids_.size() * sizeof(ComplexOf<T>)),
               "clearing the subgrids");
    few_tasks_ = std::max<std::size_t>(1, range_tasks_ / 16);
    for (const auto& [fft, n_tasks] :
         {std::pair{&many_fft_, range_tasks_}, std::pair{&few_fft_, few_tasks_}}) {
      *fft = std::make_unique<CudaFft2d>(side_, side_, int(n_tasks * n_planes_ * n_outputs_), kTransform<T>);
      (*fft)->use(stream_.get());
    }
    cuda_check(cudaDeviceSynchronize(), "preparing the gridder");
  }

  ~CudaGridder() override { cudaStreamSynchronize(stream_.get()); }

  void begin_pass(std::size_t first_layer, std::size_t n_layers) override {
    if (first_layer + n_layers > plan_.n_layers) throw std::out_of_range("gridder: no such layer");
    select(device_);
    layers_ = {first_layer, n_layers};
    grids_->begin_pass(layers_);
  }

  GridCounts grid(const GridBlock& block) override {
    check_block(block, setup_);
    if (block.weight.size() / std::max<std::size_t>(1, block.weight.extent(2)) > 0x7fffffff)
      throw std::invalid_argument("gridder: more than 2^31 visibilities in a block");
    select(device_);
    const Partition parts = partition(plan_, block, layers_, setup_.n_threads);
    if (parts.tasks.empty()) return {};
    const TaskList list = list_tasks(plan_, sums_.ways(), parts);
    DeviceBlock& on_device = blocks_[next_block_];
    next_block_ ^= 1;
    on_device.done.wait();
    std::vector<std::uint32_t> selected;
    Overlaps overlaps;
    const std::vector<RangeWork> ranges = plan_ranges(list, selected, overlaps);
    const DeviceRows& rows = upload(on_device, block, parts, list, selected, overlaps);
    uploader_.hold(stream_.get());
    const BlockArrays arrays{rows.uvw.data(),           block.path_m.size() == 0 ? nullptr : rows.path.data(),
                             rows.wavenumber.data(),    rows.data.data(),
                             rows.weight.data(),        int(block.wavenumber.size()),
                             int(setup_.n_data_planes), int(block.weight.extent(2))};
    sums_.prepare(on_device.tasks.data(), on_device.runs.data(), arrays, list, stream_.get());
    for (const RangeWork& range : ranges) grid_range(on_device, rows, block, list, range);
    on_device.done.record(stream_.get());
    return {parts.n_visibilities, parts.tasks.size()};
  }

  GridCounts count(const GridBlock& block) override {
    check_block(block, setup_);
    const Partition parts = partition(plan_, block, {0, plan_.n_layers}, setup_.n_threads);
    return {parts.n_visibilities, parts.tasks.size()};
  }

  void end_pass() override {
    select(device_);
    grids_->end_pass();
    layers_.n = 0;
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

  std::vector<RangeWork> plan_ranges(const TaskList& list, std::vector<std::uint32_t>& selected,
                                     Overlaps& overlaps) {
    std::vector<RangeWork> ranges;
    for (std::size_t first = 0; first < list.tasks.size();) {
      RangeWork work;
      work.way = list.way[first];
      const std::size_t most_slots = sums_.most_slots(work.way, range_bytes_);
      std::size_t n = 0, n_slots = 0;
      do n_slots += list.tasks[first + n++].n_slots;
      while (n < range_tasks_ && first + n < list.tasks.size() &&
             (sums_.ways().tensor ||
              (list.way[first + n] == work.way && n_slots + list.tasks[first + n].n_slots <= most_slots)));
      work.tasks = {first, n};
      work.first_tile = overlaps.tiles.size();
      grids_->place(list, work.tasks, overlaps);
      work.n_tiles = overlaps.tiles.size() - work.first_tile;
      if (sums_.ways().tensor) select_tasks(list, work, selected);
      ranges.push_back(work);
      first += n;
    }
    return ranges;
  }

  /// The longest first: the blocks of a launch then end together.
  void select_tasks(const TaskList& list, RangeWork& work, std::vector<std::uint32_t>& selected) const {
    for (std::size_t way = 0; way < 2; ++way) {
      work.first_selected[way] = selected.size();
      for (std::size_t i = 0; i < work.tasks.n; ++i)
        if (list.way[work.tasks.first + i] == way) selected.push_back(std::uint32_t(i));
      work.n_selected[way] = selected.size() - work.first_selected[way];
      std::stable_sort(selected.begin() + std::ptrdiff_t(work.first_selected[way]), selected.end(),
                       [&](std::uint32_t a, std::uint32_t b) {
                         return list.n_visibilities[work.tasks.first + a] >
                                list.n_visibilities[work.tasks.first + b];
                       });
    }
  }

  const DeviceRows& upload(DeviceBlock& to, const GridBlock& block, const Partition& parts,
                           const TaskList& list, const std::vector<std::uint32_t>& selected,
                           const Overlaps& overlaps) {
    static_assert(sizeof(Run) == sizeof(VisibilityRun));
    uploader_.copy(to.runs, parts.runs.data(), parts.runs.size());
    uploader_.copy(to.tasks, list.tasks);
    uploader_.copy(to.keys, list.keys);
    uploader_.copy(to.screen_lambda, list.screen_lambda);
    uploader_.copy(to.placements, list.placements);
    uploader_.copy(to.selected, selected);
    uploader_.copy(to.entries, overlaps.entries);
    uploader_.copy(to.tiles, overlaps.tiles);
    if (const auto kept = kept_.find(block.id); block.id != 0 && kept != kept_.end()) return kept->second;
    if (block.id != 0 && has_room_for(block)) {
      DeviceRows rows;
      rows.copy(uploader_, block);
      return kept_.emplace(block.id, std::move(rows)).first->second;
    }
    to.rows.copy(uploader_, block);
    return to.rows;
  }

  /// place_grids() leaves an eighth of the memory to blocks: half of that may be kept.
  static bool has_room_for(const GridBlock& block) {
    std::size_t free_bytes = 0, total_bytes = 0;
    cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the device's memory");
    const std::size_t bytes = block.uvw_m.size() * 8 + (block.data.size() + block.aterms.jones.size()) * 8 +
                              block.weight.size() * 4;
    return free_bytes > total_bytes / 16 + bytes + bytes / 4;
  }

  void grid_range(DeviceBlock& on_device, const DeviceRows& rows, const GridBlock& block,
                  const TaskList& list, const RangeWork& work) {
    const std::size_t first = work.tasks.first;
    ImageTask<T> image{};
    image.shape =
        sums_.sum(on_device.tasks.data() + first, on_device.selected.data(), list, work, stream_.get());
    image.n_tasks = int(work.tasks.n);
    image.side = side_;
    image.n_outputs = int(n_outputs_);
    image.sums = sums_.sums();
    image.coefficient = sums_.coefficient(work.way);
    image.n_from_middle = sums_.ways().w_kernel ? nullptr : n_from_middle_.data();
    image.screen_lambda = on_device.screen_lambda.data() + first;
    if (setup_.aterms != AtermMode::none) {
      image.aterms =
          setup_.aterms == AtermMode::normalised ? DeviceAterms::normalised : DeviceAterms::adjoint;
      image.jones = rows.jones.data();
      image.keys = on_device.keys.data() + first;
      image.n_chan_slots = int(block.aterms.jones.extent(1));
      image.n_stations = int(block.aterms.jones.extent(2));
      image.n_image_planes = int(setup_.n_image_planes());
      for (std::size_t s = 0; s < setup_.mix.size(); ++s)
        for (std::size_t c = 0; c < 4; ++c)
          image.mix[s][c] = {setup_.mix[s][c].real(), setup_.mix[s][c].imag()};
    }
    image.images = subgrids_.data();
    launch_images(image, stream_.get());
    const auto& fft = work.tasks.n <= few_tasks_ ? few_fft_ : many_fft_;
    fft->execute(subgrids_.data(), CUFFT_INVERSE);  // exponent +1
    grids_->add({subgrids_.data(), list, work, on_device});
  }

  int device_;
  IdgPlan plan_;
  IdgSetup setup_;
  TaskSums<T> sums_;
  int side_ = 0;
  std::size_t n_planes_ = 0, n_outputs_ = 1, range_bytes_ = 0, range_tasks_ = 0, few_tasks_ = 0;
  LayerRange layers_;
  CopyStream stream_;
  Uploader uploader_;
  std::array<DeviceBlock, 2> blocks_;
  std::map<std::uint64_t, DeviceRows> kept_;  ///< [block id]
  std::size_t next_block_ = 0;
  DeviceArray<double> n_from_middle_;
  DeviceArray<ComplexOf<T>> subgrids_;
  std::unique_ptr<CudaGrids<T>> grids_;
  std::unique_ptr<CudaFft2d> many_fft_, few_fft_;  ///< of range_tasks_ and of few_tasks_
};

}  // namespace

std::unique_ptr<Gridder> make_cuda_gridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup) {
  if (plan.settings.precision == Precision::single)
    return std::make_unique<CudaGridder<float>>(device, plan, setup);
  return std::make_unique<CudaGridder<double>>(device, plan, setup);
}

#else

std::unique_ptr<Gridder> make_cuda_gridder(const Device& device, const IdgPlan&, const IdgSetup&) {
  throw DeviceError("{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device.description);
}

#endif

}  // namespace apsyn
