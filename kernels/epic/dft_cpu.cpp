// SPDX-License-Identifier: GPL-3.0-or-later
// `dft`: every antenna to every pixel (epic.h). A thread owns a few pixels of an image channel at a time
// through all spectra of a block; it makes their weights, which cost as much as half a spectrum, and keeps
// them in the second-level cache together with as many spectra as fit beside them. Weights of all pixels
// would take gigabytes.
#include <algorithm>
#include <stdexcept>

#include "kernels/epic/antenna_positions.h"
#include "kernels/epic/dft_tile.h"
#include "kernels/epic/factors.h"
#include "kernels/epic/sky_pixels.h"
#include "libcore/core/parallel.h"

namespace apsyn {

namespace {

constexpr std::size_t kItemPixels = 48;                    // of a work item
constexpr std::size_t kCacheBytes = std::size_t{1} << 19;  // of spectra beside their weights
constexpr std::size_t kTurnedBytes = std::size_t{1} << 26;

struct Scratch {
  Buffer<float, 2> weights;  // [pixel][ant, padded][re, im]
  Buffer<float, 3> sums;     // [pixel][value][lane]
};

class DftImager final : public DirectImager {
 public:
  explicit DftImager(EpicPlan plan);
  void start(const EpicGeometry& geometry) override;
  void add(const SpectraBlock& block) override;
  void take(EpicImages& images) override;

 private:
  std::size_t tile_spectra() const { return (3 - plan_.n_pol) * kDftLanes; }
  void turn_channel(const SpectraBlock& block, std::size_t row, float* to) const;
  void image(const SpectraBlock& block, std::size_t first_row, std::size_t row, std::size_t first_pixel,
             Scratch& scratch);

