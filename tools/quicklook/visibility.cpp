// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/visibility_summary/visibility_summary.h"
#include "libcore/base/error.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/measures/coordinates.h"
#include "libcore/plot/figures/visibility_figure.h"
#include "libcore/streams/visibility_stream.h"
#include "tools/quicklook/quicklook.h"
#include "tools/quicklook/stats.h"

namespace apsyn {
namespace {

constexpr std::size_t kRowsBytes = 32u << 20;

Look finish(Tool& tool, const QuicklookOptions& o, const VisibilitySummary& summary) {
  tool.report_rate(static_cast<double>(summary.n_samples), "vis");
  Look look{stats_of(summary), {}};
  if (!o.picture) return look;
  tool.stage("draw");
  look.picture = draw_visibility_figure(summary, {o.title, parse_visibility_plot(o.plot), o.size});
  return look;
}

/// What waterfall and which fringes were asked for.
void want_baselines(VisibilitySummary& summary, const ArrayLayout& layout, const QuicklookOptions& o) {
  if (o.plot != "fringes" && o.channel >= 0) throw UsageError("--channel: only for --plot fringes");
  if (o.plot == "waterfall") {
    summary.waterfall.wanted = true;
    if (!o.baselines.empty())
      for (const Fringe& pair : parse_baselines(o.baselines, layout))
        summary.waterfall.baselines.emplace_back(pair.ant1, pair.ant2);
    return;
  }
  if (o.plot != "fringes") {
    if (!o.baselines.empty()) throw UsageError("--baselines: only for --plot fringes and waterfall");
    return;
  }
  constexpr std::size_t kPanels = 8;
  const std::size_t n_chan = summary.channel_hz.size();
  const std::size_t chan = o.channel < 0 ? n_chan / 2 : static_cast<std::size_t>(o.channel);
  if (chan >= n_chan)
    throw UsageError("--channel {}: the data have {} channels, counted from 0", chan, n_chan);
  summary.fringe_hz = summary.channel_hz[chan];
  summary.fringes =
      o.baselines.empty() ? spread_baselines(layout, kPanels) : parse_baselines(o.baselines, layout);
  if (summary.fringes.empty()) throw FailureError("no usable data: one antenna has no baselines");
}

constexpr double kMaxInterval_s = 1e9, kMaxTime_s = 1e12;  // times have to be written as dates

/// What is no length of an integration counts as unknown.
double plausible_interval(double interval_s) {
  return interval_s >= 0 && interval_s < kMaxInterval_s ? interval_s : 0;
}

double require_time(double time_mjd_s, const std::string& path) {
  if (!(std::abs(time_mjd_s) < kMaxTime_s))
    throw DataError("{}: TIME {} s: no date that anyone could observe at: the set is damaged", path,
                    time_mjd_s);
  return time_mjd_s;
}

/// What the set tells before its rows are read.
VisibilitySummary about(const MeasurementSetReader& reader, const std::string& path) {
  VisibilitySummary summary;
  summary.telescope = reader.telescope();
  summary.flux_unit = reader.flux_unit();
  if (reader.fields().size() == 1) summary.source = reader.fields()[0].name;
  for (const MsSpectralWindow& window : reader.spectral_windows()) {
    summary.channel_hz.insert(summary.channel_hz.end(), window.channel_hz.begin(), window.channel_hz.end());
    for (double width : window.width_hz) summary.channel_width_hz = std::max(summary.channel_width_hz, width);
  }
  summary.products = reader.products();
  for (const Antenna& antenna : reader.layout().antennas) summary.antennas.push_back(antenna.name);
  summary.first_time_mjd_s = require_time(reader.first_time_mjd_s(), path);
  require_time(reader.last_time_mjd_s(), path);
  return summary;
}

std::size_t rows_per_block(const MeasurementSetReader& reader) {
  std::size_t n_chan = 1;
  for (const MsSpectralWindow& window : reader.spectral_windows())
    n_chan = std::max(n_chan, window.channel_hz.size());
  return std::clamp<std::size_t>(kRowsBytes / (n_chan * reader.products().size() * 12), 1, 65536);
}

/// What the header of a stream tells.
VisibilitySummary about(const VisibilityHeader& header) {
  VisibilitySummary summary;
  summary.telescope = header.telescope;
  summary.flux_unit = header.flux_unit;
  summary.source = header.source;
  summary.channel_hz = header.channel_hz;
  summary.channel_width_hz = std::abs(header.channel_width_hz);
  summary.products = header.products;
  for (const Antenna& antenna : header.layout.antennas) summary.antennas.push_back(antenna.name);
  summary.interval_s = plausible_interval(header.integration_s);
  summary.first_time_mjd_s = header.start.mjd_seconds() + summary.interval_s / 2;
  return summary;
}

/// A stream carries no uvw: those of its baselines at the middle of integration `index`. Without a phase
/// centre they are east, north and up, as seen from the zenith.
class StreamUvw {
 public:
  explicit StreamUvw(const VisibilityHeader& header) : header_(header) {
    if (!header.phase_centre) return;
    if (!header.layout.site)
      throw DataError("visibility stream: a phase centre without SITE_XYZ: add the site");
    frame_.emplace(*header.layout.site);
  }
  void fill(std::int64_t index, View<double, 2> uvw_m) const {
    Mat3 rotation{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    if (frame_) {
      const UtcTime start = sample_time(header_.start, index, header_.integration_s);
      rotation =
          frame_->uvw_rotation(sample_time(start, 1, header_.integration_s / 2), *header_.phase_centre);
    }
    const auto& antennas = header_.layout.antennas;
    for (std::size_t i = 0; i < header_.baselines.size(); ++i) {
      const Baseline& b = header_.baselines[i];
      const Vec3 enu_m = antennas.at(static_cast<std::size_t>(b.ant1)).enu_m -
                         antennas.at(static_cast<std::size_t>(b.ant2)).enu_m;
      const Vec3 uvw = multiply(rotation, enu_m);
      for (std::size_t axis = 0; axis < 3; ++axis) uvw_m(i, axis) = uvw[axis];
    }
  }

 private:
  const VisibilityHeader& header_;
  std::optional<SkyFrame> frame_;
};

}  // namespace

Look look_at_visibility_stream(Tool& tool, const QuicklookOptions& o) {
  tool.stage("read");
  VisibilityStreamReader reader(o.inputs[0]);
  const VisibilityHeader& header = reader.header();
  const StreamUvw geometry(header);
  VisibilitySummary start = about(header);
  want_baselines(start, header.layout, o);
  VisibilitySummariser summariser(std::move(start));
  const std::size_t n_bl = header.baselines.size();
  Buffer<double, 2> uvw_m({n_bl, 3});
  std::vector<int> ant1, ant2;
  for (const Baseline& b : header.baselines) ant1.push_back(b.ant1), ant2.push_back(b.ant2);
  Progress progress(tool, "reading", 0, "integrations");
  VisibilityRecord record;
  for (double done = 0; reader.read(record); progress.update(++done)) {
    geometry.fill(record.index, uvw_m);
    const double middle_s = header.integration_s * (static_cast<double>(record.index) + 0.5);
    const std::vector<double> times(n_bl, header.start.mjd_seconds() + middle_s);
    summariser.add(
        {uvw_m, times.data(), ant1.data(), ant2.data(), &header.channel_hz, record.data, record.weight});
  }
  return finish(tool, o, summariser.summary());
}

Look look_at_measurement_set(Tool& tool, const QuicklookOptions& o) {
  tool.stage("open");
  MsSelection selection;
  selection.column = o.column;
  selection.autos = true;
  MeasurementSetReader reader(o.inputs[0], selection);
  VisibilitySummary start = about(reader, o.inputs[0]);
  want_baselines(start, reader.layout(), o);
  const std::size_t max_rows = rows_per_block(reader);
  MsRows rows;
  bool more = reader.read(rows, max_rows);
  if (more && !rows.interval_s.empty()) start.interval_s = plausible_interval(rows.interval_s[0]);
  VisibilitySummariser summariser(std::move(start));
  Progress progress(tool, "reading", static_cast<double>(reader.n_rows()), "rows");
  tool.stage("read");
  for (; more; more = reader.read(rows, max_rows)) {
    const auto& window = reader.spectral_windows()[static_cast<std::size_t>(rows.spw)];
    summariser.add({rows.uvw_m, rows.time_mjd_s.data(), rows.ant1.data(), rows.ant2.data(),
                    &window.channel_hz, rows.data, rows.weight});
    progress.update(static_cast<double>(summariser.summary().n_rows));
  }
  return finish(tool, o, summariser.summary());
}

}  // namespace apsyn
