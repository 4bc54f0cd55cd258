// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "libcore/system/parallel.h"

namespace apsyn::idg {

/// std::sort by threads: pieces are sorted, then pairs of neighbours are merged. `less` must be a strict
/// total order, so that the result is unique.
template <class T, class Less>
void parallel_sort(unsigned n_threads, std::vector<T>& items, const Less& less) {
  constexpr std::size_t worthwhile = 1 << 13, n_pieces = 16;
  if (items.size() < worthwhile) {
    std::sort(items.begin(), items.end(), less);
    return;
  }
  auto border = [&](std::size_t piece) {
    return items.begin() + static_cast<std::ptrdiff_t>(items.size() * piece / n_pieces);
  };
  parallel_for(n_threads, n_pieces,
               [&](std::size_t piece, unsigned) { std::sort(border(piece), border(piece + 1), less); });
  for (std::size_t width = 1; width < n_pieces; width *= 2)
    parallel_for(n_threads, n_pieces / (2 * width), [&](std::size_t pair, unsigned) {
      const std::size_t first = pair * 2 * width;
      std::inplace_merge(border(first), border(first + width), border(first + 2 * width), less);
    });
}

}  // namespace apsyn::idg
