// SPDX-License-Identifier: GPL-3.0-or-later
// The CPU gridder. Tasks are computed in chunks, one task per thread at a time; then the chunk is added to
// the grids by bands of grid rows, each band taking the tasks in their order. So every grid cell is summed in
// an order that depends on the data alone, and results are identical for any number of threads.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/idg/idg.h"
#include "kernels/idg/idg_cuda.h"
#include "kernels/idg/layer_transform.h"
#include "kernels/idg/partition.h"
#include "kernels/idg/subgrid_cpu.h"
#include "libcore/core/error.h"
#include "libcore/core/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t band_rows = 32;

std::size_t wrap(std::int64_t index, std::size_t n) {
  const auto size = static_cast<std::int64_t>(n);
  return static_cast<std::size_t>((index % size + size) % size);
}

template <class T>
class CpuGridder final : public Gridder {
 public:
  CpuGridder(const IdgPlan& plan, const IdgSetup& setup)
      : plan_(plan),
        setup_(setup),
        n_threads_(setup.n_threads),
        n_planes_(setup.n_planes()),
        forms_(plan, 0.2),
        n_outputs_(forms_.n_outputs()),
        transform_(plan, setup.n_threads),
        images_({n_planes_, plan.image.n_y, plan.image.n_x}) {
    for (unsigned i = 0; i < setup.n_threads; ++i) makers_.emplace_back(forms_, setup);
    const std::size_t side = plan.settings.subgrid;
    chunk_.resize({subgrids_per_chunk(plan, n_planes_), n_planes_, n_outputs_, side, side});
  }

  void begin_pass(std::size_t first_layer, std::size_t n_layers) override {
    if (first_layer + n_layers > plan_.n_layers) throw std::out_of_range("gridder: no such layer");
    first_layer_ = first_layer;
    n_layers_ = n_layers;
    grids_.resize({n_layers, n_planes_, plan_.n_v, plan_.n_u});
    row_used_.assign(n_layers, std::vector<std::uint8_t>(plan_.n_v, 0));
  }

  GridCounts grid(const GridBlock& block) override {
    check_block(block, setup_);
    const std::size_t side = plan_.settings.subgrid;
    if (setup_.aterms != AtermMode::none &&
        (block.aterms.jones.extent(3) != side || block.aterms.jones.extent(4) != side))
      throw std::invalid_argument("gridder: the Jones matrices are not of the subgrid's pixels");
    const Partition parts = partition(plan_, block, {first_layer_, n_layers_}, n_threads_);
    for (std::size_t first = 0; first < parts.tasks.size(); first += chunk_.extent(0)) {
      const std::size_t n = std::min(chunk_.extent(0), parts.tasks.size() - first);
      parallel_for(n_threads_, n, [&](std::size_t i, unsigned thread) {
        makers_[thread].make(block, parts, parts.tasks[first + i], first_layer_, n_layers_, chunk_.view()[i]);
      });
      add_chunk({parts.tasks.data() + first, n});
    }
    return {parts.n_visibilities, parts.tasks.size()};
  }

  GridCounts count(const GridBlock& block) override {
    check_block(block, setup_);
    const Partition parts = partition(plan_, block, {0, plan_.n_layers}, n_threads_);
    return {parts.n_visibilities, parts.tasks.size()};
  }

  void end_pass() override {
    for (std::size_t layer = 0; layer < n_layers_; ++layer) {
      const auto& used = row_used_[layer];
      if (std::find(used.begin(), used.end(), 1) == used.end()) continue;
      for (std::size_t plane = 0; plane < n_planes_; ++plane)
        transform_.add(View<const std::complex<T>, 2>(grids_.view()[layer][plane]), used,
                       plan_.layer_w_lambda(first_layer_ + layer), images_.view()[plane]);
    }
    n_layers_ = 0;
  }

