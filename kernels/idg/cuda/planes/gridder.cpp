// SPDX-License-Identifier: GPL-3.0-or-later
// The gridder of planes.h on a GPU. The host makes places, as for its own gridder, and sorts them by tiles of
// cells; the GPU spreads, transforms and sums the terms, in a stream of each gridder's own: an image of a few
// hundred pixels does not fill a GPU, but those of several gridders at the same time do. Nothing waits for
// the GPU until the images are taken.
#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/common/cuda/fft.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/idg/cpu/grid/spread.h"
#include "kernels/idg/cpu/planes/block_places.h"
#include "kernels/idg/cpu/planes/images.h"
#include "kernels/idg/cuda/planes/kernels.cuh"
#include "kernels/idg/idg_cuda.h"
#include "kernels/idg/partition/partition.h"
#include "kernels/idg/planes.h"

namespace apsyn {
namespace {

using namespace idg_cuda;

static_assert(sizeof(DevicePlace) == sizeof(Place) && alignof(DevicePlace) == alignof(Place));

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
  }
  ~CudaPlanesGridder() override { cudaStreamSynchronize(stream_.get()); }

  void begin_pass(const LayerRange& layers) override {
    grids_ = layers.n > 0 && layers.first == 0;
    has_places_ = false;
  }

  GridCounts grid(const GridBlock& block) override {
    check_block(block, setup_);
    if (!grids_) return {};
    select(device_);
    const std::uint64_t n_visibilities = maker_.start(block);
    while (maker_.make(places_)) spread();
    return {n_visibilities, 0};
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
    cuda_check(cudaMemcpyAsync(host_image_.get(), image_.data(), image_.size() * sizeof(float),
                               cudaMemcpyDeviceToHost, stream_.get()),
               "copying images from the device");
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
    launch_spread({.cells = cells_,
                   .place = reinterpret_cast<const DevicePlace*>(there),
                   .value = reinterpret_cast<const float2*>(there + value_at),
                   .tile_begin = reinterpret_cast<const std::uint32_t*>(there + tiles_at),
                   .coefficients = coefficients_.data(),
                   .width = int(taps_.width),
                   .stride = int(taps_.stride),
                   .degree = int(taps_.degree),
                   .adds = has_places_},
                  stream_.get());
    slot.done.record(stream_.get());
    has_places_ = true;
  }

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
  Event made_;  ///< the images are in host_image_
  std::array<PlacesSlot, 2> slots_;
  std::size_t next_slot_ = 0;
  Places places_;
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
         2 * BlockPlaces::bytes(n_planes, setup.n_threads);
}

}  // namespace apsyn
