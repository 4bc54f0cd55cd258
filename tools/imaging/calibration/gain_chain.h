// SPDX-License-Identifier: GPL-3.0-or-later
// The gains by which the visibilities of a channel group are corrected: a product of solved terms, all
// diagonal, each constant over the channels that the group takes of a spectral window. Windows have gains of
// their own, as their electronics differ.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/calibrate/calibrate.h"
#include "libcore/base/view.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/solutions/solutions.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/calibration/slots.h"
#include "tools/imaging/calibration/terms.h"

namespace apsyn::calibrate {

/// What a channel group takes of a spectral window. Windows of the same channels are one.
struct WindowPart {
  double low_hz = 0, high_hz = 0;      ///< centres of its lowest and its highest channel
  double centre_hz = 0, width_hz = 0;  ///< from edge to edge
  std::size_t n_channels = 0;
};

/// By rising frequency, those without channels left out.
std::vector<WindowPart> parts_of(const std::vector<MsSpectralWindow>& windows, const ChannelGroup& group);

/// A solved term. `table` has a channel for each part of the group, and a time for each slot.
struct ChainLink {
  std::size_t entry = 0;  ///< its number in --calibrate
  TermOptions options;
  std::vector<TimeSlot> slots;
  SolutionTable table;
};

/// Whether a new term can describe all that an older one does, so that it takes its place: phases, amplitudes
/// and hands of the older one, at least as often. Otherwise it is solved with the older one applied.
bool replaces(const TermOptions& later, const TermOptions& earlier);

class GainChain {
 public:
  GainChain(const ChannelGroup& group, std::vector<WindowPart> parts, std::size_t n_antennas,
            std::size_t n_hands)
      : group_(group), parts_(std::move(parts)), n_antennas_(n_antennas), n_hands_(n_hands) {}

  const ChannelGroup& group() const { return group_; }
  const std::vector<WindowPart>& parts() const { return parts_; }
  /// The part that a block's rows are of.
  std::size_t part_of(const ImagingBlock& block) const;
  const std::vector<std::shared_ptr<const ChainLink>>& links() const { return links_; }
  bool empty() const { return links_.empty(); }
  /// Adds a link, and drops those that it replaces.
  void add(ChainLink link);
  /// The chain that a term is solved with: without the links that it would replace.
  GainChain before(const TermOptions& term) const;
  /// The gains of a part in an integration, [1 block][antenna][hand]; NaN where a solution is flagged.
  KnownGains gains(std::size_t part, std::size_t integration) const;

 private:
  ChannelGroup group_;
  std::vector<WindowPart> parts_;
  std::size_t n_antennas_, n_hands_;
  std::vector<std::shared_ptr<const ChainLink>> links_;
};

}  // namespace apsyn::calibrate
