// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of beams: `id,ra,dec` that follow the sky (J2000), or `id,az,el` and `id,l,m` fixed to the ground;
// optionally a column `antennas`, names or indices separated by semicolons.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/units.h"

namespace apsyn {

/// A direction that is tracked over the sky, or one that stays fixed to the ground.
struct BeamDirection {
  std::string id;
  std::optional<SkyDirection> sky;
  Vec3 enu{0, 0, 1};     ///< unit vector, when `sky` is absent
  std::string antennas;  ///< of the beam, separated by commas; empty = all
};

/// Azimuth from north through east.
Vec3 enu_from_azimuth(double azimuth_rad, double elevation_rad);
double azimuth_of(const Vec3& enu);  ///< 0 .. 2 pi
/// In degrees, below 360 rounded too.
std::string format_azimuth(const Vec3& enu, int decimals);
double elevation_of(const Vec3& enu);

/// DataError when malformed: unknown or incomplete columns, no rows, an id twice or with blanks, an angle
/// without a unit, a direction beyond the pole or the horizon.
std::vector<BeamDirection> parse_beams_csv(std::string_view text, const std::string& source);
std::vector<BeamDirection> read_beams_csv(const std::string& path);
/// A table that reads back as these beams, directions within 1e-9 rad; all directions of one kind.
std::string format_beams_csv(const std::vector<BeamDirection>& beams);

}  // namespace apsyn
