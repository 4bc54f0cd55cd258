// SPDX-License-Identifier: GPL-3.0-or-later
// A voltage stream through a tool: read | work | write, each in a thread of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "libcore/system/parallel.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

/// A gulp of samples, and what is made of it.
template <class Result>
struct StreamItem {
  VoltageBlock block;
  std::shared_ptr<void> pinned;  ///< its memory
  bool last = false;             ///< an empty block behind the stream's end
  std::vector<Result> results;   ///< their memory is used again
  std::size_t n_results = 0;     ///< used

  /// The first result that is not used.
  Result& place() {
    if (results.size() == n_results) results.emplace_back();
    return results[n_results];
  }
};

template <class Result>
struct StreamSteps {
  std::function<std::shared_ptr<void>(VoltageBlock&)> pin;  ///< gives a block its room, before all; or none
  std::function<bool(VoltageBlock&)> read;                  ///< false at the end
  std::function<void(StreamItem<Result>&)> work;            ///< the last time on the item behind the end
  std::function<void(StreamItem<Result>&)> write;
};

/// StreamSteps::work of an engine with append(), end_of_stream() and next(), which gives one result after the
/// other while there are any.
template <class Engine, class Result>
void process_item(Engine& engine, StreamItem<Result>& item) {
  if (item.last)
    engine.end_of_stream();
  else
    engine.append(item.block);
  for (item.n_results = 0; engine.next(item.place());) ++item.n_results;
}

/// Gulps that run_stream() has at a time.
inline constexpr std::uint64_t kStreamItems = 5;

/// Of so many samples, or results, that there is room for those that a stream of n (-1: endless) fills.
inline std::uint64_t filled(std::uint64_t room, std::int64_t n) {
  return n < 0 ? room : std::min(room, static_cast<std::uint64_t>(n));
}

/// Throws what the first step to fail threw.
template <class Result>
void run_stream(const StreamSteps<Result>& steps) {
  using Item = StreamItem<Result>;
  bool ended = false;
  run_pipeline<Item>(
      1,
      [&] {
        Item item;
        if (steps.pin) item.pinned = steps.pin(item.block);
        return item;
      },
      [&](Item& item) {
        if (ended) return false;
        item.last = ended = !steps.read(item.block);
        return true;
      },
      steps.work, steps.write);
}

}  // namespace apsyn
