// SPDX-License-Identifier: GPL-3.0-or-later
// Solving a chain of terms: the data are read once if the sums of all cells fit into memory or, for a chain
// of a single term, those of the slots still open at any time; otherwise at least once for each term. While
// a slot is solved and rows are added, the next rows are predicted and read.
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
#include "tools/imaging/calibration/slots.h"
#include "tools/imaging/calibration/terms.h"

namespace apsyn::calibrate {

/// Smallest number of channel blocks in which a term over all channels sees the slope of phase.
inline constexpr std::size_t kBlocksOfSlope = 256;

struct ChainResult {
  std::vector<TermResult> terms;   ///< in the order in which they were solved
  std::vector<std::size_t> order;  ///< of their product, receiver first
  std::size_t reference = 0;       ///< antenna
  double n_samples = 0;            ///< number of samples used for solutions
  double n_visibilities = 0;       ///< read: rows times channels times products
};

/// How a chain is solved, and the memory for that.
class ChainPlan {
 public:
  /// UsageError for terms that the data do not allow, and if --max-memory does not suffice.
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
    Cells sums;   ///< the term is solved from these; no slot of this or an earlier term ends inside one
    Cells known;  ///< the gains of earlier terms are kept in these; no slot of any term ends inside one
    std::vector<std::uint32_t> known_of;    ///< [cell of the sums] a cell of the known gains in it
    std::vector<std::uint64_t> cell_bytes;  ///< [window] of a cell of the sums
  };
  std::vector<TermOptions> options;
  std::vector<Term> terms;
  std::size_t n_known = 0;                 ///< cells of known gains
  std::vector<ChannelBlocks> cell_blocks;  ///< [window]
  std::vector<SumLayout> layouts;          ///< [window] of a cell
  bool keeps_cells = false;                ///< whether the sums of all cells are kept, for all terms
  std::size_t max_rows = 0;                ///< of a block
  std::size_t n_blocks = 1;                ///< of rows that are on their way at the same time
  std::uint64_t max_cell_bytes = 0;        ///< of all cells at the same time
  /// [term] slots solved in one reading of the data, if cells are not kept.
  std::vector<std::size_t> slots_at_once;

 private:
  void plan_times(const InputInfo& info);
  void plan_channels(const InputInfo& info, const ModelSource& model);
  void plan_memory(const Tool& tool, const InputInfo& info, const ModelSource& model);
  std::vector<std::uint64_t> cell_bytes(const InputInfo& info, const Cells& cells) const;

  std::uint64_t bytes_ = 0;
  std::string path_;
};

/// Memory that one solve_chain() leaves to the next, of a stream that is solved interval by interval.
struct ChainMemory {
  SpareSums cells;  ///< of slots that are solved
  SlotMemory slot;
};

/// Solves the chain. `former`, of the same terms and antennas, may be null: otherwise the first slots start
/// from its last solutions, and its reference antenna is kept unless one is named. FailureError "no usable
/// data" if no solution was found. `reused`, unless null, gives and keeps the memory.
ChainResult solve_chain(Tool& tool, const Options& options, const ChainPlan& plan, VisibilityInput& input,
                        ModelSource& model, const ChainResult* former = nullptr,
                        ChainMemory* reused = nullptr);

}  // namespace apsyn::calibrate
