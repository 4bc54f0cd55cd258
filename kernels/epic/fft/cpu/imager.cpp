// SPDX-License-Identifier: GPL-3.0-or-later
// The `fft` method (MOFF: grid, transform, multiply, accumulate). Sums of up to kChunk spectra are float32,
// their sums float64. Work is cut into image channels and, when there are few, turns of chunks of spectra: as
// many for every number of threads, so that results are the same.
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "kernels/epic/aperture.h"
#include "kernels/epic/fft/cpu/off_grid_pairs.h"
#include "kernels/epic/fft/setup.h"
#include "kernels/epic/weights.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t kChunk = 128;
constexpr std::size_t kItems = 8;  ///< least pieces of work, for threads to share

std::size_t turns_of(const EpicPlan& plan) {
  return std::max<std::size_t>(1, kItems / plan.n_image_channel());
}

class FftImager final : public DirectImager {
 public:
  explicit FftImager(EpicPlan plan)
      : plan_(std::move(plan)),
        n_value_(fft_values(plan_)),
        n_turn_(turns_of(plan_)),
        weights_(plan_),
        apertures_(plan_, false),
        off_grid_(plan_, n_turn_),
        scratch_(plan_.n_threads),
        chunk_sums_(plan_.n_threads) {}

  void start(const EpicGeometry& geometry) override;
  void add(const SpectraBlock& block) override;
  void take(EpicImages& images) override;

 private:
  void add_channel(const SpectraBlock& block, std::size_t channel, std::size_t turn, unsigned thread);
  Buffer<double, 2> powers() const;

  EpicPlan plan_;
  std::size_t n_value_, n_turn_;
  EpicGeometry planned_for_, geometry_;
  std::optional<FftGridded> gridded_;
  Buffer<std::complex<float>, 2> factor_;  // [channel][ant * n_pol + pol]
  Buffer<double, 3> sums_;                 // [image channel][turn][column][row][value], the last three as one
  Buffer<double, 3> powers_;               // [channel][turn][ant][value], the last two as one
  EpicWeights weights_;
  ApertureWeights apertures_;
  OffGridPairs off_grid_;
  SkyPixels sky_;  // of apertures and of antennas off the grid
  std::size_t next_chunk_ = 0;
  std::vector<LaneScratch> scratch_;
  std::vector<Buffer<float, 1>> chunk_sums_;
};

void FftImager::start(const EpicGeometry& geometry) {
  if (geometry.enu_m.size() != plan_.n_ant || geometry.delay_s.size() != plan_.n_ant)
    throw std::logic_error("DirectImager: one position and delay for each antenna");
  if (!gridded_ || !serves(gridded_->grid, plan_, planned_for_, geometry)) {
    check_apertures(plan_, geometry);
    gridded_.emplace(plan_, geometry);
    planned_for_ = geometry;
    factor_ = {};
  } else if (geometry.axes != geometry_.axes) {
    gridded_->finish.aim(plan_, geometry);
  }
  const bool same_delays = geometry.delay_s == geometry_.delay_s;
  geometry_ = geometry;
  if (!same_delays || factor_.size() == 0) factor_ = fft_factors(plan_, geometry_, gridded_->grid);
  const LanePixels& pixels = gridded_->finish.pixels();
  sums_.resize({plan_.n_image_channel(), n_turn_, pixels.columns.size() * pixels.n_row() * n_value_});
  powers_.resize({plan_.n_channel(), n_turn_, plan_.autos ? 0 : plan_.n_ant * n_value_});
  weights_.start();
  apertures_.start();
  off_grid_.start(geometry_);
  if (apertures_.any() || off_grid_.any()) sky_ = sky_pixels(plan_, geometry_);
  apertures_.look(sky_);
  next_chunk_ = 0;
}

