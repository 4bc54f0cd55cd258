// SPDX-License-Identifier: GPL-3.0-or-later
// The `fft` method (MOFF: grid, transform, multiply, accumulate). Sums of up to kChunk spectra are float32,
// their sums float64. Work is cut into image channels and, when there are few, turns of chunks of spectra: as
// many for every number of threads, so that results are the same.
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "kernels/epic/epic_weights.h"
#include "kernels/epic/fft_finish.h"
#include "libcore/core/constants.h"
#include "libcore/core/error.h"
#include "libcore/core/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t kChunk = 128;
constexpr std::size_t kItems = 8;  ///< least pieces of work, for threads to share

std::size_t values_of(const EpicPlan& plan) {
  if (plan.cross) return 4;
  return plan.first && plan.second ? 2 : 1;
}

std::size_t turns_of(const EpicPlan& plan) {
  return std::max<std::size_t>(1, kItems / plan.n_image_channel());
}

/// What is made anew when the antennas move on the grid.
struct Gridded {
  Gridded(const EpicPlan& plan, const EpicGeometry& geometry)
      : grid(plan_fft_grid(plan, geometry)),
        kernel(plan, grid),
        fft_x(grid.x.n),
        fft_y(grid.y.n),
        finish(plan, geometry, grid, kernel, fft_x, fft_y, values_of(plan)),
        lists(plan.n_channel()) {
    parallel_for(plan.n_threads, plan.n_channel(), [&](std::size_t channel, unsigned) {
      lists[channel] = make_grid_lists(plan, geometry, grid, kernel, plan.channel_hz[channel]);
    });
  }

  FftGrid grid;
  KernelFit kernel;
  LaneFft fft_x, fft_y;
  FftFinish finish;
  std::vector<GridLists> lists;  // [channel]
};

class FftImager final : public DirectImager {
 public:
  explicit FftImager(EpicPlan plan)
      : plan_(std::move(plan)),
        n_value_(values_of(plan_)),
        n_turn_(turns_of(plan_)),
        weights_(plan_),
        scratch_(plan_.n_threads),
        chunk_sums_(plan_.n_threads) {}

  void start(const EpicGeometry& geometry) override;
  void add(const SpectraBlock& block) override;
  void take(EpicImages& images) override;

 private:
  void prepare_factors();
  void add_channel(const SpectraBlock& block, std::size_t channel, std::size_t turn, unsigned thread);
  PackedLags autos_of(std::size_t image) const;

  EpicPlan plan_;
  std::size_t n_value_, n_turn_;
  EpicGeometry planned_for_, geometry_;
  std::optional<Gridded> gridded_;
  Buffer<std::complex<float>, 2> factor_;  // [channel][ant * n_pol + pol]
  Buffer<double, 3> sums_;                 // [image channel][turn][column][row][value], the last three as one
  Buffer<double, 3> powers_;               // [channel][turn][ant][value], the last two as one
  EpicWeights weights_;
  std::size_t next_chunk_ = 0;
  std::vector<LaneScratch> scratch_;
  std::vector<Buffer<float, 1>> chunk_sums_;
};

void FftImager::start(const EpicGeometry& geometry) {
  if (geometry.enu_m.size() != plan_.n_ant || geometry.delay_s.size() != plan_.n_ant)
    throw std::logic_error("DirectImager: one position and delay for each antenna");
  if (!gridded_ || !serves(gridded_->grid, plan_, planned_for_, geometry)) {
    gridded_.emplace(plan_, geometry);
    planned_for_ = geometry;
    factor_ = {};
  } else if (geometry.axes != geometry_.axes) {
    gridded_->finish.aim(plan_, geometry);
  }
  const bool same_delays = geometry.delay_s == geometry_.delay_s;
  geometry_ = geometry;
  if (!same_delays || factor_.size() == 0) prepare_factors();
  const LanePixels& pixels = gridded_->finish.pixels();
  sums_.resize({plan_.n_image_channel(), n_turn_, pixels.columns.size() * pixels.n_row() * n_value_});
  powers_.resize({plan_.n_channel(), n_turn_, plan_.autos ? 0 : plan_.n_ant * n_value_});
  weights_.start();
  next_chunk_ = 0;
}

