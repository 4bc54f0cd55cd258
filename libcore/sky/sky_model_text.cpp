// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/sky/sky_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/sky/sky_model_format.h"
#include "libcore/sky/sky_patches.h"

namespace apsyn {
namespace {

using namespace sky_text;

bool is_plain_number(std::string_view text) {
  return text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
}
/// A number alone is in `unit`; what has a unit of its own is for `parse`.
double quantity(std::string_view text, double (*parse)(std::string_view), double unit = 1) {
  return is_plain_number(text) ? parse_number(text) * unit : parse(text);
}

std::vector<double> parse_terms(std::string_view text) {
  std::vector<double> terms;
  if (text.front() == '[') {
    if (text.back() != ']') throw Malformed{fmt::format("spectral terms '{}': write [a, b]", text)};
    text = trim(text.substr(1, text.size() - 2));
  }
  if (text.empty()) return terms;
  for (std::string_view term : split_fields(text)) terms.push_back(parse_number(term));
  return terms;
}

bool parse_flag(std::string_view text) {
  const std::string value = lower(text);
  if (value == "true" || value == "t" || value == "1") return true;
  if (value == "false" || value == "f" || value == "0") return false;
  throw Malformed{fmt::format("'{}' is neither true nor false", text)};
}

/// What a line says of the polarisation besides Q and U.
struct Polarisation {
  std::optional<double> rotation_measure_rad_m2, fraction, angle_rad, wavelength_m;
};

/// A line as it is written: what check() and polarise() make a component of.
struct Source {
  std::string type, patch;  ///< the type in small letters
  SkyComponent component;
  Polarisation polarisation;
  bool from_own_north = true;
};

void set_field(Source& source, Column column, std::string_view value) {
  SkyComponent& component = source.component;
  Polarisation& polarisation = source.polarisation;
  switch (column) {
    case Column::type:
      source.type = lower(value);
      break;
    case Column::name:
      component.name = value;
      break;
    case Column::ra:
      component.direction.ra_rad = parse_right_ascension(value);
      break;
    case Column::dec:
      component.direction.dec_rad = parse_declination(value);
      if (std::abs(component.direction.dec_rad) > kPi / 2)
        throw Malformed{fmt::format("declination '{}' is beyond the pole", value)};
      break;
    case Column::i:
      component.stokes_jy[0] = parse_number(value);
      break;
    case Column::q:
      component.stokes_jy[1] = parse_number(value);
      break;
    case Column::u:
      component.stokes_jy[2] = parse_number(value);
      break;
    case Column::v:
      component.stokes_jy[3] = parse_number(value);
      break;
    case Column::spectral_index:
      component.spectral_terms = parse_terms(value);
      break;
    case Column::logarithmic_si:
      component.logarithmic_si = parse_flag(value);
      break;
    case Column::reference_frequency:
      component.reference_freq_hz = quantity(value, parse_frequency);
      break;
    case Column::rotation_measure:
      polarisation.rotation_measure_rad_m2 = parse_number(value);
      break;
    case Column::polarized_fraction:
      polarisation.fraction = parse_number(value);
      break;
    case Column::polarization_angle:
      polarisation.angle_rad = quantity(value, parse_angle);
      break;
    case Column::reference_wavelength:
      polarisation.wavelength_m = quantity(value, parse_length);
      break;
    case Column::major_axis:
      component.major_rad = quantity(value, parse_angle, kRadPerArcsec);
      break;
    case Column::minor_axis:
      component.minor_rad = quantity(value, parse_angle, kRadPerArcsec);
      break;
    case Column::orientation:
      component.position_angle_rad = quantity(value, parse_angle, kRadPerDeg);
      break;
    case Column::orientation_is_absolute:
      source.from_own_north = parse_flag(value);
      break;
    case Column::patch:
      source.patch = value;
      break;
    case Column::category:
      break;
  }
}

void check(Source& source) {
  SkyComponent& component = source.component;
  if (source.type == "point") {
    component.major_rad = component.minor_rad = component.position_angle_rad = 0;
  } else if (source.type != "gaussian") {
    throw Malformed{fmt::format("type '{}': only POINT and GAUSSIAN are supported", source.type)};
  }
  if (component.major_rad < 0 || component.minor_rad < 0) throw Malformed{"a negative axis"};
  const bool flat = std::all_of(component.spectral_terms.begin(), component.spectral_terms.end(),
                                [](double term) { return term == 0; });
  if (component.reference_freq_hz < 0 || (component.reference_freq_hz == 0 && !flat))
    throw Malformed{"spectral terms need a ReferenceFrequency above 0"};
  if (!source.from_own_north && component.major_rad != component.minor_rad)
    throw Malformed{
        "OrientationIsAbsolute is false: give the angle from the north at the source itself, and true"};
}

/// After check(): by the rules of DP3, whose angles without a unit are radians too. Columns are there for all
/// sources of a model, so that 0 says nothing: neither of Q and U beside a fraction, nor of a fraction beside
/// them.
void polarise(SkyComponent& component, const Polarisation& given) {
  double &q = component.stokes_jy[1], &u = component.stokes_jy[2];
  const bool by_q_u = q != 0 || u != 0, by_angle = given.fraction.value_or(0) != 0;
  if (!given.fraction && given.angle_rad.value_or(0) != 0)
    throw Malformed{"a PolarizationAngle needs a PolarizedFraction"};
  if (!by_q_u && !by_angle) return;
  if (!given.rotation_measure_rad_m2) {
    if (by_angle || given.wavelength_m)
      throw Malformed{
          "PolarizedFraction, PolarizationAngle and ReferenceWavelength need a RotationMeasure: write Q and "
          "U, or give one"};
    return;
  }
  if (*given.rotation_measure_rad_m2 == 0 && !by_angle && !given.wavelength_m) return;
  if (by_angle && (by_q_u || !given.angle_rad))
    throw Malformed{"a RotationMeasure needs either Q and U or PolarizedFraction and PolarizationAngle"};
  component.rotation_measure_rad_m2 = *given.rotation_measure_rad_m2;
  if (by_angle) {
    if (given.wavelength_m.value_or(0) != 0)
      throw Malformed{"PolarizationAngle is the angle at wavelength 0: remove ReferenceWavelength"};
    q = component.stokes_jy[0] * *given.fraction * std::cos(2 * *given.angle_rad);
    u = component.stokes_jy[0] * *given.fraction * std::sin(2 * *given.angle_rad);
    return;
  }
  if (!given.wavelength_m && component.reference_freq_hz == 0)
    throw Malformed{"a RotationMeasure with Q and U needs a ReferenceWavelength or a ReferenceFrequency"};
  if (given.wavelength_m.value_or(1) <= 0)
    throw Malformed{"Q and U with a RotationMeasure need a ReferenceWavelength above 0"};
  if (!given.wavelength_m) {
    component.unrotated_wavelength_m = kSpeedOfLight_m_s / component.reference_freq_hz;
    return;
  }
  component.unrotated_wavelength_m = *given.wavelength_m;
  // Q and U are of that wavelength, and stokes_jy of the reference frequency; their ratio to I is the same.
  const double scale =
      component.stokes_jy[0] / flux_at(component, kSpeedOfLight_m_s / component.unrotated_wavelength_m)[0];
  if (std::isfinite(scale)) q *= scale, u *= scale;
}

/// Nothing for a line that is a patch.
std::optional<Source> parse_component(std::string_view line, const Format& format) {
  const std::vector<std::string_view> fields = split_fields(line);
  if (fields.size() > format.columns.size())
    throw Malformed{fmt::format("{} fields, the format has {}", fields.size(), format.columns.size())};
  const auto value_of = [&](std::size_t i) {
    const std::string_view value = i < fields.size() ? unquoted(fields[i]) : std::string_view{};
    return value.empty() ? std::string_view(format.defaults[i]) : value;
  };
  for (std::size_t i = 0; i < format.columns.size(); ++i)
    if (format.columns[i] == Column::type && value_of(i).empty()) return std::nullopt;
  Source source;
  for (std::size_t i = 0; i < format.columns.size(); ++i) {
    const Column column = format.columns[i];
    if (!value_of(i).empty())
      set_field(source, column, value_of(i));
    else if (column == Column::ra || column == Column::dec || column == Column::i)
      throw Malformed{"a source needs Ra, Dec and I"};
  }
  check(source);
  polarise(source.component, source.polarisation);
  return source;
}

/// Calls use(source) for each component.
template <class Use>
void for_components(std::string_view text, const std::string& source, Use use) {
  std::optional<Format> format;
  std::size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const std::size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    try {
      if (!format) {
        if (std::optional<std::string_view> columns = format_columns(line)) {
          format = parse_format(*columns);
          continue;
        }
      }
      if (line.empty() || line.front() == '#') continue;
      if (!format) throw Malformed{"a source before the line 'Format = Name, Type, Ra, Dec, I, ...'"};
      if (std::optional<Source> component = parse_component(line, *format)) use(std::move(*component));
    } catch (const Malformed& malformed) {
      throw DataError("{}: line {}: {}", source, line_number, malformed.text);
    } catch (const UsageError& error) {
      throw DataError("{}: line {}: {}", source, line_number, error.what());
    }
  }
  if (!format) throw DataError("{}: no line 'Format = Name, Type, Ra, Dec, I, ...': not a sky model", source);
}

/// Where the patch lies; its components may stand on both sides of 0 h.
SkyDirection mean_direction(const SkyModel& sky) {
  double x = 0, y = 0, z = 0;
  for (const SkyComponent& component : sky.components) {
    const double jy = std::abs(component.stokes_jy[0]) + 1e-30, ra = component.direction.ra_rad,
                 dec = component.direction.dec_rad;
    x += jy * std::cos(dec) * std::cos(ra);
    y += jy * std::cos(dec) * std::sin(ra);
    z += jy * std::sin(dec);
  }
  const double ra = std::atan2(y, x);
  return {ra < 0 ? ra + kTwoPi : ra, std::atan2(z, std::hypot(x, y))};
}

}  // namespace

