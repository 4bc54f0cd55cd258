// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/quicklook/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/plot/stretch.h"

namespace apsyn {
namespace {

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : NAN;
}

void add_direction(Json& stats, const std::string& what, const SkyDirection& at) {
  stats[what + "_ra_deg"] = at.ra_rad / kRadPerDeg;
  stats[what + "_dec_deg"] = at.dec_rad / kRadPerDeg;
}

/// Means of the cross-correlations of one product over all channels.
Json product_stats(const VisibilitySummary& s, std::size_t product) {
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
  Json stats;
  stats["product"] = product_name(s.products[product]);
  stats["used"] = n;
  stats["mean_amplitude"] = ratio(amplitude, n);
  stats["amplitude_of_mean"] = ratio(std::abs(sum), n);
  stats["phase_of_mean_deg"] = n > 0 ? std::arg(sum) / kRadPerDeg : NAN;
  stats["mean_autocorrelation"] = ratio(power, n_auto);
  return stats;
}

Json input_stats(const VoltageSummary& s, std::size_t input) {
  double power = 0, n = 0;
  for (std::size_t bin = 0; bin < s.time.n; ++bin)
    power += s.power_sum(input, bin), n += static_cast<double>(s.n_power(input, bin));
  Json stats;
  stats["antenna"] = input / s.n_pol;
  stats["polarisation"] = input % s.n_pol;
  stats["power"] = ratio(power, n);
  stats["rms"] = std::sqrt(ratio(power, n * s.n_dim));
  stats["saturated_fraction"] =
      ratio(static_cast<double>(s.n_saturated[input]), static_cast<double>(s.n_values[input]));
  const double all = static_cast<double>(s.n_time) * static_cast<double>(s.n_chan * s.n_pol);
  stats["missing_fraction"] = ratio(static_cast<double>(s.n_missing[input / s.n_pol]), all);
  return stats;
}

/// With a space behind each comma and colon, which the library leaves out.
std::string in_one_line(const Json& value) {
  if (!value.is_structured()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::vector<std::string> items;
  for (const auto& [name, item] : value.items())
    items.push_back((value.is_object() ? in_one_line(name) + ": " : "") + in_one_line(item));
  return (value.is_object() ? "{" : "[") + fmt::format("{}", fmt::join(items, ", ")) +
         (value.is_object() ? "}" : "]");
}

}  // namespace

std::string stats_text(const Json& stats) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : stats.items()) {
    std::string text = in_one_line(value);
    if (value.is_array() && !value.empty() && value[0].is_object()) {
      std::vector<std::string> items;
      for (const Json& item : value) items.push_back(in_one_line(item));
      text = fmt::format("[\n    {}\n  ]", fmt::join(items, ",\n    "));
    }
    lines.push_back(fmt::format("{}: {}", in_one_line(name), text));
  }
  return fmt::format("{{\n  {}\n}}", fmt::join(lines, ",\n  "));
}

Json stats_of(const Image& image, const ImageFigureOptions& shown) {
  const ImageInfo& info = image.info;
  const SkyView view = image_figure_view(image, shown);
  const Buffer<double, 2> plane = image_figure_plane(image, shown, view);
  const PlaneStatistics s = plane_statistics(plane);
  double sum = 0, square = 0;
  for (const double value : plane)
    if (std::isfinite(value)) sum += value, square += value * value;
  const auto n = static_cast<double>(s.n_finite);

  Json stats;
  stats["kind"] = "image";
  stats["object"] = info.object;
  stats["telescope"] = info.telescope;
  if (info.time) stats["start_utc"] = format_fits_utc(*info.time);
  if (info.freq_hz > 0)
    stats["frequency_hz"] = info.freq_hz + info.bandwidth_hz * static_cast<double>(shown.channel);
  if (shown.stokes < info.stokes.size()) stats["stokes"] = info.stokes[shown.stokes];
  stats["unit"] = info.unit;
  stats["planes"] = image.pixels.extent(0) * std::max(image.pixels.extent(1), shown.averaged.of_channels);
  stats["channels_averaged"] = shown.averaged.channels;
  stats["times_averaged"] = shown.averaged.times;
  stats["width"] = plane.extent(1);
  stats["height"] = plane.extent(0);
  stats["cell_deg"] = view.projection.cell_x_rad / kRadPerDeg;
  add_direction(stats, "centre", view.projection.centre);
  if (info.beam) {
    stats["beam_major_deg"] = info.beam->major_rad / kRadPerDeg;
    stats["beam_minor_deg"] = info.beam->minor_rad / kRadPerDeg;
    stats["beam_position_angle_deg"] = info.beam->position_angle_rad / kRadPerDeg;
  }
  stats["blank_pixels"] = plane.size() - s.n_finite;
  if (s.n_finite == 0) return stats;
  stats["minimum"] = s.minimum;
  stats["maximum"] = s.maximum;
  const Point peak{view.pixels.x0 + 0.5 + static_cast<double>(s.x_max),
                   view.pixels.y0 + 0.5 + static_cast<double>(s.y_max)};
  stats["maximum_x"] = static_cast<long>(peak.x);
  stats["maximum_y"] = static_cast<long>(peak.y);
  if (const auto at = view.projection.direction(peak)) add_direction(stats, "maximum", *at);
  stats["mean"] = sum / n;
  stats["rms"] = std::sqrt(square / n);
  stats["sum"] = sum;
  stats["median"] = s.median;
  stats["noise"] = s.noise;
  stats["dynamic_range"] = ratio(s.maximum, s.noise);
  return stats;
}

