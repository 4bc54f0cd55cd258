// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/uvfits/tables.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/table.h"
#include "libcore/header/plausible.h"

namespace apsyn {
namespace {

constexpr long kMaxAntennas = 65535, kMaxRows = 1 << 20;

bool has_table(const UvfitsLayout& layout, const std::string& name, int version) {
  return std::find(layout.tables.begin(), layout.tables.end(), std::pair{name, version}) !=
         layout.tables.end();
}

/// Positions relative to an array centre have their x axis in its meridian (AIPS Memo 117, section 6.1.1).
Vec3 geocentric(const Vec3& relative, const Vec3& centre) {
  const double lon_rad = std::atan2(centre[1], centre[0]);
  const double c = std::cos(lon_rad), s = std::sin(lon_rad);
  return centre + Vec3{c * relative[0] - s * relative[1], s * relative[0] + c * relative[1], relative[2]};
}

/// DATE is in the time system of the table: what makes UTC of it.
double utc_offset(const UvfitsLayout& layout, const FitsTable& table) {
  std::string system;
  for (const char* keyword : {"TIMSYS", "TIMESYS"})
    if (system.empty()) system = table.key_text(keyword).value_or("");
  if (system.empty() || system == "UTC") return 0;
  const double iat_minus_utc_s = table.key_number("IATUTC").value_or(0);
  if ((system != "IAT" && system != "TAI") || iat_minus_utc_s == 0)
    throw DataError("{}: {}: TIMSYS = '{}', IATUTC = {}: UTC, or IAT with IATUTC, is needed", layout.name,
                    layout.names.antennas, system, iat_minus_utc_s);
  return -iat_minus_utc_s;
}

struct Stations {
  std::vector<std::string> names;
  std::vector<Vec3> itrf_m;
  std::vector<std::string> mount;
  std::vector<double> diameter_m;
  Vec3 centre_m{};
};

/// MOUNT of a Measurement Set for MNTSTA (AIPS Memo 117, table 11), which decides how feeds turn on the sky.
std::string mount_of(int code) {
  constexpr const char* names[] = {"ALT-AZ", "EQUATORIAL",       "ORBITING",
                                   "X-Y",    "ALT-AZ+NASMYTH-R", "ALT-AZ+NASMYTH-L"};
  return code >= 0 && code < static_cast<int>(std::size(names)) ? names[code] : "UNKNOWN";
}

Vec3 array_centre(const FitsTable& table) {
  return {table.key_number("ARRAYX").value_or(0), table.key_number("ARRAYY").value_or(0),
          table.key_number("ARRAYZ").value_or(0)};
}

void add_subarray(UvfitsLayout& layout, const FitsTable& table, int subarray, Stations& stations) {
  const auto names = table.texts("ANNAME");
  const auto numbers = table.integers("NOSTA");
  const auto positions = table.numbers("STABXYZ", 3);
  const auto mounts = table.has("MNTSTA") ? table.integers("MNTSTA") : std::vector<int>();
  const auto diameters = table.has("DIAMETER") ? table.numbers("DIAMETER") : std::vector<double>();
  const Vec3 centre = array_centre(table);
  check_position(layout.name, fmt::format("{}: ARRAYX, ARRAYY or ARRAYZ", layout.names.antennas), centre);
  const bool relative = dot(centre, centre) > 1;
  if (relative) stations.centre_m = centre;
  const bool turned = relative && !layout.idi;  // FITS-IDI has geocentric axes everywhere
  const bool left_handed = table.key_text("XYZHAND").value_or("RIGHT") == "LEFT";
  for (std::size_t i = 0; i < names.size(); ++i) {
    Vec3 position{positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]};
    if (!std::isfinite(position[0] + position[1] + position[2]))
      throw DataError("{}: {} row {}: STABXYZ is no point", layout.name, layout.names.antennas, i + 1);
    check_position(layout.name, fmt::format("{}: STABXYZ", layout.names.antennas), position);
    if (left_handed) position[1] = -position[1];
    if (relative) position = turned ? geocentric(position, centre) : centre + position;
    const std::string name = names[i].empty() ? fmt::format("ant{}", numbers[i]) : names[i];
    // The same antenna in several subarrays is one.
    std::size_t at = 0;
    while (at < stations.names.size() && (stations.names[at] != name || stations.itrf_m[at] != position))
      ++at;
    if (at == stations.names.size()) {
      stations.names.push_back(name);
      stations.itrf_m.push_back(position);
      stations.mount.push_back(mounts.empty() ? Antenna().mount : mount_of(mounts[i]));
      stations.diameter_m.push_back(
          diameters.empty() || !(diameters[i] > 0) || !std::isfinite(diameters[i]) ? 0 : diameters[i]);
    }
    if (!layout.antenna_of.emplace(std::pair{subarray, numbers[i]}, static_cast<int>(at)).second)
      throw DataError("{}: {} row {}: NOSTA {} a second time", layout.name, layout.names.antennas, i + 1,
                      numbers[i]);
  }
}

Site site_of(const UvfitsLayout& layout, const Stations& stations) {
  if (dot(stations.centre_m, stations.centre_m) > 1) return site_from_geocentric(stations.centre_m);
  constexpr double kMinRadius_m = 6e6;
  Vec3 sum{};
  int n = 0;
  for (const Vec3& position : stations.itrf_m)
    if (dot(position, position) > kMinRadius_m * kMinRadius_m) {
      sum = sum + position;
      ++n;
    }
  if (n == 0 || dot(sum, sum) < n * 1e6)
    throw DataError("{}: {}: no antenna stands on the Earth: it does not tell where the array is",
                    layout.name, layout.names.antennas);
  for (double& component : sum) component /= n;
  return site_from_geocentric(sum);
}

/// IF, FREQ and AN tables may tell 0 for what only the axis tells.
double channel_step(double width_hz, int sideband, double axis_step_hz) {
  if (width_hz == 0) return axis_step_hz;
  return sideband < 0 ? -std::abs(width_hz) : width_hz;
}

void add_window(UvfitsLayout& layout, double offset_hz, double step_hz) {
  MsSpectralWindow window;
  UvfitsAxis axis = layout.freq;
  axis.step = step_hz;
  for (std::size_t chan = 0; chan < axis.length; ++chan) {
    window.channel_hz.push_back(axis.at(chan) + offset_hz);
    window.width_hz.push_back(std::abs(step_hz));
    if (!(window.channel_hz.back() > 0) || !(window.channel_hz.back() <= kMaxFrequency_hz))
      throw DataError("{}: channel {} at {} Hz: a frequency is needed", layout.name, chan,
                      window.channel_hz.back());
  }
  if (!(std::abs(step_hz) > 0))
    throw DataError("{}: channels {} Hz wide: CDELT of FREQ or {} of {} is needed", layout.name, step_hz,
                    layout.names.width, layout.names.windows);
  MsDescription& set = layout.description;
  if (set.channel_hz.empty()) {
    set.channel_hz = window.channel_hz;
    set.channel_width_hz = window.width_hz[0];
  } else {
    set.more_windows.push_back(std::move(window));
  }
}

/// EQUINOX of FITS-IDI is a text: J2000.
std::vector<double> equinoxes(const FitsTable& table) {
  std::vector<double> years;
  for (const std::string& text : table.texts("EQUINOX")) {
    const std::string_view digits =
        std::string_view(text).substr(text.starts_with('J') || text.starts_with('B'));
    years.push_back(text.empty() ? 2000 : finite_number(digits).value_or(0));
  }
  return years;
}

}  // namespace

