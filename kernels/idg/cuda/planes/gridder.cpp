// SPDX-License-Identifier: GPL-3.0-or-later
// The gridder of planes.h on a GPU. Of visibilities that the device keeps it makes places itself; of others
// the host makes them, as for its own gridder, and sorts them by tiles of cells. The GPU spreads, transforms
// and sums the terms, in a stream of each gridder's own: an image of a few hundred pixels does not fill a
// GPU, but those of several gridders at the same time do. Nothing waits for the GPU until the images are
// taken.
#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/common/cuda/fft.h"
#include "kernels/common/cuda/sort.cuh"
#include "kernels/common/cuda/transfer.h"
#include "kernels/idg/cpu/grid/spread.h"
#include "kernels/idg/cpu/planes/block_places.h"
#include "kernels/idg/cpu/planes/images.h"
#include "kernels/idg/cuda/kept/visibilities.h"
#include "kernels/idg/cuda/planes/kernels.cuh"
#include "kernels/idg/idg_cuda.h"
#include "kernels/idg/partition/partition.h"
#include "kernels/idg/partition/sub_table.h"
#include "kernels/idg/planes.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

using namespace idg_cuda;

static_assert(sizeof(DevicePlace) == sizeof(Place) && alignof(DevicePlace) == alignof(Place));

/// Visibilities that the device keeps and that are spread at a time.
constexpr std::size_t kept_at_once = std::size_t{1} << 20;

/// Bytes of a place's keys and order, each twice, and of what sorting takes.
constexpr std::uint64_t sort_bytes = 32;

std::size_t n_tiles(std::size_t n_cells) {
  return (n_cells + tile_side - 1) / tile_side;
}

PlaneCells cells_of(const PlanesPlan& plan, std::size_t n_planes) {
  const PlaneCellsShape shape(plan);
  return {.data = nullptr,
          .n_planes = int(n_planes),
          .n_pairs = int(plan.n_pairs()),
          .n_tiles_u = int(n_tiles(shape.n_columns)),
          .n_tiles_v = int(n_tiles(shape.n_rows)),
          .n_u = int(plan.n_u),
          .n_v = int(plan.n_v),
          .origin = int(shape.origin)};
}

std::size_t n_stored(const PlaneCells& cells) {
  return std::size_t(cells.n_planes) * std::size_t(cells.n_pairs) * std::size_t(cells.n_tiles_u) *
         std::size_t(cells.n_tiles_v) * tile_side * tile_side;
}

/// Places on their way to the GPU: first the places, then their values, then where the tiles begin.
struct PlacesSlot {
  std::unique_ptr<std::byte[], FreePinned> host;
  std::size_t host_bytes = 0;
  Upload<std::byte> device;
  Event done;  ///< the stream no longer reads it

  std::byte* reserve(std::size_t bytes) {
    if (bytes > host_bytes) {
      host.reset();
      host_bytes = bytes + bytes / 4;
      host = pinned<std::byte>(host_bytes);
    }
    return host.get();
  }
};

class CudaPlanesGridder final : public Gridder {
 public:
  CudaPlanesGridder(const Device& device, const PlanesPlan& plan, const IdgSetup& setup)
      : device_(select(device.index)),
        plan_(plan),
        setup_(setup),
        maker_(plan, setup),
        taps_(plan.kernel),
        cells_(cells_of(plan, setup.n_planes())),
        fft_(cells_.n_v, cells_.n_u, cells_.n_planes * cells_.n_pairs, CUFFT_C2C) {
    coefficients_ = uploaded(taps_.coefficients);
    const PlaneScreens screens(plan);
    const std::size_t n_x = plan.image.n_x / 2 + 1, n_y = plan.image.n_y;
    std::vector<float> screen(2 * plan.n_pairs() * n_y * n_x);
    for (std::size_t term = 0; term < 2 * plan.n_pairs(); ++term)
      for (std::size_t x = 0; x < n_x; ++x) {
        const float* from = term % 2 == 0 ? screens.even(term / 2, x) : screens.odd(term / 2, x);
        for (std::size_t y = 0; y < n_y; ++y) screen[(term * n_y + y) * n_x + x] = from[y];
      }
    screen_ = uploaded(screen);
    cell_values_ = DeviceArray<float4>(n_stored(cells_));
    cells_.data = cell_values_.data();
    uv_ = DeviceArray<float2>(std::size_t(cells_.n_planes) * plan.n_pairs() * plan.n_v * plan.n_u);
    const std::size_t n_pixels = setup.n_planes() * n_y * plan.image.n_x;
    image_ = DeviceArray<float>(n_pixels);
    host_image_ = pinned<float>(n_pixels);
    fft_.use(stream_.get());
    fetched_[0] = {};
  }
  ~CudaPlanesGridder() override { cudaStreamSynchronize(stream_.get()); }

