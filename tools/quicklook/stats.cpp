// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/quicklook/stats.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/plot/stretch.h"

namespace apsyn {
namespace {

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : NAN;
}

void add_direction(JsonObject& stats, const std::string& what, const SkyDirection& at) {
  stats.add(what + "_ra_deg", at.ra_rad / kRadPerDeg).add(what + "_dec_deg", at.dec_rad / kRadPerDeg);
}

/// Means of the cross-correlations of one product over all channels.
JsonObject product_stats(const VisibilitySummary& s, std::size_t product) {
  double amplitude = 0, n = 0, n_auto = 0, power = 0;
  std::complex<double> sum = 0;
  for (std::size_t chan = 0; chan < s.channel_hz.size(); ++chan) {
    amplitude += s.sum_amplitude(product, chan);
    sum += s.sum_visibility(product, chan);
    n += static_cast<double>(s.n_cross(product, chan));
    for (std::size_t ant = 0; ant < s.antennas.size(); ++ant) {
      power += s.sum_auto(ant, product, chan);
      n_auto += static_cast<double>(s.n_auto(ant, product, chan));
    }
  }
  JsonObject stats;
  stats.add("product", product_name(s.products[product])).add("used", n);
  stats.add("mean_amplitude", ratio(amplitude, n)).add("amplitude_of_mean", ratio(std::abs(sum), n));
  stats.add("phase_of_mean_deg", n > 0 ? std::arg(sum) / kRadPerDeg : NAN);
  return stats.add("mean_autocorrelation", ratio(power, n_auto));
}

JsonObject input_stats(const VoltageSummary& s, std::size_t input) {
  double power = 0, n = 0;
  for (std::size_t bin = 0; bin < s.time.n; ++bin)
    power += s.power_sum(input, bin), n += static_cast<double>(s.n_power(input, bin));
  JsonObject stats;
  stats.add("antenna", input / s.n_pol).add("polarisation", input % s.n_pol);
  stats.add("power", ratio(power, n)).add("rms", std::sqrt(ratio(power, n * s.n_dim)));
  stats.add("saturated_fraction",
            ratio(static_cast<double>(s.n_saturated[input]), static_cast<double>(s.n_values[input])));
  const double all = static_cast<double>(s.n_time) * static_cast<double>(s.n_chan * s.n_pol);
  return stats.add("missing_fraction", ratio(static_cast<double>(s.n_missing[input / s.n_pol]), all));
}

}  // namespace

JsonObject stats_of(const Image& image, const ImageFigureOptions& shown) {
  const ImageInfo& info = image.info;
  const SkyView view = image_figure_view(image, shown);
  const Buffer<double, 2> plane = image_figure_plane(image, shown, view);
  const PlaneStatistics s = plane_statistics(plane);
  double sum = 0, square = 0;
  for (const double value : plane)
    if (std::isfinite(value)) sum += value, square += value * value;
  const auto n = static_cast<double>(s.n_finite);

  JsonObject stats;
  stats.add("kind", "image").add("object", info.object).add("telescope", info.telescope);
  if (info.time) stats.add("start_utc", format_fits_utc(*info.time));
  if (info.freq_hz > 0)
    stats.add("frequency_hz", info.freq_hz + info.bandwidth_hz * static_cast<double>(shown.channel));
  if (shown.stokes < info.stokes.size()) stats.add("stokes", info.stokes[shown.stokes]);
  stats.add("unit", info.unit)
      .add("planes", image.pixels.extent(0) * std::max(image.pixels.extent(1), shown.averaged.of_channels));
  stats.add("channels_averaged", shown.averaged.channels).add("times_averaged", shown.averaged.times);
  stats.add("width", plane.extent(1)).add("height", plane.extent(0));
  stats.add("cell_deg", view.projection.cell_x_rad / kRadPerDeg);
  add_direction(stats, "centre", view.projection.centre);
  if (info.beam)
    stats.add("beam_major_deg", info.beam->major_rad / kRadPerDeg)
        .add("beam_minor_deg", info.beam->minor_rad / kRadPerDeg)
        .add("beam_position_angle_deg", info.beam->position_angle_rad / kRadPerDeg);
  stats.add("blank_pixels", plane.size() - s.n_finite);
  if (s.n_finite == 0) return stats;
  stats.add("minimum", s.minimum).add("maximum", s.maximum);
  const Point peak{view.pixels.x0 + 0.5 + static_cast<double>(s.x_max),
                   view.pixels.y0 + 0.5 + static_cast<double>(s.y_max)};
  stats.add("maximum_x", static_cast<long>(peak.x)).add("maximum_y", static_cast<long>(peak.y));
  if (const auto at = view.projection.direction(peak)) add_direction(stats, "maximum", *at);
  stats.add("mean", sum / n).add("rms", std::sqrt(square / n)).add("sum", sum);
  return stats.add("median", s.median).add("noise", s.noise).add("dynamic_range", ratio(s.maximum, s.noise));
}

