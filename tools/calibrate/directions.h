// SPDX-License-Identifier: GPL-3.0-or-later
// A term that differs between patches of the sky: each slot's rows are reduced to sums over all pairs of
// directions, from which all directions are solved together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/calibrate/directions.h"
#include "libcore/cli/tool.h"
#include "libcore/sky/sky_patches.h"
#include "tools/calibrate/chain.h"
#include "tools/calibrate/input.h"
#include "tools/calibrate/options.h"
#include "tools/imaging/calibration/slots.h"
#include "tools/imaging/components/component_sums.h"

namespace apsyn::calibrate {

/// The patches of options.sky: all of them, or those in a list plus one more, "others", for the rest.
/// UsageError for unknown names.
std::vector<SkyPatch> choose_patches(const Options& options);

class DirectionPlan {
 public:
  /// UsageError if the windows are too narrow for the term, or --max-memory does not suffice.
  DirectionPlan(const Tool& tool, const Options& options, const InputInfo& info, std::size_t n_directions);
  std::vector<std::string> describe() const;
  std::uint64_t bytes() const { return bytes_; }

  TermOptions term;
  std::vector<TimeSlot> slots;
  std::vector<std::uint32_t> slot_of;     ///< [integration]
  std::vector<ChannelBlocks> blocks;      ///< [window] that solutions are written for
  std::vector<DirectionLayout> layouts;   ///< [window]
  std::vector<ChannelBlocks> sum_blocks;  ///< [window] of the layouts
  std::size_t max_rows = 0;

 private:
  std::uint64_t bytes_ = 0;
};

/// Results by [direction], each a chain of one term; `setup` tells how patches are predicted. FailureError
/// "no usable data" if no solution was found.
std::vector<ChainResult> solve_patches(Tool& tool, const Options& options, const DirectionPlan& plan,
                                       const imaging::ComponentSumsSetup& setup, VisibilityInput& input,
                                       const std::vector<SkyPatch>& patches);

}  // namespace apsyn::calibrate
