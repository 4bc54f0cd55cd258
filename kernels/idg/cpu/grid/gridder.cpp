// SPDX-License-Identifier: GPL-3.0-or-later
// The CPU gridder. Tasks are computed in chunks, one task per thread at a time; then the chunk is added to
// the grids. Results are identical for any number of threads.
#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/idg/cpu/grid/subgrid_maker.h"
#include "kernels/idg/cpu/layers/host_grids.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/idg_cuda.h"
#include "kernels/idg/partition/partition.h"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

template <class T>
class CpuGridder final : public Gridder {
 public:
  CpuGridder(const IdgPlan& plan, const IdgSetup& setup)
      : plan_(plan),
        setup_(setup),
        n_threads_(setup.n_threads),
        rules_{idg::kMaxVisibilities, folds_apart(setup), shares_cells(plan, setup)},
        tables_(plan, 0.4),
        grids_(plan, setup.n_planes(), setup.n_threads) {
    for (unsigned i = 0; i < setup.n_threads; ++i) makers_.emplace_back(tables_, setup);
    const std::size_t side = plan.settings.subgrid, n_planes = setup.n_planes();
    // Outputs outside of a pass's layers are neither made nor added.
    chunk_.resize_for_overwrite(
        {subgrids_per_chunk(plan, n_planes), n_planes, tables_.n_outputs(), side, side});
  }

  void begin_pass(const LayerRange& layers) override {
    if (layers.first + layers.n > plan_.n_layers) throw std::out_of_range("gridder: no such layer");
    grids_.begin_pass(layers);
  }

  GridCounts grid(const GridBlock& block) override {
    check_block(block, setup_);
    const std::size_t side = plan_.settings.subgrid;
    if (setup_.aterms != AtermMode::none &&
        (block.aterms.jones.extent(3) != side || block.aterms.jones.extent(4) != side))
      throw std::invalid_argument("gridder: the Jones matrices are not of the subgrid's pixels");
    const Partition parts = partition(plan_, block, grids_.layers(), n_threads_, rules_);
    const std::vector<std::span<const SubgridTask>> subgrids = subgrids_of(parts);
    std::vector<SubgridPlace> places;
    for (const auto& tasks : subgrids) places.push_back(place_of(plan_, tasks.front()));
    for (std::size_t first = 0; first < subgrids.size(); first += chunk_.extent(0)) {
      const std::size_t n = std::min(chunk_.extent(0), subgrids.size() - first);
      parallel_for(n_threads_, n, [&](std::size_t i, unsigned thread) {
        makers_[thread].make(block, parts, subgrids[first + i], grids_.layers().first, grids_.layers().n,
                             chunk_.view()[i]);
      });
      grids_.add({places.data() + first, n}, chunk_);
    }
    return {parts.n_visibilities, subgrids.size()};
  }

  GridCounts count(const GridBlock& block) override {
    check_block(block, setup_);
    const Partition parts = partition(plan_, block, {0, plan_.n_layers}, n_threads_, rules_);
    return {parts.n_visibilities, subgrids_of(parts).size()};
  }

  void end_pass() override { grids_.end_pass(); }
  Buffer<double, 3> take_images() override { return grids_.take_images(); }
  bool is_reusable() const override { return true; }
  void recycle(Buffer<double, 3> images) override { grids_.recycle(std::move(images)); }

 private:
  /// Not as the adjoint of the degridder, whose subgrids stand on the cells of their own visibilities: beams
  /// that a subgrid's pixels cannot carry err by as much, but otherwise, on other cells.
  static bool shares_cells(const IdgPlan& plan, const IdgSetup& setup) {
    return setup.aterms == AtermMode::normalised && plan.w_handling == WHandling::chebyshev;
  }
  /// The tasks of each subgrid: one, or those that share its cells.
  std::vector<std::span<const SubgridTask>> subgrids_of(const Partition& parts) const {
    std::vector<std::span<const SubgridTask>> subgrids;
    for (std::size_t first = 0; first < parts.tasks.size(); first += subgrids.back().size())
      subgrids.emplace_back(&parts.tasks[first], rules_.share_cells ? n_on_same_cells(parts, first) : 1);
    return subgrids;
  }

  IdgPlan plan_;
  IdgSetup setup_;
  unsigned n_threads_;
  JoinRules rules_;
  SubgridTables<T> tables_;
  HostGrids<T> grids_;
  std::vector<SubgridMaker<T>> makers_;  ///< one per thread
  Buffer<std::complex<T>, 5> chunk_;     ///< [task][plane][output][v][u]
};

}  // namespace

GridCounts Gridder::grid_kept(const KeptVisibilities&, const KeptPiece&) {
  throw std::logic_error("gridder: only a GPU's has visibilities that a GPU keeps");
}

std::unique_ptr<Gridder> make_gridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup) {
  if (device.kind == Device::Kind::cuda) return make_cuda_gridder(device, plan.with_whole_grids(), setup);
  const bool aterms = setup.aterms != AtermMode::none;
  if (aterms == setup.mix.empty() || setup.mix.size() > 4 || (aterms && setup.n_data_planes != 4))
    throw std::invalid_argument(
        "gridder: A-terms need four data planes and a mix of one to four image planes");
  if (plan.settings.precision == Precision::single) return std::make_unique<CpuGridder<float>>(plan, setup);
  return std::make_unique<CpuGridder<double>>(plan, setup);
}

}  // namespace apsyn