JsonObject stats_of(const VisibilitySummary& s) {
  JsonObject stats;
  stats.add("kind", "visibility").add("telescope", s.telescope).add("object", s.source);
  stats.add("start_utc", format_fits_utc(from_mjd_seconds(s.first_time_mjd_s - s.interval_s / 2)));
  stats.add("duration_s", s.last_time_mjd_s - s.first_time_mjd_s + s.interval_s);
  stats.add("integration_s", s.interval_s);
  stats.add("channels", s.channel_hz.size()).add("channel_width_hz", s.channel_width_hz);
  stats.add("lowest_channel_hz", s.channel_hz.front()).add("highest_channel_hz", s.channel_hz.back());
  stats.add("antennas", s.antennas.size());
  stats.add("antennas_with_data", std::count(s.antenna_seen.begin(), s.antenna_seen.end(), 1));
  stats.add("rows", s.n_rows).add("autocorrelation_rows", s.n_auto_rows);
  stats.add("samples", s.n_samples).add("flagged_samples", s.n_flagged);
  stats.add("flagged_fraction", ratio(static_cast<double>(s.n_flagged), static_cast<double>(s.n_samples)));
  stats.add("longest_baseline_m", s.longest_m).add("longest_baseline_wavelengths", s.longest_wavelengths);
  std::vector<JsonObject> products;
  for (std::size_t p = 0; p < s.products.size(); ++p) products.push_back(product_stats(s, p));
  return stats.add("products", products);
}

JsonObject stats_of(const VoltageSummary& s) {
  JsonObject stats;
  stats.add("kind", "voltage")
      .add("telescope", s.telescope)
      .add("object", s.source)
      .add("start_utc", format_fits_utc(s.start));
  stats.add("samples", s.n_time).add("sample_s", s.sample_s);
  stats.add("duration_s", static_cast<double>(s.n_time) * s.sample_s);
  stats.add("antennas", s.n_ant).add("polarisations", s.n_pol).add("channels", s.n_chan);
  stats.add("bits", s.n_bit).add("complex", s.n_dim == 2);
  std::vector<JsonObject> inputs;
  for (std::size_t input = 0; input < s.n_inputs(); ++input) inputs.push_back(input_stats(s, input));
  return stats.add("inputs", inputs);
}

JsonObject stats_of(const DynamicSpectrum& s) {
  JsonObject stats;
  stats.add("kind", "filterbank").add("object", s.source).add("start_utc", format_fits_utc(s.start));
  stats.add("samples", s.n_time).add("sample_s", s.sample_s);
  stats.add("duration_s", static_cast<double>(s.n_time) * s.sample_s);
  stats.add("bands", s.band_hz.size());
  stats.add("lowest_band_hz", s.band_hz.front()).add("highest_band_hz", s.band_hz.back());
  double sum = 0, n = 0;
  std::vector<double> means;
  for (std::size_t band = 0; band < s.band_hz.size(); ++band) {
    double band_sum = 0, band_n = 0;
    for (std::size_t bin = 0; bin < s.time.n; ++bin)
      band_sum += s.sum(band, bin), band_n += s.count(band, bin);
    means.push_back(ratio(band_sum, band_n));
    sum += band_sum, n += band_n;
  }
  stats.add("used_values", n).add("mean_power", ratio(sum, n));
  // of the mean over bands, in steps of as many samples as fit 512 steps
  double low = INFINITY, high = -INFINITY, high_s = NAN;
  for (std::size_t bin = 0; bin < s.time.n; ++bin) {
    double power = 0, count = 0;
    for (std::size_t band = 0; band < s.band_hz.size(); ++band)
      power += s.sum(band, bin), count += s.count(band, bin);
    if (!(count > 0)) continue;
    low = std::min(low, power / count);
    if (power / count > high) high = power / count, high_s = s.time.centre(bin) * s.sample_s;
  }
  stats.add("step_s", s.time.width * s.sample_s).add("lowest_power", low).add("highest_power", high);
  return stats.add("highest_power_s", high_s).add("band_mean_power", means);
}

}  // namespace apsyn