Json stats_of(const VisibilitySummary& s) {
  Json stats;
  stats["kind"] = "visibility";
  stats["telescope"] = s.telescope;
  stats["object"] = s.source;
  stats["unit"] = name_of(s.flux_unit);
  stats["start_utc"] = format_fits_utc(from_mjd_seconds(s.first_time_mjd_s - s.interval_s / 2));
  stats["duration_s"] = s.last_time_mjd_s - s.first_time_mjd_s + s.interval_s;
  stats["integration_s"] = s.interval_s;
  stats["channels"] = s.channel_hz.size();
  stats["channel_width_hz"] = s.channel_width_hz;
  stats["lowest_channel_hz"] = s.channel_hz.front();
  stats["highest_channel_hz"] = s.channel_hz.back();
  stats["antennas"] = s.antennas.size();
  stats["antennas_with_data"] = std::count(s.antenna_seen.begin(), s.antenna_seen.end(), 1);
  stats["rows"] = s.n_rows;
  stats["autocorrelation_rows"] = s.n_auto_rows;
  stats["samples"] = s.n_samples;
  stats["flagged_samples"] = s.n_flagged;
  stats["flagged_fraction"] = ratio(static_cast<double>(s.n_flagged), static_cast<double>(s.n_samples));
  stats["longest_baseline_m"] = s.longest_m;
  stats["longest_baseline_wavelengths"] = s.longest_wavelengths;
  std::vector<Json> products;
  for (std::size_t p = 0; p < s.products.size(); ++p) products.push_back(product_stats(s, p));
  stats["products"] = products;
  return stats;
}

Json stats_of(const VoltageSummary& s) {
  Json stats;
  stats["kind"] = "voltage";
  stats["telescope"] = s.telescope;
  stats["object"] = s.source;
  stats["start_utc"] = format_fits_utc(s.start);
  stats["unit_of_power"] = name_of(s.flux_unit);
  stats["samples"] = s.n_time;
  stats["sample_s"] = s.sample_s;
  stats["duration_s"] = static_cast<double>(s.n_time) * s.sample_s;
  stats["antennas"] = s.n_ant;
  stats["polarisations"] = s.n_pol;
  stats["channels"] = s.n_chan;
  stats["bits"] = s.n_bit;
  stats["complex"] = s.n_dim == 2;
  std::vector<Json> inputs;
  for (std::size_t input = 0; input < s.n_inputs(); ++input) inputs.push_back(input_stats(s, input));
  stats["inputs"] = inputs;
  return stats;
}

Json stats_of(const DynamicSpectrum& s) {
  Json stats;
  stats["kind"] = "filterbank";
  stats["object"] = s.source;
  stats["start_utc"] = format_fits_utc(s.start);
  stats["samples"] = s.n_time;
  stats["sample_s"] = s.sample_s;
  stats["duration_s"] = static_cast<double>(s.n_time) * s.sample_s;
  stats["bands"] = s.band_hz.size();
  stats["lowest_band_hz"] = s.band_hz.front();
  stats["highest_band_hz"] = s.band_hz.back();
  double sum = 0, n = 0;
  std::vector<double> means;
  for (std::size_t band = 0; band < s.band_hz.size(); ++band) {
    double band_sum = 0, band_n = 0;
    for (std::size_t bin = 0; bin < s.time.n; ++bin)
      band_sum += s.sum(band, bin), band_n += s.count(band, bin);
    means.push_back(ratio(band_sum, band_n));
    sum += band_sum, n += band_n;
  }
  stats["used_values"] = n;
  stats["mean_power"] = ratio(sum, n);
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
  stats["step_s"] = s.time.width * s.sample_s;
  stats["lowest_power"] = low;
  stats["highest_power"] = high;
  stats["highest_power_s"] = high_s;
  stats["band_mean_power"] = means;
  return stats;
}

}  // namespace apsyn
