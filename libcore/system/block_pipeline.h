// SPDX-License-Identifier: GPL-3.0-or-later
// Blocks of work through all threads without a pause between them: while the last items of one block are
// being done, those of the next are begun, and what is left to do for a whole block is done beside them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace apsyn {

struct BlockSteps {
  /// Makes block number 0, 1, ... ready; returns the number of its items, or no value at the end. One call
  /// after the other, in their order.
  std::function<std::optional<std::size_t>(std::size_t block)> prepare;
  /// Any number of threads. `thread` is below n_threads, and nobody else's meanwhile.
  std::function<void(std::size_t block, std::size_t item, unsigned thread)> work;
  /// What is done once all items of a block have been: step after step.
  struct Step {
    bool in_order = false;  ///< one block after the other, in their order; else several at the same time
    std::function<void(std::size_t block)> run;
  };
  std::vector<Step> then;
};

/// Takes blocks through their steps on up to n_threads threads, the caller's among them, at most n_open at a
/// time: block b is prepared when b - n_open has been through all of its steps. If several calls fail, it
/// throws the error of the first of them, in the order in which one thread would make them.
void run_blocks(unsigned n_threads, std::size_t n_open, const BlockSteps& steps);

}  // namespace apsyn