/// Calibration, delays, and the part of w that is the same for all directions.
void FftImager::prepare_factors() {
  factor_.resize({plan_.n_channel(), plan_.n_ant * plan_.n_pol});
  const auto& given = plan_.factor;
  for (std::size_t channel = 0; channel < plan_.n_channel(); ++channel)
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) {
      const double w_s = gridded_->grid.place(geometry_.enu_m[ant])[2] / kSpeedOfLight_m_s;
      const double turns = plan_.channel_hz[channel] * (geometry_.delay_s[ant] - w_s);
      const auto phase = std::polar(1.0, kTwoPi * (turns - std::nearbyint(turns)));
      for (std::size_t pol = 0; pol < plan_.n_pol; ++pol) {
        std::complex<double> g = 1;
        if (given.size() > 0)
          g = given(ant, pol, given.extent(2) == plan_.n_channel() ? channel : channel / plan_.n_fine);
        factor_(channel, ant * plan_.n_pol + pol) = std::complex<float>(g * phase);
      }
    }
}

void FftImager::add_channel(const SpectraBlock& block, std::size_t channel, std::size_t turn,
                            unsigned thread) {
  const Gridded& gridded = *gridded_;
  const std::size_t here = channel - block.first_chan * plan_.n_fine;
  LaneSpectra spectra;
  spectra.panel_stride = block.planes.extent(2) * block.planes.extent(3);
  spectra.n_ant = plan_.n_ant;
  spectra.n_pol = plan_.n_pol;
  spectra.first_pol = n_value_ == 1 && !plan_.first ? 1 : 0;
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
  const std::size_t n_image = n_channel / plan_.n_average;
  parallel_for(plan_.n_threads, n_image * n_turn_, [&](std::size_t item, unsigned thread) {
    const std::size_t channel = first + item / n_turn_ * plan_.n_average;
    for (std::size_t i = 0; i < plan_.n_average; ++i) add_channel(block, channel + i, item % n_turn_, thread);
  });
  // the last batch of channels ends the block of spectra
  if (block.first_chan + block.n_chan == plan_.n_chan) next_chunk_ += (block.n_spectra + kChunk - 1) / kChunk;
}

/// Of an image channel: what each antenna left of itself.
PackedLags FftImager::autos_of(std::size_t image) const {
  PackedLags lags;
  if (plan_.autos) return lags;
  const std::size_t k = plan_.kernel_cells, n_pack = gridded_->finish.n_pack();
  lags.resize({n_pack, 2 * k - 1, 2 * k - 1});
  for (std::size_t channel = image * plan_.n_average; channel < (image + 1) * plan_.n_average; ++channel)
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) {
      double power[4] = {};
      for (std::size_t turn = 0; turn < n_turn_; ++turn)
        for (std::size_t value = 0; value < n_value_; ++value)
          power[value] += powers_(channel, turn, ant * n_value_ + value);
      for (std::size_t pack = 0; pack < n_pack; ++pack) {
        const std::complex<double> of_pack{power[2 * pack], power[2 * pack + 1]};
        if (of_pack == 0.0) continue;
        const auto own = gridded_->lists[channel].lags.view()[ant];
        for (std::size_t dy = 0; dy < k; ++dy)
          for (std::size_t dx = 0; dx < 2 * k - 1; ++dx) {
            lags(pack, k - 1 + dy, dx) += of_pack * own(dy, dx);
            if (dy > 0) lags(pack, k - 1 - dy, 2 * k - 2 - dx) += of_pack * std::conj(own(dy, dx));
          }
      }
    }
  return lags;
}

void FftImager::take(EpicImages& images) {
  images.planes.resize({plan_.n_image_channel(), plan_.n_plane(), plan_.ny, plan_.nx});
  images.weight.resize(plan_.n_image_channel());
  images.n_spectra = weights_.n_spectra();
  parallel_for(plan_.n_threads, plan_.n_image_channel(), [&](std::size_t image, unsigned) {
    images.weight[image] = weights_.share(image);
    const auto pairs = static_cast<double>(weights_.pairs(image));
    double* sums = &sums_(image, 0, 0);
    for (std::size_t turn = 1; turn < n_turn_; ++turn)
      for (std::size_t k = 0; k < sums_.extent(2); ++k) sums[k] += sums_(image, turn, k);
    gridded_->finish.run(sums, autos_of(image), pairs > 0 ? 1 / pairs : std::nan(""),
                         images.planes.view()[image]);
  });
}

}  // namespace

std::unique_ptr<DirectImager> make_fft_imager(EpicPlan plan) {
  check_epic_plan(plan);
  if (plan.n_direction > 0) throw UsageError("--method fft: images pixels only: give --method dft or corr");
  if (plan.w == EpicW::exact)
    throw UsageError("--w exact: --method fft knows zenith, plane and kernel; dft and corr are exact");
  if (plan.kernel_cells < 1 || plan.kernel_cells > 9 || !(plan.padding >= 1))
    throw std::logic_error("EpicPlan: kernels of 1 to 9 cells, padding of at least 1");
  return std::make_unique<FftImager>(std::move(plan));
}

}  // namespace apsyn
