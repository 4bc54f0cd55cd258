// SPDX-License-Identifier: GPL-3.0-or-later
// F stage and beamformer of the chosen device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "kernels/beamform/beam_engine.h"
#include "libcore/array/delays.h"
#include "libcore/measures/beam_tracker.h"
#include "libcore/system/device.h"
#include "tools/beamform/setup.h"

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

  BeamMaker(const Device& device, BeamformSetup& setup);
};

/// More than noise alone has.
void warn_of_clipped(const BeamEngine& engine);

}  // namespace apsyn
