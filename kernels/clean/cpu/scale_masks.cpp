// SPDX-License-Identifier: GPL-3.0-or-later
// The positions where components of each scale could have contributed to an earlier model.
#include <algorithm>

#include "kernels/clean/cpu/multiscale.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Pixels [begin, end) of a kernel's row that are not 0, from its centre.
struct KernelRun {
  std::ptrdiff_t row = 0, begin = 0, end = 0;
};

std::vector<KernelRun> runs_of(View<const float, 2> kernel) {
  const auto half_y = static_cast<std::ptrdiff_t>(kernel.extent(0) / 2),
             half_x = static_cast<std::ptrdiff_t>(kernel.extent(1) / 2);
  std::vector<KernelRun> runs;
  for (std::size_t y = 0; y < kernel.extent(0); ++y)
    for (std::size_t x = 0, end = 0; x < kernel.extent(1); x = end + 1) {
      for (end = x; end < kernel.extent(1) && kernel(y, end) != 0; ++end) {
      }
      if (end > x)
        runs.push_back({static_cast<std::ptrdiff_t>(y) - half_y, static_cast<std::ptrdiff_t>(x) - half_x,
                        static_cast<std::ptrdiff_t>(end) - half_x});
    }
  return runs;
}

}  // namespace

ScaleMasks masks_within(const std::vector<CleanScale>& scales, View<const std::uint8_t, 2> used,
                        unsigned n_threads) {
  const auto ny = static_cast<std::ptrdiff_t>(used.extent(0)),
             nx = static_cast<std::ptrdiff_t>(used.extent(1));
  std::ptrdiff_t reach = 0;
  for (const CleanScale& scale : scales)
    reach = std::max(reach, static_cast<std::ptrdiff_t>(scale.kernel.extent(1)));
  // [y][x + reach] pixels that are not used before x; beyond the image there are none.
  Buffer<std::uint32_t, 2> unused_before({used.extent(0), static_cast<std::size_t>(nx + 1 + 2 * reach)});
  for (std::ptrdiff_t y = 0; y < ny; ++y) {
    std::uint32_t* before = &unused_before(y, 0);
    for (std::ptrdiff_t x = 0; x < nx; ++x)
      before[reach + x + 1] = before[reach + x] + (used(y, x) == 0 ? 1 : 0);
    std::fill(before + reach + nx + 1, before + nx + 1 + 2 * reach, before[reach + nx]);
  }
  ScaleMasks masks(scales.size());
  for (std::size_t s = 0; s < scales.size(); ++s) {
    masks[s].resize(used.shape());
    if (scales[s].width_pixels <= 0) {
      std::copy(used.begin(), used.end(), masks[s].begin());
      continue;
    }
    const std::vector<KernelRun> runs = runs_of(scales[s].kernel);
    parallel_for(n_threads, used.extent(0), [&](std::size_t row, unsigned) {
      std::vector<std::uint32_t> unused(used.extent(1), 0);
      for (const KernelRun& run : runs) {
        const std::ptrdiff_t y = static_cast<std::ptrdiff_t>(row) + run.row;
        if (y < 0 || y >= ny || unused_before(y, reach + nx) == 0) continue;
        const std::uint32_t* begin = &unused_before(y, reach + run.begin);
        const std::uint32_t* end = &unused_before(y, reach + run.end);
        for (std::size_t x = 0; x < unused.size(); ++x) unused[x] += end[x] - begin[x];
      }
      std::transform(unused.begin(), unused.end(), masks[s].view()[row].begin(),
                     [](std::uint32_t n) -> std::uint8_t { return n == 0 ? 1 : 0; });
    });
  }
  return masks;
}

}  // namespace apsyn
