// SPDX-License-Identifier: GPL-3.0-or-later
// `dft`: every antenna to every pixel (epic.h). A thread owns a few pixels of an image channel at a time
// through all spectra of a block; it makes their weights, which cost as much as half a spectrum, and keeps
// them in the second-level cache together with as many spectra as fit beside them. Weights of all pixels
// would take gigabytes.
#include <algorithm>
#include <stdexcept>

#include "kernels/common/spectra/multiply_codes.h"
#include "kernels/epic/dft/cpu/engine.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

constexpr std::size_t kTurnedBytes = std::size_t{1} << 26;  // of the channels that are imaged together

EpicPlan checked(EpicPlan plan) {
  check_epic_plan(plan);
  return plan;
}

class DftImager final : public DirectImager {
 public:
  explicit DftImager(EpicPlan plan)
      : plan_(checked(std::move(plan))),
        weights_(plan_),
        autos_(plan_),
        apertures_(plan_, !plan_.autos),
        takes_codes_(dft_takes_codes(plan_)),
        floats_(make_dft_float_engine(plan_, apertures_)),
        integers_(make_dft_code_engine(plan_)) {}

  bool takes_codes() const override { return takes_codes_; }
  void start(const EpicGeometry& geometry) override;
  void add(const SpectraBlock& block) override;
  void take(EpicImages& images) override {
    apertures_.add_autos(-1, sums_);
    finish_images(plan_, weights_, pixels_, autos_.sums(), sums_, images);
    apertures_.scale(weights_, pixels_, images);
  }

 private:
  EpicPlan plan_;
  EpicWeights weights_;
  EpicAutos autos_;  // without apertures
  ApertureWeights apertures_;
  bool takes_codes_;
  std::unique_ptr<DftEngine> floats_, integers_;
  EpicGeometry geometry_;
  SkyPixels pixels_;
  AntennaPositions positions_;
  Buffer<double, 3> sums_;  // [image channel][pixel][value]
};

void DftImager::start(const EpicGeometry& geometry) {
  check_epic_geometry(plan_, geometry);
  weights_.start();
  autos_.start();
  apertures_.start();
  if (pixels_.size() == 0 || !same_geometry(geometry, geometry_)) {
    geometry_ = geometry;
    pixels_ = sky_pixels(plan_, geometry_);
    positions_ = AntennaPositions(geometry_, kDftLanes);
    sums_.resize_for_overwrite({plan_.n_image_channel(), pixels_.size(), kDftValues});
    apertures_.look(pixels_);
  }
  sums_.fill(0);
}

void DftImager::add(const SpectraBlock& block) {
  check_epic_block(plan_, block);
  if (block.coded && !takes_codes_) throw std::logic_error("DirectImager: this plan takes no codes");
  weights_.add(block);
  apertures_.add(block);
  if (!plan_.autos && !block.coded && !apertures_.any()) autos_.add(block);
  DftEngine& engine = block.coded ? *integers_ : *floats_;
  const std::size_t n_row = block.n_chan * block.n_fine, n_average = plan_.n_average;
  const std::size_t n_tile = (block.n_spectra + dft_tile_spectra(plan_) - 1) / dft_tile_spectra(plan_);
  const std::size_t fitting = kTurnedBytes / (n_average * n_tile * engine.tile_bytes());
  const std::size_t batch = n_average * std::clamp<std::size_t>(fitting, 1, n_row / n_average);
  const std::size_t item_pixels = dft_item_pixels(plan_);
  const std::size_t n_piece = (pixels_.size() + item_pixels - 1) / item_pixels;
  engine.reserve(std::min(batch, n_row), n_tile);
  for (std::size_t first = 0; first < n_row; first += batch) {
    const std::size_t n = std::min(batch, n_row - first);
    parallel_for(plan_.n_threads, n,
                 [&](std::size_t slot, unsigned) { engine.turn(block, first + slot, slot); });
    parallel_for(plan_.n_threads, n / n_average * n_piece, [&](std::size_t index, unsigned thread) {
      DftItem item;
      item.thread = thread;
      item.first_pixel = index % n_piece * item_pixels;
      item.n_pixel = std::min(item_pixels, pixels_.size() - item.first_pixel);
      for (std::size_t i = 0; i < n_average; ++i) {
        item.slot = index / n_piece * n_average + i;
        item.channel = block.first_chan * plan_.n_fine + first + item.slot;
        item.sums = &sums_(item.channel / n_average, item.first_pixel, 0);
        engine.image(item, pixels_, positions_);
      }
    });
  }
}

}  // namespace

std::uint64_t dft_working_bytes(const EpicPlan& plan) {
  // spectra of one image channel at least, in blocks of a thousand
  const std::uint64_t number = plan.float64 ? sizeof(double) : sizeof(float);
  const std::uint64_t channel = std::uint64_t{1024} * plan.n_ant * plan.n_pol * 2 * number;
  const std::uint64_t weights = std::uint64_t{dft_item_pixels(plan)} * (plan.n_ant + kDftLanes) * 6 * number;
  // those of all channels take no more, in blocks of half as many as the pipeline makes
  const bool codes = plan.n_fine == 1 && multiplies_codes() && dft_takes_codes(plan);
  const std::uint64_t most =
      std::min<std::uint64_t>(kTurnedBytes, channel / (codes ? 8 : 2) * plan.n_channel());
  return std::max<std::uint64_t>(most, channel * plan.n_average) + plan.n_threads * weights;
}

std::unique_ptr<DirectImager> make_dft_imager(EpicPlan plan) {
  return std::make_unique<DftImager>(std::move(plan));
}

}  // namespace apsyn