void FftImager::add_channel(const SpectraBlock& block, std::size_t channel, std::size_t turn,
                            unsigned thread) {
  const FftGridded& gridded = *gridded_;
  const std::size_t here = channel - block.first_chan * plan_.n_fine;
  LaneSpectra spectra;
  spectra.panel_stride = block.planes.extent(2) * block.planes.extent(3);
  spectra.n_ant = plan_.n_ant;
  spectra.n_pol = plan_.n_pol;
  spectra.first_pol = fft_first_pol(plan_);
  spectra.n_value = n_value_;
  spectra.factor = &factor_(channel, 0);
  Buffer<float, 1>& chunk = chunk_sums_[thread];
  double* sums = &sums_(channel / plan_.n_average, turn, 0);
  double* powers = plan_.autos ? nullptr : &powers_(channel, turn, 0);
  const std::size_t n_chunk = (block.n_spectra + kChunk - 1) / kChunk;
  for (std::size_t i = 0; i < n_chunk; ++i) {
    if ((next_chunk_ + i) % n_turn_ != turn) continue;
    chunk.resize({sums_.extent(2)});
    spectra.planes = &block.planes(here, 0, i * kChunk, 0);
    spectra.n_spectra = std::min(kChunk, block.n_spectra - i * kChunk);
    add_lane_spectra(spectra, gridded.lists[channel], gridded.fft_x, gridded.fft_y, gridded.finish.pixels(),
                     scratch_[thread], chunk.data(), powers);
    for (std::size_t k = 0; k < chunk.size(); ++k) sums[k] += chunk(k);
    off_grid_.add(spectra, channel, turn);
  }
}

void FftImager::add(const SpectraBlock& block) {
  const std::size_t first = block.first_chan * plan_.n_fine, n_channel = block.n_chan * block.n_fine;
  if (!gridded_ || block.coded || block.n_fine != plan_.n_fine ||
      block.first_chan + block.n_chan > plan_.n_chan || first % plan_.n_average != 0 ||
      n_channel % plan_.n_average != 0 || block.planes.extent(1) != panel_count(plan_.n_ant * plan_.n_pol) ||
      block.planes.extent(0) < n_channel || block.planes.extent(2) < block.n_spectra)
    throw std::logic_error("DirectImager: spectra of another shape than planned");
  weights_.add(block);
  apertures_.add(block);
  const std::size_t n_image = n_channel / plan_.n_average;
  parallel_for(plan_.n_threads, n_image * n_turn_, [&](std::size_t item, unsigned thread) {
    const std::size_t channel = first + item / n_turn_ * plan_.n_average;
    for (std::size_t i = 0; i < plan_.n_average; ++i) add_channel(block, channel + i, item % n_turn_, thread);
  });
  // the last batch of channels ends the block of spectra
  if (block.first_chan + block.n_chan == plan_.n_chan) next_chunk_ += (block.n_spectra + kChunk - 1) / kChunk;
}

/// [channel][ant * n_value + value], of all turns.
Buffer<double, 2> FftImager::powers() const {
  Buffer<double, 2> sums({powers_.extent(0), powers_.extent(2)});
  for (std::size_t channel = 0; channel < powers_.extent(0); ++channel)
    for (std::size_t turn = 0; turn < n_turn_; ++turn)
      for (std::size_t i = 0; i < powers_.extent(2); ++i) sums(channel, i) += powers_(channel, turn, i);
  return sums;
}

void FftImager::take(EpicImages& images) {
  images.planes.resize({plan_.n_image_channel(), plan_.n_plane(), plan_.ny, plan_.nx});
  images.weight.resize(plan_.n_image_channel());
  images.n_spectra = weights_.n_spectra();
  const Buffer<double, 2> powers_of_antennas = powers();
  parallel_for(plan_.n_threads, plan_.n_image_channel(), [&](std::size_t image, unsigned) {
    images.weight[image] = weights_.share(image);
    const auto pairs = static_cast<double>(weights_.pairs(image));
    double* sums = &sums_(image, 0, 0);
    for (std::size_t turn = 1; turn < n_turn_; ++turn)
      for (std::size_t k = 0; k < sums_.extent(2); ++k) sums[k] += sums_(image, turn, k);
    gridded_->finish.run(sums, fft_auto_lags(plan_, *gridded_, powers_of_antennas.view(), image),
                         pairs > 0 ? 1 / pairs : std::nan(""), images.planes.view()[image]);
  });
  off_grid_.image(weights_, sky_, apertures_, images);
  apertures_.scale(weights_, sky_, images);
}

}  // namespace

std::unique_ptr<DirectImager> make_fft_imager(EpicPlan plan) {
  check_fft_plan(plan);
  return std::make_unique<FftImager>(std::move(plan));
}

}  // namespace apsyn
