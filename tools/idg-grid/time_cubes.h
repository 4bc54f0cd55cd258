// SPDX-License-Identifier: GPL-3.0-or-later
// --time-cube: the images of all intervals of one field and channel group as one file of each kind, with the
// axis TIME of epic-image's cubes.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "libcore/formats/fits/cube.h"
#include "libcore/imaging/intervals.h"
#include "libcore/visibility/imaging.h"
#include "tools/idg-grid/outputs.h"
#include "tools/imaging/field.h"

namespace apsyn::idg_grid {

/// Where the images of intervals lie along an axis of time: the middle of interval k is at first_middle_mjd_s
/// + k step_s.
struct TimeAxis {
  double first_middle_mjd_s = 0, step_s = 0;
};
/// UsageError where the intervals are of different lengths or do not follow each other evenly, to a hundredth
/// of the step.
TimeAxis time_axis(std::span<const TimeInterval> intervals, const std::vector<double>& times_mjd_s);

class TimeCubes {
 public:
  /// Begins the files; `part` as output_names() takes it.
  TimeCubes(const Imager& imager, const std::string& part, const Field& field, const ChannelGroup& group,
            std::size_t n_intervals, const TimeAxis& axis);
  /// The images of one interval, any one first; from any thread. Intervals that never come are NaN.
  void write(std::size_t interval, const GroupImages& images);
  void commit();

 private:
  const Imager& imager_;
  Field field_;
  ChannelGroup group_;
  double step_s_;
  std::mutex mutex_;  ///< guards the files
  std::map<Product, std::unique_ptr<FitsCubeWriter>> files_;
  std::map<Product, std::size_t> n_record_;  ///< floats of one image
  std::vector<bool> written_;                ///< [interval]
};

}  // namespace apsyn::idg_grid