  Buffer<double, 3> take_images() override {
    for (std::size_t plane = 0; plane < n_planes_; ++plane) transform_.correct(images_.view()[plane]);
    return std::move(images_);
  }

 private:
  void add_chunk(std::span<const SubgridTask> tasks) {
    const std::size_t n_bands = (plan_.n_v + band_rows - 1) / band_rows;
    parallel_for(n_threads_, n_bands, [&](std::size_t band, unsigned) {
      const std::size_t first = band * band_rows, last = std::min(plan_.n_v, first + band_rows);
      for (std::size_t i = 0; i < tasks.size(); ++i) add_task(tasks[i], i, first, last);
    });
  }

  /// Adds the rows of one task's subgrids that fall on the grid rows [first, last). The uv plane is periodic:
  /// at pixel centres exp(-2 pi i u l) does not change when u grows by 1 / cell.
  void add_task(const SubgridTask& task, std::size_t index, std::size_t first, std::size_t last) {
    const std::size_t side = plan_.settings.subgrid;
    const std::size_t start_v = wrap(task.centre_v - static_cast<std::int64_t>(side / 2), plan_.n_v);
    const std::size_t start_u = wrap(task.centre_u - static_cast<std::int64_t>(side / 2), plan_.n_u);
    for (std::size_t v = 0; v < side; ++v) {
      const std::size_t row = (start_v + v) % plan_.n_v;
      if (row < first || row >= last) continue;
      for (std::size_t output = 0; output < n_outputs_; ++output) {
        const std::size_t layer = task.layer + output;
        if (layer < first_layer_ || layer >= first_layer_ + n_layers_) continue;
        row_used_[layer - first_layer_][row] = 1;
        for (std::size_t plane = 0; plane < n_planes_; ++plane)
          add_row(&chunk_(index, plane, output, v, 0), &grids_(layer - first_layer_, plane, row, 0), start_u);
      }
    }
  }

  void add_row(const std::complex<T>* cells, std::complex<T>* row, std::size_t start) const {
    const std::size_t side = plan_.settings.subgrid, first_part = std::min(side, plan_.n_u - start);
    for (std::size_t u = 0; u < first_part; ++u) row[start + u] += cells[u];
    for (std::size_t u = first_part; u < side; ++u) row[u - first_part] += cells[u];
  }

  IdgPlan plan_;
  IdgSetup setup_;
  unsigned n_threads_;
  std::size_t n_planes_;
  SubgridForms<T> forms_;
  std::size_t n_outputs_;
  LayerTransform transform_;
  std::vector<SubgridMaker<T>> makers_;              ///< one per thread
  Buffer<std::complex<T>, 5> chunk_;                 ///< [task][plane][output][v][u]
  Buffer<std::complex<T>, 4> grids_;                 ///< [layer][plane][v][u], cell k at index k mod n
  std::vector<std::vector<std::uint8_t>> row_used_;  ///< [layer][v]
  Buffer<double, 3> images_;                         ///< [plane][y][x]
  std::size_t first_layer_ = 0, n_layers_ = 0;
};

}  // namespace

std::size_t layers_on_device(const Device& device, const IdgPlan& plan, std::size_t n_planes) {
  return device.kind == Device::Kind::cuda ? cuda_gridder_layers(device, plan, n_planes) : plan.n_layers;
}

std::unique_ptr<Gridder> make_gridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup) {
  if (device.kind == Device::Kind::cuda) return make_cuda_gridder(device, plan, setup);
  const bool aterms = setup.aterms != AtermMode::none;
  if (aterms == setup.mix.empty() || setup.mix.size() > 4 || (aterms && setup.n_data_planes != 4))
    throw std::invalid_argument(
        "gridder: A-terms need four data planes and a mix of one to four image planes");
  if (plan.settings.precision == Precision::single) return std::make_unique<CpuGridder<float>>(plan, setup);
  return std::make_unique<CpuGridder<double>>(plan, setup);
}

}  // namespace apsyn