  EpicPlan plan_;
  EpicWeights weights_;
  EpicAutos autos_;
  EpicGeometry geometry_;
  SkyPixels pixels_;
  AntennaPositions positions_;
  Buffer<float, 3> turned_;       // [channel][tile][ant][row][re 16 | im 16]
  Buffer<double, 3> sums_;        // [image channel][pixel][value]
  std::vector<Scratch> scratch_;  // [thread]
};

EpicPlan checked(EpicPlan plan) {
  check_epic_plan(plan);
  return plan;
}

DftImager::DftImager(EpicPlan plan)
    : plan_(checked(std::move(plan))), weights_(plan_), autos_(plan_), scratch_(plan_.n_threads) {
  const std::size_t padded = (plan_.n_ant + kDftLanes - 1) / kDftLanes * kDftLanes;
  for (Scratch& scratch : scratch_) {
    scratch.weights.resize({kItemPixels, 2 * padded});
    scratch.sums.resize({kItemPixels, kDftValues, kDftLanes});
  }
}

void DftImager::start(const EpicGeometry& geometry) {
  check_epic_geometry(plan_, geometry);
  weights_.start();
  autos_.start();
  if (pixels_.size() == 0 || !same_geometry(geometry, geometry_)) {
    geometry_ = geometry;
    pixels_ = sky_pixels(plan_, geometry_);
    positions_ = AntennaPositions(geometry_, kDftLanes);
    sums_.resize_for_overwrite({plan_.n_image_channel(), pixels_.size(), kDftValues});
  }
  sums_.fill(0);
}

/// The block's spectra of a channel, times g, in tiles; the last tile is filled up with zeros.
void DftImager::turn_channel(const SpectraBlock& block, std::size_t row, float* to) const {
  const std::size_t channel = block.first_chan * plan_.n_fine + row, n_pol = plan_.n_pol;
  const std::size_t n_tile = turned_.extent(1), per_tile = tile_spectra();
  for (std::size_t ant = 0; ant < plan_.n_ant; ++ant)
    for (std::size_t pol = 0; pol < n_pol; ++pol) {
      const std::complex<float> g(epic_factor(plan_, ant, pol, channel));
      const std::size_t input = ant * n_pol + pol;
      const float* from = &block.planes(row, input / kPanelInputs, 0, input % kPanelInputs);
      for (std::size_t tile = 0; tile < n_tile; ++tile) {
        float* at = to + (tile * plan_.n_ant + ant) * kDftAntFloats + pol * 2 * kDftLanes;
        for (std::size_t i = 0; i < per_tile; ++i) {
          const std::size_t t = tile * per_tile + i;
          const bool inside = t < block.n_spectra;
          const float re = inside ? from[t * 2 * kPanelInputs] : 0;
          const float im = inside ? from[t * 2 * kPanelInputs + kPanelInputs] : 0;
          float* lane = at + i / kDftLanes * 2 * kDftLanes + i % kDftLanes;
          lane[0] = g.real() * re - g.imag() * im;
          lane[kDftLanes] = g.real() * im + g.imag() * re;
        }
      }
    }
}

void DftImager::image(const SpectraBlock& block, std::size_t first_row, std::size_t row,
                      std::size_t first_pixel, Scratch& scratch) {
  DftWeights weights = positions_.weights();
  weights.unit = &pixels_.unit(first_pixel, 0);
  weights.n_pixel = std::min(kItemPixels, pixels_.size() - first_pixel);
  weights.weights = scratch.weights.data();
  weights.weight_stride = scratch.weights.extent(1);
  DftProduct product;
  product.n_ant = plan_.n_ant;
  product.n_pol = plan_.n_pol;
  product.weights = weights.weights;
  product.weight_stride = weights.weight_stride;
  product.n_pixel = weights.n_pixel;
  product.sums = scratch.sums.data();
  const std::size_t tile_floats = plan_.n_ant * kDftAntFloats, n_tile = turned_.extent(1);
  const std::size_t together = std::max<std::size_t>(1, kCacheBytes / (tile_floats * sizeof(float)));
  const std::size_t image_channel = (block.first_chan * plan_.n_fine + row) / plan_.n_average;
  for (std::size_t i = 0; i < plan_.n_average; ++i) {
    weights.hz = plan_.channel_hz[block.first_chan * plan_.n_fine + row + i];
    turn_weights(weights);
    scratch.sums.fill(0);
    for (std::size_t tile = 0; tile < n_tile; tile += together) {
      product.spectra = &turned_(row - first_row + i, tile, 0);
      product.n_tile = std::min(together, n_tile - tile);
      image_tiles(product);
    }
    for (std::size_t pixel = 0; pixel < weights.n_pixel; ++pixel)
      for (std::size_t value = 0; value < kDftValues; ++value) {
        double sum = 0;
        for (std::size_t lane = 0; lane < kDftLanes; ++lane)
          sum += static_cast<double>(scratch.sums(pixel, value, lane));
        sums_(image_channel, first_pixel + pixel, value) += sum;
      }
  }
}

void DftImager::add(const SpectraBlock& block) {
  if (block.coded) throw std::logic_error("DirectImager: dft takes no codes");
  check_epic_block(plan_, block);
  weights_.add(block);
  if (!plan_.autos) autos_.add(block);
  const std::size_t n_row = block.n_chan * block.n_fine, n_average = plan_.n_average;
  const std::size_t n_tile = (block.n_spectra + tile_spectra() - 1) / tile_spectra();
  const std::size_t tile_floats = plan_.n_ant * kDftAntFloats;
  const std::size_t fitting = kTurnedBytes / (n_average * n_tile * tile_floats * sizeof(float));
  const std::size_t batch = n_average * std::clamp<std::size_t>(fitting, 1, n_row / n_average);
  const std::size_t n_piece = (pixels_.size() + kItemPixels - 1) / kItemPixels;
  for (std::size_t first = 0; first < n_row; first += batch) {
    const std::size_t n = std::min(batch, n_row - first);
    turned_.resize_for_overwrite({n, n_tile, tile_floats});
    parallel_for(plan_.n_threads, n, [&](std::size_t item, unsigned) {
      turn_channel(block, first + item, &turned_(item, 0, 0));
    });
    parallel_for(plan_.n_threads, n / n_average * n_piece, [&](std::size_t item, unsigned thread) {
      image(block, first, first + item / n_piece * n_average, item % n_piece * kItemPixels, scratch_[thread]);
    });
  }
}

void DftImager::take(EpicImages& images) {
  finish_images(plan_, weights_, pixels_, autos_.sums(), sums_, images);
}

}  // namespace

std::uint64_t dft_working_bytes(const EpicPlan& plan) {
  // spectra of one image channel at least, in blocks of a thousand
  const std::uint64_t channel = std::uint64_t{1024} * plan.n_ant * plan.n_pol * 2 * sizeof(float);
  const std::uint64_t weights = std::uint64_t{kItemPixels} * (plan.n_ant + kDftLanes) * 2 * sizeof(float);
  return std::max<std::uint64_t>(kTurnedBytes, channel * plan.n_average) + plan.n_threads * weights;
}

std::unique_ptr<DirectImager> make_dft_imager(EpicPlan plan) {
  return std::make_unique<DftImager>(std::move(plan));
}

}  // namespace apsyn
