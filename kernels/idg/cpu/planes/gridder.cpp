// SPDX-License-Identifier: GPL-3.0-or-later
// The gridder of planes.h. Places are sorted by tiles of cells, so that those that follow each other share
// cache lines; bands of rows are spread at the same time, every other one, so that no two threads add to a
// row: every cell is summed in an order that depends on the data alone.
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "kernels/idg/cpu/planes/block_places.h"
#include "kernels/idg/cpu/planes/images.h"
#include "kernels/idg/cpu/planes/spread_places.h"
#include "kernels/idg/idg_cuda.h"
#include "kernels/idg/partition/partition.h"
#include "kernels/idg/planes.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr unsigned tile_rows_log2 = 3, tile_columns_log2 = 4;
/// Cells of a vector: places that begin at the same one of them take the same number of vectors.
constexpr std::size_t alignments = 4;
/// A band has more rows than any spread kernel, so that what is spread in it ends in the next one.
constexpr std::size_t tile_rows = std::size_t{1} << tile_rows_log2, tiles_per_band = 4;

class PlanesGridder final : public Gridder {
 public:
  PlanesGridder(const PlanesPlan& plan, const IdgSetup& setup)
      : plan_(plan),
        setup_(setup),
        shape_(plan),
        taps_(plan.kernel),
        maker_(plan, setup),
        images_maker_(plan, setup.n_threads),
        scratch_(setup.n_threads) {
    n_tiles_u_ = (shape_.n_columns >> tile_columns_log2) + 1;
    n_tiles_v_ = (shape_.n_rows >> tile_rows_log2) + 1;
  }

  void begin_pass(const LayerRange& layers) override {
    grids_ = layers.n > 0 && layers.first == 0;
    if (images_.size() > 0) return;
    const std::size_t n_planes = setup_.n_planes();
    images_ = std::move(spare_images_);
    resize_by_threads(setup_.n_threads, {n_planes, plan_.image.n_y, plan_.image.n_x}, images_);
    if (cells_.size() > 0) return;
    resize_by_threads(setup_.n_threads, {n_planes, plan_.n_pairs(), shape_.n_rows, shape_.row_stride},
                      cells_);
    row_used_.assign(shape_.n_rows, 0);
    for (std::size_t p = 0; p < n_planes; ++p)
      planes_.push_back({&cells_(p, 0, 0, 0), shape_.row_stride, shape_.n_rows * shape_.row_stride});
  }

  GridCounts grid(const GridBlock& block) override {
    check_block(block, setup_);
    if (!grids_) return {};
    const std::uint64_t n_visibilities = maker_.start(block);
    while (maker_.make(places_)) {
      sort_by_tile();
      spread_bands(0);
      spread_bands(1);
    }
    return {n_visibilities, 0};
  }

  GridCounts count(const GridBlock& block) override {
    check_block(block, setup_);
    return {maker_.start(block), 0};
  }

  void end_pass() override {
    for (std::size_t p = 0; p < planes_.size() && grids_; ++p)
      images_maker_.make(planes_[p], row_used_, images_.view()[p]);
    std::fill(row_used_.begin(), row_used_.end(), 0);
    grids_ = false;
  }

  Buffer<double, 3> take_images() override {
    if (images_.size() == 0) images_.resize({setup_.n_planes(), plan_.image.n_y, plan_.image.n_x});
    return std::move(images_);
  }
  bool is_reusable() const override { return true; }
  void recycle(Buffer<double, 3> images) override { spare_images_ = std::move(images); }

 private:
  std::size_t tile_of(const Place& place) const {
    const std::size_t u = place.u();
    return ((place.v() >> tile_rows_log2) * n_tiles_u_ + (u >> tile_columns_log2)) * alignments +
           u % alignments;
  }