  void begin_pass(const LayerRange& layers) override {
    grids_ = layers.n > 0 && layers.first == 0;
    has_places_ = false;
    select(device_);
    for (const auto& [memory, bytes] : {std::pair<void*, std::size_t>{refused_.data(), sizeof(int)},
                                        {weight_sums_.data(), sizeof(Fetched::weight_sums)}})
      cuda_check(cudaMemsetAsync(memory, 0, bytes, stream_.get()), "beginning an image");
  }

  GridCounts grid(const GridBlock& block) override {
    check_block(block, setup_);
    if (!grids_) return {};
    select(device_);
    const std::uint64_t n_visibilities = maker_.start(block);
    while (maker_.make(places_)) spread();
    return {n_visibilities, 0};
  }

  GridCounts grid_kept(const KeptVisibilities& kept, const KeptPiece& piece) override {
    const DeviceRows& rows = dynamic_cast<const DeviceVisibilities&>(kept).rows(piece.part);
    const std::size_t first_row = piece.first_row, n_rows = piece.n_rows;
    if (first_row > rows.n_row || n_rows > rows.n_row - first_row || !rows.with_weight ||
        piece.aterms.jones.size() > 0)
      throw std::invalid_argument("planes: no such rows are kept, or they have A-terms");
    if (!grids_ || n_rows == 0) return {};
    select(device_);
    launch_sum_weights(rows.weight.data() + first_row * rows.n_chan * rows.weight_planes,
                       n_rows * rows.n_chan, int(rows.weight_planes), weight_sums_.data(), stream_.get());
    n_weight_planes_ = rows.weight_planes;
    const std::size_t at_once = std::max<std::size_t>(1, kept_at_once / rows.n_chan);
    for (std::size_t first = first_row; first < first_row + n_rows; first += at_once)
      spread_kept(rows, first, std::min(at_once, first_row + n_rows - first));
    return {n_rows * rows.n_chan, 0};
  }

  std::vector<double> kept_weight_sums() const override {
    std::vector<double> sums(setup_.n_data_planes);
    for (std::size_t p = 0; p < sums.size(); ++p) {
      const double* parts = fetched_[0].weight_sums + (n_weight_planes_ == 1 ? 0 : p) * weight_sum_parts;
      for (int i = 0; i < weight_sum_parts; ++i) sums[p] += parts[i];
    }
    return sums;
  }

  GridCounts count(const GridBlock& block) override {
    check_block(block, setup_);
    return {maker_.start(block), 0};
  }

