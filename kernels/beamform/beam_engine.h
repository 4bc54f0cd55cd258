// SPDX-License-Identifier: GPL-3.0-or-later
// F stage and beamformer over a whole stream: voltages in, one block of beams after the other out.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/beamform/beamform.h"

namespace apsyn {

class BeamEngine {
 public:
  virtual ~BeamEngine() = default;
  /// Takes a block that follows those before it; works on what can be worked on.
  virtual void append(const VoltageBlock& block) = 0;
  /// What does not fill an integration is left out.
  virtual void end_of_stream() = 0;
  /// The next output times; false when there are none yet. Memory of `beams` is used again.
  virtual bool next(BeamBlock& beams) = 0;
  /// Spectra that have gone into beams.
  virtual std::int64_t spectra_done() const = 0;
};

/// On the CPU, `block_spectra` (whole tiles) and `batch_chan` input channels (whole averages) at a time.
/// `delays` must outlive the engine.
std::unique_ptr<BeamEngine> make_beam_engine(std::shared_ptr<SpectrumSource> source, BeamformPlan plan,
                                             BeamDelaySource& delays, std::size_t block_spectra,
                                             std::size_t batch_chan);

}  // namespace apsyn