  /// order_: the places by their tiles and alignments, others in their order. tile_begin_: where each begins.
  void sort_by_tile() {
    tile_begin_.assign(n_tiles_u_ * n_tiles_v_ * alignments + 1, 0);
    order_.resize(places_.place.size());
    for (const Place& place : places_.place) ++tile_begin_[tile_of(place) + 1];
    std::partial_sum(tile_begin_.begin(), tile_begin_.end(), tile_begin_.begin());
    tile_next_.assign(tile_begin_.begin(), tile_begin_.end());
    for (std::size_t i = 0; i < order_.size(); ++i)
      order_[tile_next_[tile_of(places_.place[i])]++] = static_cast<std::uint32_t>(i);
  }

  /// Bands parity, parity + 2 ..
  void spread_bands(std::size_t parity) {
    const std::size_t n_bands = (n_tiles_v_ + tiles_per_band - 1) / tiles_per_band;
    parallel_for(setup_.n_threads, (n_bands + 1 - parity) / 2, [&](std::size_t item, unsigned thread) {
      const std::size_t first = (2 * item + parity) * tiles_per_band,
                        end = std::min(n_tiles_v_, first + tiles_per_band);
      for (std::size_t v = first; v < end; ++v) {
        const std::size_t in_row = n_tiles_u_ * alignments;
        const std::uint32_t begin = tile_begin_[v * in_row], last = tile_begin_[(v + 1) * in_row];
        if (begin == last) continue;
        const std::size_t row = v * tile_rows;
        std::fill(row_used_.begin() + static_cast<std::ptrdiff_t>(row),
                  row_used_.begin() + static_cast<std::ptrdiff_t>(
                                          std::min(shape_.n_rows, row + tile_rows + plan_.kernel.width())),
                  1);
        spread_places(taps_, places_, std::span(order_).subspan(begin, last - begin), planes_,
                      scratch_[thread]);
      }
    });
  }

  PlanesPlan plan_;
  IdgSetup setup_;
  PlaneCellsShape shape_;
  SpreadTaps<float> taps_;
  BlockPlaces maker_;
  PlaneImages images_maker_;
  bool grids_ = false;  ///< in this pass
  Places places_;
  std::size_t n_tiles_u_ = 0, n_tiles_v_ = 0;
  std::vector<std::uint32_t> order_, tile_begin_, tile_next_;
  std::vector<PlaceScratch> scratch_;        ///< one per thread
  Buffer<float, 4> cells_;                   ///< [plane][pair][v][u of TermCells]; zero between passes
  std::vector<TermCells> planes_;            ///< of cells_
  std::vector<std::uint8_t> row_used_;       ///< [v]
  Buffer<double, 3> images_, spare_images_;  ///< [plane][y][x]
};

}  // namespace

std::unique_ptr<Gridder> make_planes_gridder(const Device& device, const PlanesPlan& plan,
                                             const IdgSetup& setup) {
  if (setup.aterms != AtermMode::none || !setup.mix.empty())
    throw std::invalid_argument("planes: A-terms need subgrids");
  if (device.kind == Device::Kind::cuda) return make_cuda_planes_gridder(device, plan, setup);
  return std::make_unique<PlanesGridder>(plan, setup);
}

std::uint64_t planes_gridder_bytes(Device::Kind device, const PlanesPlan& plan, const IdgSetup& setup) {
  const PlaneCellsShape shape(plan);
  const std::uint64_t n_planes = setup.n_planes(), n_pixels = n_planes * plan.image.n_x * plan.image.n_y,
                      of_places = BlockPlaces::bytes(n_planes, setup.n_threads);
  // Twice in memory that is copied to a GPU, and images in that which is copied from there.
  if (device == Device::Kind::cuda) return 3 * of_places + n_pixels * (sizeof(double) + sizeof(float));
  return n_planes * plan.n_pairs() * shape.n_rows * shape.row_stride * sizeof(float) +
         n_pixels * sizeof(double) + PlaneImages::bytes(plan, setup.n_threads) + of_places;
}

}  // namespace apsyn
