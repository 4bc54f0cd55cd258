// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/intervals/kept_images.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "libcore/cli/tool.h"
#include "libcore/system/parallel.h"
#include "tools/imaging/open_images.h"

namespace apsyn::imaging {

std::vector<double> times_of_runs(const std::vector<KeptRun>& runs) {
  std::vector<double> times;
  for (const KeptRun& run : runs)
    if (std::isfinite(run.time_mjd_s)) times.push_back(run.time_mjd_s);
  return distinct_times(std::move(times));
}

std::vector<std::vector<KeptRun>> runs_of_intervals(const std::vector<KeptRun>& runs,
                                                    std::span<const TimeInterval> intervals) {
  std::vector<std::vector<KeptRun>> of_interval(intervals.size());
  for (const KeptRun& run : runs) {
    const auto interval = std::upper_bound(
        intervals.begin(), intervals.end(), run.time_mjd_s,
        [](double time_mjd_s, const TimeInterval& each) { return time_mjd_s < each.end_mjd_s; });
    if (interval == intervals.end() || !(run.time_mjd_s >= interval->begin_mjd_s)) continue;
    std::vector<KeptRun>& own = of_interval[static_cast<std::size_t>(interval - intervals.begin())];
    if (!own.empty() && own.back().part == run.part && own.back().first + own.back().n == run.first)
      own.back().n += run.n;
    else
      own.push_back(run);
  }
  return of_interval;
}

void make_kept_interval_images(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                               std::span<const TimeInterval> intervals, const TakeIntervalImages& take) {
  const std::vector<std::vector<KeptRun>> runs = runs_of_intervals(own.noted.runs, intervals);
  own.kept->weigh({own.weights->grid(), imager.options.imaging.cell_rad});
  const IntervalPlan& plan = own.intervals;
  Progress progress(imager.tool, "gridding", own.found.n_visibilities, "vis");
  std::mutex mutex;  // guards `progress` and `done`
  double done = 0;
  std::vector<std::unique_ptr<OpenImages>> open(plan.n_workers);
  parallel_for(plan.n_workers, intervals.size(), [&](std::size_t k, unsigned worker) {
    if (runs[k].empty()) return;
    if (!open[worker]) open[worker] = std::make_unique<OpenImages>(imager, own, 1);
    OpenImages& images_of = *open[worker];
    Gridder& gridder = images_of.gridder(0);
    images_of.begin_pass(own, 0);
    double n_visibilities = 0;
    for (const KeptRun& run : runs[k])
      n_visibilities +=
          static_cast<double>(gridder.grid_kept(*own.kept, {run.part, run.first, run.n}).n_visibilities);
    images_of.end_pass();
    std::vector<GroupImages> images = images_of.take(imager, own, fields);
    const std::vector<double> of_plane = gridder.kept_weight_sums();
    // The last may be the PSF's, that of plane 0.
    for (std::size_t p = 0; p < images[0].weight_sum.size(); ++p)
      images[0].weight_sum[p] = of_plane[p < of_plane.size() ? p : 0];
    take(k, images);
    images_of.recycle(std::move(images));
    std::lock_guard lock(mutex);
    progress.update(done += n_visibilities);
  });
}

}  // namespace apsyn::imaging
