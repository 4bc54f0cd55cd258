// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/beamform/engine.h"

#include <utility>

#include "kernels/channelise/channelise.h"
#include "kernels/channelise/channelise_cuda.h"
#include "libcore/base/log.h"

namespace apsyn {

BeamMaker::BeamMaker(const Device& device, BeamformSetup& setup) {
  if (!setup.b.incoherent)
    tracker = std::make_unique<BeamTracker>(setup.header.layout, setup.header.start, setup.beams,
                                            setup.header.phase_centre, setup.align());
  BeamDelaySource& delays = tracker ? *tracker : static_cast<BeamDelaySource&>(nowhere);
  DelaySource* reference = tracker ? tracker->reference() : nullptr;
  engine = setup.on_gpu ? make_cuda_beam_engine(make_cuda_channeliser(setup.cuda, reference, device.index),
                                                std::move(setup.b), delays, device.index, setup.beams_on_gpu)
                        : make_beam_engine(std::make_shared<Channeliser>(setup.f, reference),
                                           std::move(setup.b), delays, setup.block_spectra, setup.batch_chan);
}

void warn_of_clipped(const BeamEngine& engine) {
  constexpr double kUsual = 1e-4;
  const double share = engine.clipped_share();
  if (share > kUsual)
    log_warning(
        "{:.2g} % of an input's spectra in a channel did not fit 8 bits: --precision single keeps them",
        100 * share);
}

}  // namespace apsyn
