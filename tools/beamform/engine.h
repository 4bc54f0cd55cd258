// SPDX-License-Identifier: GPL-3.0-or-later
// F stage and beamformer of the chosen device.
#pragma once

#include "tools/beamform/plan.h"

namespace apsyn {

/// Incoherent beams look nowhere.
struct NoDelays final : BeamDelaySource {
  void prepare(double, double) override {}
  void delays_s(std::size_t, double, std::span<double> delay_s) const override {
    std::fill(delay_s.begin(), delay_s.end(), 0.0);
  }
};

/// Where the beams look, and the engine that makes them; takes setup.b.
struct BeamMaker {
  std::unique_ptr<BeamTracker> tracker;
  NoDelays nowhere;
  std::unique_ptr<BeamEngine> engine;

  BeamMaker(const Device& device, BeamformSetup& setup) {
    if (!setup.b.incoherent)
      tracker = std::make_unique<BeamTracker>(setup.header.layout, setup.header.start, setup.beams,
                                              setup.header.phase_centre, setup.align());
    BeamDelaySource& delays = tracker ? *tracker : static_cast<BeamDelaySource&>(nowhere);
    DelaySource* reference = tracker ? tracker->reference() : nullptr;
    engine = setup.on_gpu
                 ? make_cuda_beam_engine(make_cuda_channeliser(setup.cuda, reference, device.index),
                                         std::move(setup.b), delays, device.index, setup.beams_on_gpu)
                 : make_beam_engine(std::make_shared<Channeliser>(setup.f, reference), std::move(setup.b),
                                    delays, setup.block_spectra, setup.batch_chan);
  }
};

/// More than noise alone has.
inline void warn_of_clipped(const BeamEngine& engine) {
  constexpr double kUsual = 1e-4;
  const double share = engine.clipped_share();
  if (share > kUsual)
    log_warning(
        "{:.2g} % of an input's spectra in a channel did not fit 8 bits: --precision single keeps them",
        100 * share);
}

}  // namespace apsyn
