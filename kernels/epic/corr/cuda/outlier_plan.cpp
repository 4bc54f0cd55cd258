// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/outlier_plan.cuh"

#include <algorithm>
#include <cmath>

#include "kernels/epic/corr/pair_depth.h"

namespace apsyn::epic_cuda {

std::vector<OutlierRun> plan_outlier_runs(const EpicPlan& plan, const EpicGeometry& geometry,
                                          const SkyPixels& sky, double n_middle) {
  const std::size_t n_column = plan.nx / 2 + 1, n_run_row = plan.ny / 2 / kOutlierRows + 1;
  std::vector<OutlierRun> all(n_column * n_run_row);
  std::vector<std::uint8_t> any(all.size(), 0);
  for (std::size_t run = 0; run < all.size(); ++run) {
    all[run].x = static_cast<std::uint32_t>(run % n_column);
    all[run].y = static_cast<std::uint32_t>(run / n_column * kOutlierRows);
    std::fill_n(all[run].n, kOutlierRows, 0);
    std::fill_n(all[run].pixels[0], kOutlierRows * 4, kNoPixel);
  }
  for (std::size_t pixel = 0; pixel < sky.size(); ++pixel) {
    const std::size_t x = sky.index[pixel] % plan.nx, y = sky.index[pixel] / plan.nx;
    const bool left = x < plan.nx / 2, below = y < plan.ny / 2;
    const std::size_t column = left ? plan.nx / 2 - x : x - plan.nx / 2,
                      line = below ? plan.ny / 2 - y : y - plan.ny / 2;
    const std::size_t run = line / kOutlierRows * n_column + column;
    const double n = n_of(geometry, sky, pixel) - n_middle + 1;
    all[run].n[line % kOutlierRows] = static_cast<std::uint32_t>(std::llround(n * kOutlierN));
    all[run].pixels[line % kOutlierRows][(left ? 1 : 0) + (below ? 2 : 0)] =
        static_cast<std::uint32_t>(pixel);
    any[run] = 1;
  }
  std::vector<OutlierRun> runs;
  for (std::size_t run = 0; run < all.size(); ++run)
    if (any[run] != 0) runs.push_back(all[run]);
  return runs;
}

}  // namespace apsyn::epic_cuda
