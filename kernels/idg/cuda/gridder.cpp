// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA gridder: blocks come from the host and are gridded where they arrive (cuda/block_gridder.h). They
// alternate between two sets of arrays, so that one travels while the device sums the other.
#include "kernels/idg/idg_cuda.h"

#include <algorithm>
#include <array>
#include <future>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/idg/cuda/block_gridder.h"
#include "kernels/idg/cuda/kept/visibilities.h"
#include "kernels/idg/partition/partition.h"
#include "libcore/base/error.h"

namespace apsyn {

namespace {

using namespace idg_cuda;

struct DeviceBlock {
  DeviceRows rows;
  BlockWork work;
  Event done;  ///< the stream no longer reads it
};

template <class T>
class CudaGridder final : public Gridder {
 public:
  CudaGridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup)
      : device_(device.index),
        setup_(setup),
        gridder_(device.index, plan, setup),
        uploader_(setup.n_threads) {}
  ~CudaGridder() override { cudaStreamSynchronize(gridder_.stream()); }

  std::shared_ptr<void> pin(void* memory, std::size_t bytes) override {
    select();
    return pin_memory(memory, bytes);
  }

  void begin_pass(const LayerRange& layers) override {
    select();
    gridder_.begin_pass(layers);
  }

  GridCounts grid(const GridBlock& block) override {
    check_block(block, setup_);
    if (block.weight.size() / std::max<std::size_t>(1, block.weight.extent(2)) > 0x7fffffff)
      throw std::invalid_argument("gridder: more than 2^31 visibilities in a block");
    select();
    const auto kept = block.id == 0 ? kept_.end() : kept_.find(block.id);
    std::unique_ptr<DeviceBlock>& place = kept == kept_.end() ? blocks_[next_block_] : kept->second;
    next_block_ ^= 1;
    DeviceBlock* at = place.get();
    const bool is_there = kept != kept_.end(), may_keep = !is_there && block.id != 0 && may_keep_;
    const Reading reading(uploader_);
    if (!is_there || at->work.layers != gridder_.layers()) {
      ChosenRows chosen;
      if (!is_there && !may_keep)
        chosen = idg::rows_of_pass(gridder_.plan(), block, gridder_.layers(), setup_.n_threads,
                                   std::move(row_memory_));
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
    if (at->work.tables.n_tables == 0) return {};
    uploader_.hold(gridder_.stream());
    gridder_.grid(at->rows.view(), at->work, at->rows.data.data());
    at->done.record(gridder_.stream());
    uploader_.settle();
    return {at->work.tables.n_visibilities, at->work.tables.n_tables};
  }

  GridCounts grid_kept(const KeptVisibilities& kept, const KeptPiece& piece) override {
    const auto& there = dynamic_cast<const DeviceVisibilities&>(kept);
    const DeviceRows& all = there.rows(piece.part);
    check_kept(all, piece);
    if (piece.n_rows == 0) return {};
    select();
    DeviceBlock& at = *blocks_[next_block_];
    next_block_ ^= 1;
    at.done.wait();
    const Reading reading(uploader_);
    at.rows.copy_aterms(uploader_, piece.aterms);
    uploader_.hold(gridder_.cuts());
    const RowView rows =
        all.view().piece(piece.first_row, piece.n_rows, setup_.n_data_planes, at.rows.view());
    if (!gridder_.divide(rows, at.work))
      throw std::logic_error("gridder: the device refuses visibilities that were surveyed");
    if (at.work.tables.n_tables == 0) return {};
    uploader_.hold(gridder_.stream());
    gridder_.grid(rows, at.work, rows.data);
    at.done.record(gridder_.stream());
    return {at.work.tables.n_visibilities, at.work.tables.n_tables};
  }

  GridCounts count(const GridBlock& block) override {
    check_block(block, setup_);
    const Partition parts = partition(gridder_.plan(), block, {0, gridder_.plan().n_layers}, setup_.n_threads,
                                      {.folds_apart = folds_apart(setup_)});
    return {parts.n_visibilities, parts.tasks.size()};
  }

  void end_pass() override {
    select();
    gridder_.end_pass();
  }

  std::vector<std::byte> images_handle() override {
    select();
    return gridder_.grids().images_handle();
  }

  bool add_images(std::span<const std::byte> handle) override {
    select();
    return gridder_.grids().add_images(handle);
  }

  Buffer<double, 3> take_images() override {
    select();
    return gridder_.grids().take_images();
  }

 private:
  void select() const { cuda_check(cudaSetDevice(device_), "choosing the device"); }

  void check_kept(const DeviceRows& rows, const KeptPiece& piece) const {
    const AtermBlock& aterms = piece.aterms;
    const bool wanted = setup_.aterms != AtermMode::none;
    if (piece.first_row > rows.n_row || piece.n_rows > rows.n_row - piece.first_row ||
        wanted != (aterms.jones.size() > 0) ||
        (wanted && (aterms.row_slot.size() != piece.n_rows || aterms.chan_slot.size() != rows.n_chan ||
                    !rows.with_station || aterms.jones.extent(3) != gridder_.plan().settings.subgrid)))
      throw std::invalid_argument("gridder: no such rows are kept, or their A-terms are of other rows");
  }

  /// Cuts the block into tasks; meanwhile its values travel, unless they are on the device. What is to be
  /// kept for other layers has all rows.
  void prepare(DeviceBlock& to, const GridBlock& block, bool is_there, const ChosenRows& chosen) {
    to.work.layers = {};
    to.done.wait();
    std::future<void> values;
    if (!is_there) {
      if (chosen && chosen->empty()) {
        to.work.tables.n_tables = 0;
        return;
      }
      to.rows.copy_geometry(uploader_, block, gridder_.cuts(), chosen);
      values = std::async(std::launch::async, [&] {
        select();
        to.rows.copy_values(uploader_, block, chosen);
      });
    }
    if (!gridder_.divide(to.rows.view(), to.work)) {
      partition(gridder_.plan(), block, gridder_.layers(), setup_.n_threads);
      throw std::logic_error("gridder: the device refuses what the host does not");
    }
    if (values.valid()) values.get();
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
                              block.weight.size() * 4 + gridder_.sums_bytes(own.work);
    return free_bytes > total_bytes / 16 + bytes + bytes / 4;
  }

  int device_;
  IdgSetup setup_;
  BlockGridder<T> gridder_;
  Uploader uploader_;
  std::array<std::unique_ptr<DeviceBlock>, 2> blocks_{std::make_unique<DeviceBlock>(),
                                                      std::make_unique<DeviceBlock>()};
  std::map<std::uint64_t, std::unique_ptr<DeviceBlock>> kept_;  ///< [block id]
  std::vector<std::uint32_t> row_memory_;                       ///< for those that are chosen
  bool may_keep_ = true;                                        ///< until there is no room
  std::size_t next_block_ = 0;
};

}  // namespace

std::unique_ptr<Gridder> make_cuda_gridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup) {
  if (plan.settings.precision == Precision::single)
    return std::make_unique<CudaGridder<float>>(device, plan, setup);
  return std::make_unique<CudaGridder<double>>(device, plan, setup);
}

}  // namespace apsyn
