// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of a block that a pass over some layers needs, so that the others need not travel to a device.
// Processes that share ranges of w each send their own rows then, and those of layers that two of them share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/idg/idg.h"

namespace apsyn::idg {

/// The rows, in their order, of all baselines that come near the pass's layers: every baseline with
/// visibilities in a layer of the pass is included, with all of its rows. How rows are cut depends on earlier
/// rows of their baseline, and how small sub-tables are joined depends on all those of their layer, so
/// partition() gives the same tasks for these rows as for all. No value means all rows; this is always so if
/// the block has no stations, unless the pass has no layers. `memory` is reused; its contents are ignored.
std::optional<std::vector<std::uint32_t>> rows_of_pass(const IdgPlan& plan, const GridBlock& block,
                                                       const LayerRange& layers, unsigned n_threads,
                                                       std::vector<std::uint32_t> memory = {});

/// Rows of an array [row][...] as one sequence of bytes: all of them, or the chosen ones.
class RowBytes {
 public:
  RowBytes(const void* array, std::size_t bytes, std::size_t n_row, const std::uint32_t* chosen,
           std::size_t n_chosen)
      : array_(static_cast<const std::byte*>(array)),
        row_bytes_(n_row == 0 ? 0 : bytes / n_row),
        chosen_(chosen),
        array_bytes_(bytes),
        size_(chosen == nullptr ? bytes : n_chosen * row_bytes_) {}
  std::size_t size() const { return size_; }
  std::size_t row_bytes() const { return row_bytes_; }
  /// Their address if all rows are wanted, since they are then contiguous; else null.
  const std::byte* whole() const { return chosen_ == nullptr ? array_ : nullptr; }
  /// The array with the rows that are not chosen, from its first byte to its last one.
  std::span<const std::byte> array() const { return {array_, array_bytes_}; }
  /// Calls use(address, number of bytes) for the bytes [first, first + n), in order.
  template <class Use>
  void for_each_run(std::size_t first, std::size_t n, const Use& use) const {
    if (chosen_ == nullptr) return use(array_ + first, n);
    while (n > 0) {
      const std::size_t i = first / row_bytes_, within = first % row_bytes_;
      std::size_t next = i + 1, run = row_bytes_ - within;
      for (; run < n && chosen_[next] == chosen_[next - 1] + 1; ++next) run += row_bytes_;
      run = std::min(run, n);
      for (std::size_t k = i; k < next; ++k) ask_for(k + kRowsAhead);
      use(array_ + chosen_[i] * row_bytes_ + within, run);
      first += run;
      n -= run;
    }
  }

 private:
  /// Prefetches rows ahead, because few chosen rows are neighbours and the reader would wait for each.
  static constexpr std::size_t kRowsAhead = 12, kMaxAskedBytes = 512, kLineBytes = 64;
  void ask_for(std::size_t i) const {
    if ((i + 1) * row_bytes_ > size_) return;
    const std::byte* row = array_ + chosen_[i] * row_bytes_;
    for (std::size_t at = 0; at < std::min(row_bytes_, kMaxAskedBytes); at += kLineBytes)
      __builtin_prefetch(row + at, 0, 2);
  }

  const std::byte* array_;
  std::size_t row_bytes_;
  const std::uint32_t* chosen_;
  std::size_t array_bytes_, size_;
};

}  // namespace apsyn::idg
