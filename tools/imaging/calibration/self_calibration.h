// SPDX-License-Identifier: GPL-3.0-or-later
// Self-calibration within major cycles (clean --calibrate): the model that a cycle has found is predicted,
// the data as the set has them are compared with it, and from then on they are corrected by the gains that
// this gives. Each entry is used in one major cycle, the last one in all that follow, too: gains found with a
// model that lacks faint sources, or has artefacts, are wrong by these, and cleaning ends only when model and
// gains agree.
//
// Of every slot (an interval of time and the channels that a group has in a window) the solver needs only the
// sums of kernels/calibrate/sums.h. They are made from visibilities and predictions that the cycle holds
// anyway, for as many slots at a time as memory allows.
//
// What a new entry cannot describe stays: phases of 10 s are applied while gains of 60 s are solved
// (gain_chain.h). Amplitudes of each window are scaled to a mean log|g| of 0, so that the flux scale stays.
// If data and model then differ more than with the former gains, these return.
//
// Processes that image together all have the visibilities and, while gains are found, the whole predictions:
// the first one solves, which takes little time beside predicting, and tells the others its gains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/imaging/prediction_store.h"
#include "libcore/solutions/solutions.h"
#include "libcore/visibility/imaging.h"
#include "libcore/visibility/stokes.h"
#include "tools/imaging/calibration/calibrated_set.h"
#include "tools/imaging/calibration/calibrated_source.h"
#include "tools/imaging/calibration/entry_solver.h"
#include "tools/imaging/calibration/gain_chain.h"
#include "tools/imaging/calibration/terms.h"

namespace apsyn::calibrate {

/// "phase:30s,phase:10s,gain:all": diagonal terms, each with the interval of its solutions, the whole time if
/// none is given. UsageError.
std::vector<TermOptions> parse_entries(const std::string& text);

/// "phase:30s", for messages.
std::string label_of(const TermOptions& entry);

class SelfCalibration {
 public:
  /// `products` gives all products of the sets' visibilities, `planes` are those of the images, `groups` all
  /// that may be solved. UsageError if the planes do not tell both parallel hands.
  SelfCalibration(ImagingSource& products, CalibratedSet set, SelfCalibrationSettings settings,
                  const std::vector<PlaneRecipe>& planes, const std::vector<ChannelGroup>& groups);

  /// The images' planes, of data corrected by the present gains, or not at all.
  CalibratedSource& corrected() { return corrected_; }
  CalibratedSource& uncorrected() { return uncorrected_; }

  /// Whether some entries have not been used yet.
  bool has_entry() const { return next_ < settings_.entries.size(); }
  /// Solves the next entry, or the last one again, for one group. `predictions`: the planes of the model
  /// times -1, of all blocks that uncorrected() reads with this max_bytes; samples without weight in all
  /// planes need not be predicted.
  void solve(const ChannelGroup& group, PredictionStore& predictions, std::uint64_t max_bytes);
  /// The entry is done for all groups. Returns whether the gains have moved by more than a third of their
  /// errors.
  bool end_entry();

  const GainChain& chain(const ChannelGroup& group) const { return chains_[find(group)]; }
  /// The present gains, a table for each entry that is in force; of unity if there are none.
  Solutions solutions(const std::vector<std::string>& history) const;

  /// Memory beside the products' blocks, of at most block_bytes, and the predictions.
  static std::uint64_t bytes(const CalibratedSet& set, const SelfCalibrationSettings& settings,
                             std::size_t n_groups, std::size_t n_planes, std::uint64_t block_bytes);

 private:
  /// A window's part of a group.
  struct GroupPart {
    std::size_t group, part;
  };
  std::size_t find(const ChannelGroup& group) const;
  /// What solve() finds, by itself; nothing if the former gains stay.
  std::optional<ChainLink> find_link(std::size_t g, std::size_t number, PredictionStore& predictions,
                                     std::uint64_t max_bytes);
  /// What the first process has found replaces what the others have.
  void share_link(std::size_t g, std::size_t number, std::optional<ChainLink>& link) const;
  std::vector<GroupPart> places_by_frequency() const;
  /// The table of an entry for all groups and windows: of unity where a group has none of it.
  SolutionTable table_of(std::size_t entry) const;

  ImagingSource& products_;
  CalibratedSet set_;
  SelfCalibrationSettings settings_;
  ModelMix mix_;
  std::vector<std::vector<TimeSlot>> slots_;  ///< [entry]
  std::vector<GainChain> chains_;             ///< [group]
  CalibratedSource corrected_, uncorrected_;
  std::size_t next_ = 0;
  bool moved_ = false;                    ///< since the last end_entry()
  std::optional<std::size_t> reference_;  ///< antenna
};

}  // namespace apsyn::calibrate
