// SPDX-License-Identifier: GPL-3.0-or-later
// Solving a chain of terms: the data are read once where the sums of all cells fit into the memory, or of one
// term only that of the slots that rows still go to; otherwise once for each term.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/calibrate/calibrate.h"
#include "libcore/cli/tool.h"
#include "tools/calibrate/input.h"
#include "tools/calibrate/model.h"
#include "tools/calibrate/options.h"
#include "tools/calibrate/slots.h"

namespace apsyn::calibrate {

struct TermResult {
  TermOptions options;
  std::vector<TimeSlot> slots;
  std::vector<ChannelBlocks> blocks;                  ///< [window]
  std::vector<std::vector<SlotSolutions>> solutions;  ///< [window][slot]
};

struct ChainResult {
  std::vector<TermResult> terms;   ///< in the order in which they were solved
  std::vector<std::size_t> order;  ///< of their product, receiver first
  std::size_t reference = 0;       ///< antenna
  double n_samples = 0;            ///< that solutions are made of
  double n_visibilities = 0;       ///< read: rows times channels times products
};

/// How a chain is solved, and what that takes.
class ChainPlan {
 public:
  /// UsageError for terms that the data do not allow, and where --max-memory does not suffice.
  ChainPlan(const Tool& tool, const Options& options, const InputInfo& info, const ModelSource& model);
  std::vector<std::string> describe() const;
  std::uint64_t bytes() const { return bytes_; }

  /// Runs of integrations within the slots of a term.
  struct Cells {
    std::vector<std::uint32_t> of_integration;  ///< [integration]
    std::vector<std::uint32_t> first;           ///< [slot], and one more for the end
    std::vector<std::uint32_t> slot;            ///< [cell]
    std::size_t size() const { return slot.size(); }
  };
  struct Term {
    std::vector<TimeSlot> slots;
    std::vector<ChannelBlocks> blocks;  ///< [window]
    Cells sums;   ///< that the term is solved from: no slot of it, or of a term before it, ends in one
    Cells known;  ///< in which no slot of any term ends: where the gains of the terms before are kept
    std::vector<std::uint32_t> known_of;  ///< [cell of the sums] a cell of the known gains in it
  };
  std::vector<TermOptions> options;
  std::vector<Term> terms;
  std::size_t n_known = 0;                 ///< cells of known gains
  std::vector<ChannelBlocks> cell_blocks;  ///< [window]
  std::vector<SumLayout> layouts;          ///< [window] of a cell
  bool keeps_cells = false;                ///< all of them, for all terms
  std::size_t max_rows = 0;                ///< of a block
  std::vector<std::size_t> slots_at_once;  ///< [term] where cells are not kept; the data are read for each

 private:
  void plan_times(const InputInfo& info);
  void plan_channels(const InputInfo& info, const ModelSource& model);
  void plan_memory(const Tool& tool, const InputInfo& info, const ModelSource& model);
  std::uint64_t cell_bytes(const InputInfo& info, const Cells& cells) const;

  std::uint64_t bytes_ = 0;
  std::string path_;
};

/// FailureError "no usable data" where nothing was found. `former`, of the same terms and antennas, may be
/// null: the first slots begin with the last solutions of it, and its reference antenna is that of these,
/// unless one is named.
ChainResult solve_chain(Tool& tool, const Options& options, const ChainPlan& plan, VisibilityInput& input,
                        ModelSource& model, const ChainResult* former = nullptr);

}  // namespace apsyn::calibrate
