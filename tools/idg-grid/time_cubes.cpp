// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/idg-grid/time_cubes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "tools/imaging/images.h"

namespace apsyn::idg_grid {
namespace {

double middle_mjd_s(const TimeInterval& interval, const std::vector<double>& times_mjd_s) {
  return (times_mjd_s[interval.first] + times_mjd_s[interval.first + interval.n - 1]) / 2;
}

}  // namespace

TimeAxis time_axis(std::span<const TimeInterval> intervals, const std::vector<double>& times_mjd_s) {
  constexpr double kUneven = 0.01;
  const double first_s = middle_mjd_s(intervals.front(), times_mjd_s),
               last_s = middle_mjd_s(intervals.back(), times_mjd_s),
               n_steps = static_cast<double>(std::max<std::size_t>(1, intervals.size() - 1));
  // MJD in seconds resolves a microsecond.
  const double step_s = std::round((last_s - first_s) / n_steps * 1e6) / 1e6;
  for (const TimeInterval& interval : intervals)
    if (interval.n != intervals[0].n)
      throw UsageError(
          "--time-cube: {} intervals of {} integrations are not of equal length: choose an --intervals-out "
          "that "
          "divides them, or leave out --time-cube",
          intervals.size(), times_mjd_s.size());
  for (std::size_t k = 0; k < intervals.size(); ++k) {
    const double there_s = middle_mjd_s(intervals[k], times_mjd_s) - first_s,
                 even_s = static_cast<double>(k) * step_s;
    if (std::abs(there_s - even_s) > kUneven * step_s)
      throw UsageError(
          "--time-cube: interval {} is {} after the first, not {}: choose integrations without a gap with "
          "--interval, or leave out --time-cube",
          k, format_duration(there_s), format_duration(even_s));
  }
  return {first_s, step_s};
}

TimeCubes::TimeCubes(const Imager& imager, const std::string& part, const Field& field,
                     const ChannelGroup& group, std::size_t n_intervals, const TimeAxis& axis)
    : imager_(imager), field_(field), group_(group), step_s_(axis.step_s), written_(n_intervals, false) {
  const OutputNames names = output_names(imager, part);
  const Options& options = imager.options;
  for (const Product product : {Product::dirty, Product::psf, Product::beam}) {
    if (names.of(product).empty()) continue;
    const std::vector<std::string> planes = plane_names(imager);
    const bool enlarged = product == Product::psf && options.psf_size != 0;
    FitsCubeShape shape{.nx = enlarged ? options.psf_size : options.imaging.n_x,
                        .ny = enlarged ? options.psf_size : options.imaging.n_y,
                        .n_stokes = product == Product::dirty ? planes.size() : 1,
                        .in_time = true,
                        .step_s = axis.step_s};
    ImageInfo info = info_of(imager, field, group,
                             product == Product::dirty ? planes
                             : product == Product::psf ? std::vector{planes[0]}
                                                       : std::vector<std::string>{"I"});
    if (product == Product::beam) info.unit = "";
    if (product == Product::dirty && imager.aterms()) info.keywords.emplace_back("PBCOR", 1);
    info.time = from_mjd_seconds(axis.first_middle_mjd_s - axis.step_s / 2);
    std::erase_if(info.keywords, [](const auto& keyword) { return keyword.first == "XPOSURE"; });
    n_record_[product] = shape.n_record();
    files_[product] =
        std::make_unique<FitsCubeWriter>(names.of(product), info, shape, imager.tool.common().overwrite);
  }
}

void TimeCubes::write(std::size_t interval, const GroupImages& images) {
  std::map<Product, std::vector<float>> records;
  make_products(
      imager_, field_, images, group_, 1,
      [&](Product product, const ImageInfo&, const Buffer<double, 4>::Shape&, const FitsPixelSource& source) {
        std::vector<float>& record = records[product];
        std::vector<double> pixels(n_record_.at(product));
        source(0, pixels);
        record.resize(pixels.size());
        std::transform(pixels.begin(), pixels.end(), record.begin(),
                       [](double pixel) { return static_cast<float>(pixel); });
      });
  std::lock_guard lock(mutex_);
  written_[interval] = true;
  for (const auto& [product, record] : records) files_.at(product)->write(interval, record, step_s_, true);
}

void TimeCubes::commit() {
  for (auto& [product, file] : files_) {
    const std::vector<float> blank(n_record_.at(product), std::numeric_limits<float>::quiet_NaN());
    for (std::size_t k = 0; k < written_.size(); ++k)
      if (!written_[k]) file->write(k, blank, step_s_, false);
    file->commit();
  }
}

}  // namespace apsyn::idg_grid
