// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/search-transients/images/outputs.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/time.h"
#include "libcore/formats/fits/cube.h"
#include "libcore/plot/figure_file.h"
#include "libcore/plot/figures/image_figure.h"
#include "libcore/sky/projection.h"
#include "tools/search-transients/results.h"

namespace apsyn {
namespace {

constexpr std::size_t kPictureSize = 640;

double middle_s(const ImageContext& context, const PulseHit& hit) {
  return (static_cast<double>(hit.begin) + static_cast<double>(hit.width) / 2) * context.info.step_s;
}

TransientDetail detail_of(const ImageContext& context, const ImageCandidate& candidate) {
  const ImageCutout& from = candidate.cutout.value();
  const ImageSeriesInfo& info = context.info;
  const PulseHit& hit = candidate.hit;
  TransientDetail detail;
  detail.point = {middle_s(context, hit), context.plan.dm[hit.trial], static_cast<double>(hit.sn)};
  const std::size_t n_chan = from.spectrum.extent(0), n_time = from.spectrum.extent(1);
  PulseCutout& to = detail.cutout;
  to.spectrum.resize({n_chan, n_time});
  to.profile.resize({n_time});
  for (std::size_t t = 0; t < n_time; ++t) {
    double sum = 0, n = 0;
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      const auto value = static_cast<double>(from.spectrum(chan, t));
      to.spectrum(info.image.bandwidth_hz < 0 ? n_chan - 1 - chan : chan, t) = value;
      if (std::isfinite(value)) sum += value, n += 1;
    }
    to.profile(t) = n > 0 ? sum / std::sqrt(n) : NAN;
  }
  to.step_s = info.step_s;
  to.first_s = static_cast<double>(from.first_frame) * info.step_s - detail.point.time_s;
  const double half = std::abs(info.image.bandwidth_hz) / 2, a = info.image.freq_hz,
               b = a + static_cast<double>(n_chan - 1) * info.image.bandwidth_hz;
  to.low_hz = std::min(a, b) - half, to.high_hz = std::max(a, b) + half;
  for (std::size_t trial = 0; trial < candidate.trial_sn.size(); ++trial)
    if (candidate.trial_sn[trial] > 0) {
      detail.dm.push_back(context.plan.dm[trial]);
      detail.sn.push_back(static_cast<double>(candidate.trial_sn[trial]));
    }
  return detail;
}

std::string title_of(const ImageSeriesInfo& info) {
  return info.image.object.empty() || info.image.object == "unknown" ? info.name : info.image.object;
}

std::string start_of(const ImageSeriesInfo& info) {
  std::string start = format_fits_utc(*info.image.time, 0);
  if (const auto t = start.find('T'); t != std::string::npos) start[t] = ' ';
  return start;
}

TransientFigure empty_figure(const ImageContext& context) {
  const ImagesPlan& plan = context.plan;
  const ImageSeriesInfo& info = context.info;
  TransientFigure figure;
  figure.title = title_of(info);
  figure.footer =
      fmt::format("{} trials of DM, {} filters of {} to {}", plan.dm.size(), plan.search.widths.size(),
                  format_duration(static_cast<double>(plan.search.widths.front()) * info.step_s),
                  format_duration(static_cast<double>(plan.search.widths.back()) * info.step_s));
  figure.threshold = plan.search.threshold;
  figure.dm_low = plan.dm.front(), figure.dm_high = plan.dm.back();
  return figure;
}

/// Of a cut-out of one channel, the whole band.
ImageInfo cutout_info(const ImageContext& context, const ImageCandidate& candidate,
                      const SkyDirection& centre) {
  const ImageSeriesInfo& series = context.info;
  const ImageCutout& cutout = candidate.cutout.value();
  const double n_chan = static_cast<double>(series.n_chan);
  ImageInfo info;
  info.centre = centre;
  info.cell_rad = series.image.cell_rad, info.cell_y_rad = series.image.cell_y_rad;
  const std::array<double, 2> at = reference_pixel(series.image, series.nx, series.ny);
  info.reference_pixel = {at[0] - static_cast<double>(cutout.x0), at[1] - static_cast<double>(cutout.y0)};
  info.freq_hz = series.image.freq_hz + (n_chan - 1) / 2 * series.image.bandwidth_hz;
  info.bandwidth_hz = n_chan * series.image.bandwidth_hz;
  info.unit = series.image.unit;
  info.object = series.image.object, info.telescope = series.image.telescope;
  info.time = sample_time(*series.image.time, cutout.first_frame, series.step_s);
  info.keywords = {{"DM", context.plan.dm[candidate.hit.trial]},
                   {"SNR", static_cast<double>(candidate.hit.sn)},
                   {"WIDTH", static_cast<double>(candidate.hit.width) * series.step_s}};
  return info;
}

}  // namespace

SkyDirection direction_of(const ImageSeriesInfo& info, const SkyDirection& centre, double x, double y) {
  const std::array<double, 2> at = reference_pixel(info.image, info.nx, info.ny);
  const double cell_y = info.image.cell_y_rad != 0 ? info.image.cell_y_rad : info.image.cell_rad;
  return unproject(centre, (at[0] - x) * info.image.cell_rad, (y - at[1]) * cell_y);
}

