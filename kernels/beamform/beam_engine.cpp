// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "kernels/beamform/beam_engine.h"

namespace apsyn {

namespace {

class CpuBeamEngine final : public BeamEngine {
 public:
  CpuBeamEngine(std::shared_ptr<SpectrumSource> source, BeamformPlan plan, BeamDelaySource& delays,
                std::size_t block_spectra, std::size_t batch_chan)
      : source_(std::move(source)),
        n_chan_(plan.n_chan),
        n_integrate_(static_cast<std::int64_t>(plan.n_integrate)),
        meets_tiles_(plan.first_spectrum % std::gcd(n_integrate_, kTile) == 0),
        block_spectra_(block_spectra),
        batch_chan_(batch_chan),
        beamformer_(make_cpu_beamformer(std::move(plan), delays)) {}

  std::function<void()> append(const VoltageBlock& block) override {
    source_->append(block);
    return {};
  }
  void end_of_stream() override {
    source_->end_of_stream();
    ended_ = true;
  }

  void set_gains(BeamGains gains) override { coming_ = std::move(gains); }

  bool next(BeamBlock& beams) override {
    if (coming_ && may_change(next_)) {
      beamformer_->set_gains(std::move(*coming_));
      coming_.reset();
    }
    const std::int64_t off_tile = beamformer_->off_tile(next_);  // a range may begin within a tile
    auto whole = static_cast<std::int64_t>(off_tile > 0 ? kTileSpectra : block_spectra_) - off_tile;
    if (coming_)
      for (std::int64_t n = kTile - off_tile; n < whole; n += kTile)
        if (may_change(next_ + n)) whole = n;
    const std::int64_t n = std::min(source_->available() - next_, whole);
    if (n <= 0 || (n < whole && !ended_)) {
      source_->release(next_);
      return false;
    }
    beamformer_->start(next_, static_cast<std::size_t>(n), beams);
    for (std::size_t chan = 0; chan < n_chan_; chan += batch_chan_) {
      source_->spectra(next_, static_cast<std::size_t>(n), chan, std::min(batch_chan_, n_chan_ - chan),
                       spectra_);
      beamformer_->add(spectra_, beams);
    }
    next_ += n;
    return true;
  }

  std::int64_t spectra_done() const override { return next_; }

 private:
  static constexpr auto kTile = static_cast<std::int64_t>(kTileSpectra);

  /// Whether spectra from this one on may have other gains. Where a range begins such that no integration
  /// ever begins with a tile, any tile will do.
  bool may_change(std::int64_t spectrum) const {
    return beamformer_->off_tile(spectrum) == 0 && (spectrum % n_integrate_ == 0 || !meets_tiles_);
  }

  std::shared_ptr<SpectrumSource> source_;
  std::size_t n_chan_;
  std::int64_t n_integrate_;
  bool meets_tiles_;  ///< some integrations begin with a tile
  std::size_t block_spectra_, batch_chan_;
  std::optional<BeamGains> coming_;
  std::unique_ptr<Beamformer> beamformer_;
  SpectraBlock spectra_;
  std::int64_t next_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<BeamEngine> make_beam_engine(std::shared_ptr<SpectrumSource> source, BeamformPlan plan,
                                             BeamDelaySource& delays, std::size_t block_spectra,
                                             std::size_t batch_chan) {
  return std::make_unique<CpuBeamEngine>(std::move(source), std::move(plan), delays, block_spectra,
                                         batch_chan);
}

std::uint64_t out_time_bytes(const BeamformPlan& plan) {
  return std::uint64_t{4} * plan.n_beam * plan.n_out_channel() * plan.n_value();
}

std::uint64_t out_bytes_of(const BeamformPlan& plan, std::size_t batch_spectra) {
  return (batch_spectra / plan.n_integrate + 1) * out_time_bytes(plan);
}

std::size_t cuda_beam_batch(const BeamformPlan& plan, std::size_t most, std::uint64_t out_bytes) {
  constexpr std::size_t kWhole = 128;
  const std::uint64_t times = std::max<std::uint64_t>(1, out_bytes / out_time_bytes(plan));
  const std::uint64_t spectra = times > most / plan.n_integrate ? most : times * plan.n_integrate;
  return static_cast<std::size_t>(spectra >= kWhole ? spectra / kWhole * kWhole : spectra);
}

std::uint64_t cuda_beam_host_bytes(const BeamformPlan& plan, std::size_t batch_spectra) {
  return 2 *
         (out_bytes_of(plan, batch_spectra) + 4 * batch_spectra * plan.n_chan + 8 * plan.n_beam * plan.n_ant);
}

}  // namespace apsyn
