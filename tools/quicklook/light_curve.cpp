// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <cmath>

#include "libcore/formats/fits/image.h"
#include "libcore/plot/figures/image_captions.h"
#include "libcore/plot/figures/time_series_figure.h"
#include "tools/quicklook/quicklook.h"
#include "tools/quicklook/stats.h"

namespace apsyn {
namespace {

/// Weights of four neighbours a fraction t beyond the second: Keys 1981 (IEEE Trans. ASSP 29, 1153) equation
/// 15 with a = -1/2, exact for parabolas.
std::array<double, 4> cubic_weights(double t) {
  const double t2 = t * t, t3 = t2 * t;
  return {(-t3 + 2 * t2 - t) / 2, (3 * t3 - 5 * t2 + 2) / 2, (-3 * t3 + 4 * t2 + t) / 2, (t3 - t2) / 2};
}

/// NaN outside the image, and where a neighbour is blank.
double value_at(View<const double, 2> plane, const Point& pixel) {
  const double x = std::floor(pixel.x), y = std::floor(pixel.y);
  if (!(x >= 1 && y >= 1 && x + 2 < static_cast<double>(plane.extent(1)) &&
        y + 2 < static_cast<double>(plane.extent(0))))
    return NAN;
  const auto x0 = static_cast<std::size_t>(x) - 1, y0 = static_cast<std::size_t>(y) - 1;
  const std::array<double, 4> along_x = cubic_weights(pixel.x - x), along_y = cubic_weights(pixel.y - y);
  double sum = 0;
  for (std::size_t j = 0; j < 4; ++j)
    for (std::size_t i = 0; i < 4; ++i) sum += along_y[j] * along_x[i] * plane(y0 + j, x0 + i);
  return sum;
}

struct LightCurves {
  ImageInfo info;  ///< of the first image
  UtcTime start;
  std::vector<TimeSeries> sources;
  std::vector<double> noise;  ///< of each image
};

void add_image(const QuicklookOptions& o, const SkyModel& sky, const std::string& input, Image& frame,
               LightCurves& curves) {
  ImageMean mean(averages_channels(o));
  mean.add(frame);
  const Image image = mean.take();
  if (!image.info.time) throw DataError("{}: no DATE-OBS: a light curve needs times", input);
  const ImageFigureOptions plane = plane_options(o, image, {});
  const SkyView view = image_figure_view(image, plane);
  const Buffer<double, 2> pixels = image_figure_plane(image, plane, view);
  if (curves.sources.empty()) {
    curves.info = image.info;
    curves.start = *image.info.time;
    for (const SkyComponent& component : sky.components) curves.sources.push_back({component.name, {}, {}});
  }
  curves.noise.push_back(plane_statistics(pixels).noise);
  for (std::size_t i = 0; i < sky.components.size(); ++i) {
    const auto at = view.projection.pixel(sky.components[i].direction);
    TimeSeries& curve = curves.sources[i];
    const double time_s = seconds_between(curves.start, *image.info.time);
    if (!curve.time_s.empty() && time_s < curve.time_s.back())
      throw UsageError(
          "{}: it is earlier than the image before it: give the files in the order of their times", input);
    curve.time_s.push_back(time_s);
    curve.value.push_back(at ? value_at(pixels, {at->x - view.pixels.x0 - 0.5, at->y - view.pixels.y0 - 0.5})
                             : NAN);
  }
}

Json stats_of(const LightCurves& curves) {
  Json stats;
  stats["kind"] = "light_curves";
  stats["telescope"] = curves.info.telescope;
  stats["unit"] = curves.info.unit;
  stats["start_utc"] = format_fits_utc(curves.start);
  stats["images"] = curves.noise.size();
  stats["time_s"] = curves.sources.empty() ? std::vector<double>{} : curves.sources[0].time_s;
  stats["noise"] = curves.noise;
  std::vector<Json> sources;
  for (const TimeSeries& curve : curves.sources) {
    double sum = 0, square = 0, n = 0;
    for (const double value : curve.value)
      if (std::isfinite(value)) sum += value, square += value * value, n += 1;
    const double mean = n > 0 ? sum / n : NAN;
    Json source;
    source["name"] = curve.name;
    source["mean"] = mean;
    source["scatter"] = n > 1 ? std::sqrt(std::max(0.0, (square - n * mean * mean) / (n - 1))) : NAN;
    source["values"] = curve.value;
    sources.push_back(source);
  }
  stats["sources"] = sources;
  return stats;
}

Canvas draw(const QuicklookOptions& o, const LightCurves& curves) {
  TimeSeriesFigure figure;
  Heading heading = image_heading(curves.info, {});
  figure.title = !o.title.empty() ? o.title : heading.title;
  figure.subtitle = heading.subtitle;
  figure.size = o.size;
  figure.from_zero = true;
  double most = 0;
  for (const TimeSeries& curve : curves.sources)
    for (const double value : curve.value)
      if (std::isfinite(value)) most = std::max(most, std::abs(value));
  const DisplayUnit unit = display_unit(curves.info.unit, most);
  figure.label = unit.label;
  std::vector<TimeSeries> scaled;  // of those that were seen
  for (const TimeSeries& curve : curves.sources)
    if (std::any_of(curve.value.begin(), curve.value.end(), [](double x) { return std::isfinite(x); }))
      scaled.push_back(curve);
  for (TimeSeries& curve : scaled)
    for (double& value : curve.value) value *= unit.factor;
  const std::vector<double>& times = curves.sources[0].time_s;
  // images may all be of one time
  const double step_s = times.back() > 0 ? times.back() / static_cast<double>(times.size() - 1) : 1;
  for (TimeSeries& curve : scaled)
    for (double& time_s : curve.time_s) time_s += step_s / 2;
  figure.end_s = times.back() + step_s;
  return draw_time_series(scaled, figure);
}

}  // namespace

Look look_at_light_curves(Tool& tool, const QuicklookOptions& o) {
  const SkyModel sky = read_sky_model(o.light_curve);
  if (sky.components.empty()) throw DataError("{}: no sources", o.light_curve);
  tool.stage("read");
  LightCurves curves;
  Progress progress(tool, "reading", static_cast<double>(o.inputs.size()), "files");
  for (std::size_t i = 0; i < o.inputs.size(); ++i) {
    for_each_fits_frame(o.inputs[i], [&](Image& image) { add_image(o, sky, o.inputs[i], image, curves); });
    progress.update(static_cast<double>(i + 1));
  }
  Look look{stats_of(curves), {}};
  if (!o.picture) return look;
  tool.stage("draw");
  look.picture = draw(o, curves);
  return look;
}

}  // namespace apsyn
