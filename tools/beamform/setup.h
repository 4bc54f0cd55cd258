// SPDX-License-Identifier: GPL-3.0-or-later
// What the tool is going to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/beamform/beam_engine.h"
#include "kernels/beamform/beamform.h"
#include "kernels/channelise/channelise.h"
#include "kernels/channelise/channelise_cuda.h"
#include "libcore/array/beam_table.h"
#include "libcore/measures/coordinates.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

/// A phase may be this far from the beam's direction before weights are made anew.
inline constexpr double kPhaseError_rad = 1e-3;

struct BeamformSetup {
  VoltageHeader header;  ///< with the effective layout
  std::vector<BeamDirection> beams;
  std::shared_ptr<const SkyFrame>
      sky;  ///< over the site, where it is known: an instant costs it 0.2 ms, once
  ChannelisePlan f;
  BeamformPlan b;
  Buffer<std::uint8_t, 2> chosen;  ///< [beam][ant] 1 = in the beam once it has a gain
  double max_rate = 0;             ///< of delays, s/s
  double spectrum_s = 0;
  std::int64_t n_samples = -1;  ///< to be read; -1 = to the end
  std::size_t gulp_samples = 0, block_spectra = 0, batch_chan = 1;
  unsigned n_bit = 8;
  std::uint64_t memory_bytes = 0;
  bool on_gpu = false;
  CudaChannelisePlan cuda;  ///< f there
  CudaBeamPlan beams_on_gpu;

  bool align() const { return f.n_fine > 1 && !b.incoherent; }
  double output_s() const { return spectrum_s * static_cast<double>(b.n_integrate); }
};

}  // namespace apsyn
