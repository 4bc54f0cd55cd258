// SPDX-License-Identifier: GPL-3.0-or-later
// Quantities with units, converted once, here, to SI doubles; each result is the double nearest to the exact
// value of the text. Every parser throws UsageError with the text and the cure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace apsyn {

/// What powers, visibilities and images count in: Jy, or the arbitrary units of an array's samples that
/// nobody has calibrated. See UNITS in apsyn-conventions(7).
enum class FluxUnit { adu, jansky };

/// "Jy" or "adu", as headers and messages have it.
constexpr const char* name_of(FluxUnit unit) {
  return unit == FluxUnit::jansky ? "Jy" : "adu";
}
/// One of these names, written so.
std::optional<FluxUnit> find_flux_unit(std::string_view name);

/// BUNIT of dirty, residual and restored images, of models, and of the electric field.
constexpr const char* per_beam(FluxUnit unit) {
  return unit == FluxUnit::jansky ? "JY/BEAM" : "adu/beam";
}
constexpr const char* per_pixel(FluxUnit unit) {
  return unit == FluxUnit::jansky ? "JY/PIXEL" : "adu/pixel";
}
constexpr const char* of_field(FluxUnit unit) {
  return unit == FluxUnit::jansky ? "sqrt(Jy)" : "sqrt(adu)";
}
/// What an image of that BUNIT counts in: adu where it says so in letters of either case; otherwise Jy, as
/// images that others made without a unit, or with one of their own, are taken.
FluxUnit unit_of_image(std::string_view bunit);

/// "10asec", "1.5deg", "0.1rad", "3mas", "12h30m00.5s", "-30d43m17s"; colon forms "12:30:00.5" are degrees.
/// Units: deg d amin arcmin asec arcsec mas uas rad mrad. A plain number is an error. -> radians
double parse_angle(std::string_view text);
/// A right ascension -> radians, 0 to 2 pi. Like parse_angle, but the colon form counts hours.
double parse_right_ascension(std::string_view text);
/// "2s", "40ms", "1.5us", "10ns", "2min", "1h", "1d" -> seconds
double parse_duration(std::string_view text);
/// "150MHz", "1.4GHz", "10kHz", "5Hz" -> hertz
double parse_frequency(std::string_view text);
/// "100m", "3km", "21cm", "5mm" -> metres
double parse_length(std::string_view text);
/// "10Jy", "5mJy", "3kJy", "2uJy", "1MJy" -> janskys
double parse_flux(std::string_view text);
/// The same, or a number of adu, which `unit` tells.
double parse_flux_or_adu(std::string_view text, FluxUnit& unit);
/// "0.1TECU", "5mTECU" -> TECU (1e16 electrons per square metre)
double parse_tec(std::string_view text);
/// "8GB", "8GiB", "512MB", "100kB", "5B" -> bytes (GB = 10^9, GiB = 2^30)
std::uint64_t parse_bytes(std::string_view text);
/// A plain number without a unit, the whole text.
double parse_number(std::string_view text);

struct SkyDirection {
  double ra_rad = 0, dec_rad = 0;  ///< J2000 (ICRS)
  bool operator==(const SkyDirection&) const = default;
};
/// "12h30m00.5s -30d43m17s", "12:30:00.5 -30:43:17", "187.5deg -30.7deg"; a comma may separate the two.
SkyDirection parse_sky_direction(std::string_view text);

/// "05h34m31.94s", "+22d00m52.2s" with the given number of decimals in the seconds; "05:34:31.94" with a
/// separator. Right ascensions stay below 24 hours, rounded too.
std::string format_right_ascension(double ra_rad, int decimals, const std::string& separator = "");
std::string format_declination(double dec_rad, int decimals, const std::string& separator = "");
/// A value with an SI prefix or sensible unit for messages: "12.3 MHz", "1.50 GB", "20.0 asec", "4.2 s".
std::string format_frequency(double hz);
std::string format_bytes(double bytes);
/// The same, rounded up, so that whoever allows what is written allows enough.
std::string format_bytes_upwards(double bytes);
std::string format_angle(double rad);
std::string format_duration(double seconds);

}  // namespace apsyn
