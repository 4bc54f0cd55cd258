// SPDX-License-Identifier: GPL-3.0-or-later
// What the parameters of a group say: its time, antennas, coordinates, source and frequency setup. For
// libcore/formats/uvfits only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "libcore/array/array_layout.h"

namespace apsyn {

struct UvfitsLayout;

struct UvfitsGroup {
  Vec3 uvw_m{};  ///< of ant1 - ant2, as the file has them
  double time_mjd_s = 0, exposure_s = 0;
  int ant1 = 0, ant2 = 0, field = 0;  ///< of the description
  std::size_t setup = 0;
  /// The file's own numbers, as tables of flags have them.
  int subarray = 1, station1 = 0, station2 = 0, source = 0, frequency_id = 0;
};

/// The group whose bytes begin at `bytes`, of which those of its parameters are looked at. Where
/// `integration_s` is above 0, it holds instead of INTTIM. Calls `fail`, which must throw, with what is
/// wrong.
UvfitsGroup parse_uvfits_group(const UvfitsLayout& layout, const std::uint8_t* bytes, double integration_s,
                               const std::function<void(const std::string& what)>& fail);

/// Bytes of a number of the type that BITPIX names.
constexpr std::size_t bytes_of(int bitpix) {
  return static_cast<std::size_t>(bitpix < 0 ? -bitpix : bitpix) / 8;
}

}  // namespace apsyn
