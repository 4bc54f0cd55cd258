// SPDX-License-Identifier: GPL-3.0-or-later
// What powers, visibilities and images count in: Jy, or the arbitrary units of an array's samples that nobody
// has calibrated. See UNITS in apsyn-conventions(7).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace apsyn {

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

}  // namespace apsyn