double wrapped_ra_rad(double ra_deg) {
  const double turn = std::fmod(ra_deg, 360.0);
  return (turn < 0 ? turn + 360 : turn) * kRadPerDeg;
}

void read_uvfits_antennas(UvfitsLayout& layout) {
  const char* const name = layout.names.antennas;
  Stations stations;
  for (int subarray = 1; subarray == 1 || has_table(layout, name, subarray); ++subarray) {
    const FitsTable table(layout.name, name, kMaxAntennas, layout.names.cure, subarray == 1 ? 0 : subarray);
    add_subarray(layout, table, subarray, stations);
    if (subarray > 1) continue;
    layout.utc_offset_s = utc_offset(layout, table);
    layout.reference_date = table.key_text("RDATE").value_or("");
  }
  ArrayLayout& array = layout.description.layout;
  array.telescope = layout.description.telescope;
  array.site = site_of(layout, stations);
  for (std::size_t i = 0; i < stations.names.size(); ++i)
    array.antennas.push_back({stations.names[i], enu_from_geocentric(*array.site, stations.itrf_m[i]), 0,
                              false, stations.mount[i], stations.diameter_m[i]});
}

void read_uvfits_windows(UvfitsLayout& layout) {
  const char* const name = layout.names.windows;
  const std::size_t n_if = layout.if_.length;
  if (!has_table(layout, name, 1)) {
    if (n_if > 1)
      throw DataError("{}: {} IFs and no table {}: their frequencies are not known", layout.name, n_if, name);
    layout.setup_of[1] = 0;
    return add_window(layout, 0, layout.freq.step);
  }
  const FitsTable table(layout.name, name, kMaxRows, layout.names.cure);
  const auto width = static_cast<long>(n_if);
  const auto numbers = table.integers(layout.names.window_number);
  const auto offsets_hz = table.numbers(layout.names.offset, width),
             widths_hz = table.numbers(layout.names.width, width);
  std::vector<int> sidebands(offsets_hz.size(), 1);
  if (table.has("SIDEBAND")) sidebands = table.integers("SIDEBAND", width);
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (!layout.setup_of.emplace(numbers[row], row).second)
      throw DataError("{}: {} row {}: {} {} a second time", layout.name, name, row + 1,
                      layout.names.window_number, numbers[row]);
    for (std::size_t i = row * n_if; i < (row + 1) * n_if; ++i)
      add_window(layout, offsets_hz[i], channel_step(widths_hz[i], sidebands[i], layout.freq.step));
  }
}