  void end_pass() override {
    if (!grids_) return;
    grids_ = false;
    select(device_);
    if (!has_places_) {
      places_.place.clear();
      places_.value.clear();
      spread();
    }
    const ImageGeometry& image = plan_.image;
    launch_fold(cells_, uv_.data(), stream_.get());
    fft_.execute(uv_.data(), CUFFT_FORWARD);
    launch_pixels({.transform = uv_.data(),
                   .screen = screen_.data(),
                   .image = image_.data(),
                   .n_planes = cells_.n_planes,
                   .n_pairs = cells_.n_pairs,
                   .n_u = cells_.n_u,
                   .n_v = cells_.n_v,
                   .n_x = int(image.n_x),
                   .n_y = int(image.n_y)},
                  stream_.get());
    const auto fetch = [&](void* to, const void* from, std::size_t bytes) {
      cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_.get()),
                 "copying images from the device");
    };
    fetch(host_image_.get(), image_.data(), image_.size() * sizeof(float));
    fetch(fetched_[0].weight_sums, weight_sums_.data(), sizeof(Fetched::weight_sums));
    fetch(&fetched_[0].refused, refused_.data(), sizeof(int));
    made_.record(stream_.get());
    has_images_ = true;
  }

  Buffer<double, 3> take_images() override {
    Buffer<double, 3> images = std::move(spare_images_);
    images.resize_for_overwrite({setup_.n_planes(), plan_.image.n_y, plan_.image.n_x});
    if (!std::exchange(has_images_, false)) {
      images.fill(0);
      return images;
    }
    select(device_);
    made_.wait();
    if (fetched_[0].refused != 0)
      throw DataError(
          "uvw: a coordinate is not a number, or no coordinate of this field: check UVW of the rows with "
          "data");
    std::transform(host_image_.get(), host_image_.get() + images.size(), images.data(),
                   [](float pixel) { return static_cast<double>(pixel); });
    return images;
  }
  bool is_reusable() const override { return true; }
  void recycle(Buffer<double, 3> images) override { spare_images_ = std::move(images); }

 private:
  static int select(int device) {
    cuda_check(cudaSetDevice(device), "choosing the device");
    return device;
  }

  std::size_t tile_of(const Place& place) const {
    return (place.v() >> tile_side_log2) * std::size_t(cells_.n_tiles_u) + (place.u() >> tile_side_log2);
  }

  /// Sends places_ by their tiles, those of a tile in their order, and has them added to the cells.
  void spread() {
    const std::size_t n = places_.place.size(), n_planes = setup_.n_planes(),
                      all_tiles = std::size_t(cells_.n_tiles_u) * std::size_t(cells_.n_tiles_v);
    const std::size_t value_at = n * sizeof(Place), tiles_at = value_at + n * n_planes * sizeof(float2),
                      bytes = tiles_at + (all_tiles + 1) * sizeof(std::uint32_t);
    PlacesSlot& slot = slots_[next_slot_];
    next_slot_ ^= 1;
    slot.done.wait();
    std::byte* host = slot.reserve(bytes);
    auto* place = reinterpret_cast<Place*>(host);
    auto* value = reinterpret_cast<std::complex<float>*>(host + value_at);
    auto* tile_begin = reinterpret_cast<std::uint32_t*>(host + tiles_at);
    // Behind tile i the count of tile i + 1, then where it begins, and at last where it ends.
    std::fill_n(tile_begin, all_tiles + 1, 0);
    tile_next_.assign(all_tiles, 0);
    for (const Place& each : places_.place) ++tile_begin[tile_of(each) + 1];
    for (std::size_t tile = 0; tile < all_tiles; ++tile) {
      tile_begin[tile + 1] += tile_begin[tile];
      tile_next_[tile] = tile_begin[tile];
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t to = tile_next_[tile_of(places_.place[i])]++;
      place[to] = places_.place[i];
      for (std::size_t p = 0; p < n_planes; ++p) value[to * n_planes + p] = places_.value[i * n_planes + p];
    }
    const std::byte* there = slot.device.copy(host, bytes, stream_.get());
    launch_spread(spread_task(reinterpret_cast<const DevicePlace*>(there),
                              reinterpret_cast<const float2*>(there + value_at), nullptr,
                              reinterpret_cast<const std::uint32_t*>(there + tiles_at)),
                  stream_.get());
    slot.done.record(stream_.get());
    has_places_ = true;
  }

  /// Has rows that the device keeps added to the cells.
  void spread_kept(const DeviceRows& rows, std::size_t first, std::size_t n_rows) {
    const std::size_t n_chan = rows.n_chan, n = n_rows * n_chan, n_planes = setup_.n_planes();
    const auto all_tiles = static_cast<std::uint32_t>(cells_.n_tiles_u * cells_.n_tiles_v);
    const PlaceFrame frame = frame_of(plan_);
    LocateTask locate{.uvw_m = rows.uvw.data() + 3 * first,
                      .path_m = rows.with_path ? rows.path.data() + first : nullptr,
                      .wavenumber = rows.wavenumber.data(),
                      .data = rows.data.data() + first * n_chan * setup_.n_data_planes,
                      .weight = rows.weight.data() + first * n_chan * rows.weight_planes,
                      .n_rows = static_cast<std::uint32_t>(n_rows),
                      .n_chan = static_cast<std::uint32_t>(n_chan),
                      .n_data_planes = int(setup_.n_data_planes),
                      .n_weight_planes = int(rows.weight_planes),
                      .n_planes = int(n_planes),
                      .scale_u = frame.scale_u,
                      .scale_v = frame.scale_v,
                      .n_u = frame.n_u,
                      .n_v = frame.n_v,
                      .origin_u = frame.origin_u,
                      .origin_v = frame.origin_v,
                      .half_width = frame.half_width,
                      .w_scale = frame.w_scale,
                      .turns_of_w = frame.turns_of_w,
                      .max_t = {},
                      .max_w_lambda = plan_.max_w_lambda,
                      .farthest_cells = idg::kFarthestCells,
                      .n_tiles_u = cells_.n_tiles_u,
                      .n_tiles_v = cells_.n_tiles_v,
                      .place = kept_places_.reserve(n),
                      .value = kept_values_.reserve(n * n_planes),
                      .key = sort_.keys(static_cast<std::uint32_t>(n)),
                      .refused = refused_.data()};
    static_assert(sizeof locate.max_t == sizeof frame.max_t);
    std::copy(std::begin(frame.max_t), std::end(frame.max_t), locate.max_t);
    launch_locate(locate, stream_.get());
    sort_.begin(static_cast<std::uint32_t>(n));
    sort_.by_keys(static_cast<std::uint32_t>(n), bits_of(all_tiles));
    std::uint32_t* tile_begin = kept_tiles_.reserve(all_tiles + 1);
    launch_tile_begins(sort_.sorted_keys(), static_cast<std::uint32_t>(n), all_tiles, tile_begin,
                       stream_.get());
    launch_spread(spread_task(locate.place, locate.value, sort_.order(), tile_begin), stream_.get());
    has_places_ = true;
  }

  SpreadTask spread_task(const DevicePlace* place, const float2* value, const std::uint32_t* order,
                         const std::uint32_t* tile_begin) const {
    return {.cells = cells_,
            .place = place,
            .value = value,
            .order = order,
            .tile_begin = tile_begin,
            .coefficients = coefficients_.data(),
            .width = int(taps_.width),
            .stride = int(taps_.stride),
            .degree = int(taps_.degree),
            .adds = has_places_};
  }

  /// What comes from the device beside the images.
  struct Fetched {
    double weight_sums[4 * weight_sum_parts];  ///< [weight plane][part]
    int refused;
  };

  int device_;
  PlanesPlan plan_;
  IdgSetup setup_;
  BlockPlaces maker_;
  SpreadTaps<float> taps_;
  PlaneCells cells_;
  CopyStream stream_;
  CudaFft2d fft_;
  DeviceArray<float> coefficients_, screen_, image_;
  DeviceArray<float4> cell_values_;
  DeviceArray<float2> uv_;
  std::unique_ptr<float[], FreePinned> host_image_;
  DeviceArray<double> weight_sums_{4 * weight_sum_parts};
  DeviceArray<int> refused_{1};
  std::unique_ptr<Fetched[], FreePinned> fetched_ = pinned<Fetched>(1);
  std::size_t n_weight_planes_ = 1;
  Event made_;  ///< the images are in host_image_
  std::array<PlacesSlot, 2> slots_;
  std::size_t next_slot_ = 0;
  Places places_;
  // Of rows that the device keeps.
  Upload<DevicePlace> kept_places_;
  Upload<float2> kept_values_;
  Upload<std::uint32_t> kept_tiles_;
  DeviceSort sort_{stream_.get()};
  std::vector<std::uint32_t> tile_next_;
  bool grids_ = false;       ///< in this pass
  bool has_places_ = false;  ///< cells are those of this pass
  bool has_images_ = false;
  Buffer<double, 3> spare_images_;  ///< [plane][y][x]
};

}  // namespace

std::unique_ptr<Gridder> make_cuda_planes_gridder(const Device& device, const PlanesPlan& plan,
                                                  const IdgSetup& setup) {
  return std::make_unique<CudaPlanesGridder>(device, plan, setup);
}

std::uint64_t planes_device_bytes(const PlanesPlan& plan, const IdgSetup& setup) {
  const PlaneCells cells = cells_of(plan, setup.n_planes());
  const std::uint64_t n_planes = setup.n_planes(), n_uv = n_planes * plan.n_pairs() * plan.n_u * plan.n_v,
                      n_pixels = plan.image.n_x * plan.image.n_y;
  // The transform has as much of its own.
  return n_stored(cells) * sizeof(float4) + 2 * n_uv * sizeof(float2) +
         (n_planes + plan.n_pairs() + 1) * n_pixels * sizeof(float) +
         std::max<std::uint64_t>(
             2 * BlockPlaces::bytes(n_planes, setup.n_threads),
             kept_at_once * (sizeof(DevicePlace) + n_planes * sizeof(float2) + sort_bytes));
}

}  // namespace apsyn