std::string table_line(const ImageContext& context, const ImageCandidate& candidate,
                       const SkyDirection& centre) {
  const PulseHit& hit = candidate.hit;
  const double step_s = context.info.step_s;
  const std::vector<double>& dm = context.plan.dm;
  const UtcTime half = sample_time(*context.info.image.time, 2 * hit.begin + hit.width, step_s / 2);
  const SkyDirection at = direction_of(context.info, centre, candidate.x, candidate.y);
  return fmt::format(
      "{:.7f},{},{:.4f},{:.2f},{:.7f},{},{:.4f},{:.4f},{:.7f},{:.7f},{:.6f},{:.6f},{:.2f},{:.2f},{},{:.6g}",
      middle_s(context, hit), format_mjd(half), dm[hit.trial], hit.sn,
      static_cast<double>(hit.width) * step_s, hit.n_hits, dm[hit.first_trial], dm[hit.last_trial],
      static_cast<double>(hit.first) * step_s, static_cast<double>(hit.last) * step_s, at.ra_rad / kRadPerDeg,
      at.dec_rad / kRadPerDeg, candidate.x, candidate.y, hit.n_pixels, candidate.flux);
}

void write_cutout(const Tool& tool, const ImageContext& context, const ImageCandidate& candidate,
                  const SkyDirection& centre, const std::string& name) {
  const ImageCutout& cutout = candidate.cutout.value();
  ImageInfo info = cutout_info(context, candidate, centre);
  info.history = tool.provenance();
  FitsCubeShape shape;
  shape.nx = cutout.images.extent(2), shape.ny = cutout.images.extent(1);
  shape.in_time = true, shape.step_s = context.info.step_s;
  FitsCubeWriter cube(name + ".fits", info, shape, tool.common().overwrite);
  const std::size_t n_pixel = shape.nx * shape.ny;
  for (std::size_t t = 0; t < cutout.images.extent(0); ++t)
    cube.write({&cutout.images(t, 0, 0), n_pixel}, shape.step_s, true);
  cube.commit();

  Image image;
  image.info = std::move(info);
  image.info.unit = "S/N";
  image.pixels.resize({1, 1, shape.ny, shape.nx});
  std::copy(cutout.significance.begin(), cutout.significance.end(), image.pixels.begin());
  ImageFigureOptions options;
  options.size = kPictureSize;
  options.title = fmt::format("S/N {:.1f}, DM {:.5g} pc cm\u207b\u00b3", candidate.hit.sn,
                              context.plan.dm[candidate.hit.trial]);
  options.stretch = StretchKind::linear;
  const Canvas sky = draw_image_figure(image, options);
  TransientFigure figure = empty_figure(context);
  figure.best.push_back(detail_of(context, candidate));
  const TransientPoint& point = figure.candidates.emplace_back(figure.best[0].point);
  figure.duration_s = point.time_s + static_cast<double>(candidate.hit.width) * context.info.step_s;
  const SkyDirection at = direction_of(context.info, centre, candidate.x, candidate.y);
  figure.subtitle =
      fmt::format("{:.7g} s after {} UTC  \u00b7  RA {:.4f}\u00b0, Dec {:.4f}\u00b0", point.time_s,
                  start_of(context.info), at.ra_rad / kRadPerDeg, at.dec_rad / kRadPerDeg);
  const Canvas curves = draw_transient_figure(figure, kPictureSize);
  Canvas sheet(sky.width() + curves.width(), std::max(sky.height(), curves.height()));
  sheet.paste(sky, 0, 0);
  sheet.paste(curves, static_cast<double>(sky.width()), 0);
  const std::vector<std::string> provenance = tool.provenance();
  write_figure(name + ".png", sheet, {"apsyn " + provenance[0], provenance[1]}, tool.common().overwrite);
}

void ImageGallery::add(const ImageContext& context, const ImageCandidate& candidate) {
  const TransientPoint point{middle_s(context, candidate.hit), context.plan.dm[candidate.hit.trial],
                             static_cast<double>(candidate.hit.sn)};
  if (strongest_.add(point)) strongest_.keep(detail_of(context, candidate));
}

TransientFigure ImageGallery::figure(const ImageContext& context, double duration_s) const {
  const ImageSeriesInfo& info = context.info;
  TransientFigure figure = empty_figure(context);
  figure.subtitle = fmt::format(
      "{} candidate{} above {} \u03c3  \u00b7  {} x {} pixels, {} channels, {:.6g} MHz  \u00b7  {} UTC",
      strongest_.n_all(), strongest_.n_all() == 1 ? "" : "s", context.plan.search.threshold, info.nx, info.ny,
      info.n_chan,
      info.image.freq_hz * 1e-6 + static_cast<double>(info.n_chan - 1) / 2 * info.image.bandwidth_hz * 1e-6,
      start_of(info));
  figure.duration_s = duration_s;
  strongest_.show(figure);
  return figure;
}

}  // namespace apsyn