bool read_uvfits_sources(UvfitsLayout& layout) {
  const char* const name = layout.names.sources;
  if (!layout.source.there() || !has_table(layout, name, 1)) return false;
  const FitsTable table(layout.name, name, kMaxRows, layout.names.cure);
  // Older FITS-IDI files call it otherwise.
  const char* number_column = layout.names.source_number;
  if (layout.idi && !table.has(number_column)) number_column = "ID_NO.";
  const auto numbers = table.integers(number_column);
  const auto names = table.texts("SOURCE");
  const auto ra_deg = table.numbers("RAEPO"), dec_deg = table.numbers("DECEPO");
  std::vector<double> epochs(numbers.size(), 2000);
  if (table.has("EPOCH")) epochs = table.numbers("EPOCH");
  if (table.has("EQUINOX")) epochs = equinoxes(table);
  MsDescription& set = layout.description;
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (epochs[row] != 2000 || !std::isfinite(ra_deg[row]) || !(std::abs(dec_deg[row]) <= 90))
      throw DataError("{}: {} row {}: RAEPO {}, DECEPO {}, EPOCH {}: a direction of J2000 is needed",
                      layout.name, name, row + 1, ra_deg[row], dec_deg[row], epochs[row]);
    if (!layout.field_of.emplace(numbers[row], static_cast<int>(row)).second)
      throw DataError("{}: {} row {}: {} {} a second time", layout.name, name, row + 1, number_column,
                      numbers[row]);
    const MsField field{names[row], {wrapped_ra_rad(ra_deg[row]), dec_deg[row] * kRadPerDeg}};
    if (row == 0) {
      set.source = field.name;
      set.phase_centre = field.phase_centre;
    } else {
      set.more_fields.push_back(field);
    }
  }
  return true;
}

void list_ignored_tables(UvfitsLayout& layout) {
  for (const auto& [name, version] : layout.tables)
    for (const char* applied : layout.names.corrections)
      if (name == applied) layout.ignored_tables.push_back(fmt::format("{} {}", name, version));
}

}  // namespace apsyn
