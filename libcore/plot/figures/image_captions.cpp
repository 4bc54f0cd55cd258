// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/image_captions.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/time.h"
#include "libcore/plot/ticks.h"

namespace apsyn {
namespace {

bool known(const std::string& text) {
  return !text.empty() && text != "unknown";
}

void append(std::string& line, const std::string& part) {
  if (!line.empty() && !part.empty()) line += "  \u00b7  ";
  line += part;
}

std::string frequency_label(double hz) {
  return hz >= 1e9 ? fmt::format("{:.4g} GHz", hz / 1e9) : fmt::format("{:.5g} MHz", hz / 1e6);
}

bool same_letters(const std::string& a, const std::string& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return std::toupper(static_cast<unsigned char>(x)) == std::toupper(static_cast<unsigned char>(y));
         });
}

/// With the digits that a pixel's size warrants.
std::string position_label(const SkyDirection& at, double cell_rad) {
  const double second = kTwoPi / 86400, arcsec = cell_rad / kRadPerArcsec;
  const double decade = arcsec > 0 ? std::pow(10, std::floor(std::log10(arcsec))) : 1;
  const double ra_s = arcsec > 300 ? 60 : arcsec > 10 ? 1 : arcsec > 1 ? 0.1 : decade / 10;
  const double dec_s = arcsec > 300 ? 60 : arcsec > 1 ? 1 : decade;
  // the label functions count in steps, so round to them first
  const double ra = std::round(at.ra_rad / (ra_s * second)) * ra_s * second;
  const double dec = std::round(at.dec_rad / (dec_s * kRadPerArcsec)) * dec_s * kRadPerArcsec;
  return right_ascension_label(ra, ra_s * second) + " " + declination_label(dec, dec_s * kRadPerArcsec);
}

}  // namespace

DisplayUnit display_unit(const std::string& unit, double largest) {
  std::string per;
  if (same_letters(unit, "JY/BEAM")) per = "/beam";
  if (same_letters(unit, "JY/PIXEL")) per = "/pixel";
  if (per.empty() && !same_letters(unit, "JY")) return {unit, 1};
  if (largest > 0 && largest < 1e-4) return {"\u03bcJy" + per, 1e6};
  if (largest > 0 && largest < 0.1) return {"mJy" + per, 1e3};
  return {"Jy" + per, 1};
}

std::string angle_label(double rad) {
  const double arcsec = rad / kRadPerArcsec;
  if (arcsec < 0.1) return short_number(arcsec * 1000) + " mas";
  if (arcsec < 60) return short_number(arcsec) + "\u2033";
  if (arcsec < 3600) return short_number(arcsec / 60) + "\u2032";
  return short_number(arcsec / 3600) + "\u00b0";
}

std::string averaging_label(const PlanesAveraged& averaged) {
  const auto part = [](std::size_t n, std::size_t of, const char* what) {
    if (of == 1) return std::string();
    return n == of ? fmt::format("{} {}", n, what) : fmt::format("{} of {} {}", n, of, what);
  };
  const std::string channels = part(averaged.channels, averaged.of_channels, "channels");
  const std::string times = part(averaged.times, averaged.of_times, "times");
  if (channels.empty() && times.empty()) return "";
  return "mean of " + channels + (channels.empty() || times.empty() ? "" : ", ") + times;
}

Heading image_heading(const ImageInfo& info, const ImageFigureOptions& options) {
  Heading heading;
  heading.title = !options.title.empty() ? options.title : known(info.object) ? info.object : "";
  if (heading.title.empty()) heading.title = known(info.telescope) ? info.telescope : "Image";
  if (known(info.telescope) && info.telescope != heading.title) append(heading.subtitle, info.telescope);
  if (info.freq_hz > 0)
    append(heading.subtitle,
           frequency_label(info.freq_hz + info.bandwidth_hz * static_cast<double>(options.channel)));
  if (options.stokes < info.stokes.size()) {
    const std::string& name = info.stokes[options.stokes];
    append(heading.subtitle, name.size() == 1 ? "Stokes " + name : name);
  }
  append(heading.subtitle, averaging_label(options.averaged));
  if (info.time) {
    std::string time = format_fits_utc(*info.time, 0);
    if (const auto t = time.find('T'); t != std::string::npos) time[t] = ' ';
    append(heading.subtitle, time + " UTC");
  }
  return heading;
}

std::vector<std::string> image_footer(const ImageInfo& info, const SkyView& view, const PlaneStatistics& s,
                                      StretchKind stretch) {
  const DisplayUnit peak_unit = display_unit(info.unit, std::abs(s.maximum));
  const DisplayUnit noise_unit = display_unit(info.unit, s.noise);
  std::string first = fmt::format("peak {} {}", short_number(s.maximum * peak_unit.factor), peak_unit.label);
  const Point peak{view.pixels.x0 + 0.5 + static_cast<double>(s.x_max),
                   view.pixels.y0 + 0.5 + static_cast<double>(s.y_max)};
  if (const auto at = view.projection.direction(peak)) first += " at " + position_label(*at, info.cell_rad);
  if (info.unit != "dB")
    append(first, fmt::format("noise {} {} (from the median deviation)",
                              short_number(s.noise * noise_unit.factor), noise_unit.label));
  std::string second;
  if (info.beam)
    append(second, fmt::format("beam {} \u00d7 {}, PA {:.0f}\u00b0", angle_label(info.beam->major_rad),
                               angle_label(info.beam->minor_rad),
                               std::fmod(info.beam->position_angle_rad / kRadPerDeg + 180, 180.0)));
  append(second, fmt::format("{:.0f} \u00d7 {:.0f} pixels of {}", view.pixels.width(), view.pixels.height(),
                             angle_label(info.cell_rad)));
  append(second, stretch_name(stretch) + " scale");
  return {first, second};
}

}  // namespace apsyn
