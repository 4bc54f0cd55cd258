// SPDX-License-Identifier: GPL-3.0-or-later
// Samples through F and X: read | correlate | write, each in a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kernels/voltage_summary/sample_counts.h"
#include "libcore/core/parallel.h"
#include "tools/correlate/engine.h"

namespace apsyn {

struct StreamItem {
  VoltageBlock block;
  std::shared_ptr<void> pinned;  ///< its memory
  bool last = false;             ///< an empty block behind the stream's end
  std::vector<FxResult> results;
  std::size_t n_results = 0;  ///< used

  FxResult& place() {
    if (results.size() == n_results) results.emplace_back();
    return results[n_results];
  }
};

/// Where samples come from and what is made of them.
struct StreamUse {
  std::function<bool(VoltageBlock&)> read;  ///< false at the end
  std::function<void()> advance;            ///< some spectra are done
  std::function<void(FxResult&)> write;     ///< one integration after the other; what it holds may be taken
};

inline void correlate_stream(const CorrelatePlan& plan, FxEngine& engine, const StreamUse& use) {
  bool ended = false;
  run_pipeline<StreamItem>(
      1,
      [&] {
        StreamItem item;
        item.pinned = pin_samples(engine, plan, item.block);
        return item;
      },
      [&](StreamItem& item) {
        if (ended) return false;
        item.last = ended = !use.read(item.block);
        return true;
      },
      [&](StreamItem& item) {
        if (item.last)
          engine.end_of_stream();
        else
          engine.append(item.block);
        for (item.n_results = 0; engine.next(item.place()); ++item.n_results) {
        }
        use.advance();
      },
      [&](StreamItem& item) {
        for (std::size_t i = 0; i < item.n_results; ++i) use.write(item.results[i]);
      });
}

}  // namespace apsyn