double parse_declination(std::string_view text) {
  // Two or more points separate parts.
  std::string parts(text);
  if (std::count(parts.begin(), parts.end(), '.') >= 2)
    for (int n = 0; n < 2; ++n) parts[parts.find('.')] = ':';
  return parse_angle(parts);
}

SkyModel parse_sky_model(std::string_view text, const std::string& source) {
  SkyModel model;
  for_components(text, source,
                 [&](Source&& component) { model.components.push_back(std::move(component.component)); });
  return model;
}

std::vector<SkyPatch> parse_sky_patches(std::string_view text, const std::string& source) {
  std::vector<SkyPatch> patches;
  for_components(text, source, [&](Source&& component) {
    if (component.patch.empty())
      throw Malformed{fmt::format("component '{}' belongs to no patch: name one in the column Patch",
                                  component.component.name)};
    auto patch = std::find_if(patches.begin(), patches.end(),
                              [&](const SkyPatch& known) { return known.name == component.patch; });
    if (patch == patches.end()) patch = patches.insert(patch, {component.patch, {}, {}});
    patch->sky.components.push_back(std::move(component.component));
  });
  for (SkyPatch& patch : patches) patch.direction = mean_direction(patch.sky);
  return patches;
}

SkyModel read_sky_model(const std::string& path) {
  return parse_sky_model(read_text_file(path), path);
}

std::vector<SkyPatch> read_sky_patches(const std::string& path) {
  return parse_sky_patches(read_text_file(path), path);
}

}  // namespace apsyn
