// SPDX-License-Identifier: GPL-3.0-or-later
// A term that differs between patches of the sky: each slot's rows become sums over all pairs of directions,
// from which the solutions of all directions follow at once.
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
#include "tools/calibrate/slots.h"

namespace apsyn::calibrate {

/// The patches of options.sky: all of them, or those of a list, and what is left as one more, "others".
/// UsageError for names that are none.
std::vector<SkyPatch> choose_patches(const Options& options);

class DirectionPlan {
 public:
  /// UsageError for a chain, a term that has no directions, and where --max-memory does not suffice.
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

/// [direction]: each a chain of one term. FailureError "no usable data" where nothing was found.
std::vector<ChainResult> solve_patches(Tool& tool, const Options& options, const DirectionPlan& plan,
                                       VisibilityInput& input, const std::vector<SkyPatch>& patches);

}  // namespace apsyn::calibrate
