// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/uvfits/group.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/walk.h"
#include "libcore/formats/uvfits/layout.h"

namespace apsyn {
namespace {

constexpr double kMjdOfJd0 = -2400000.5;

struct Parser {
  const UvfitsLayout& layout;
  const std::uint8_t* bytes;
  const std::function<void(const std::string&)>& report;

  [[noreturn]] void fail(const std::string& what) const {
    report(what);
    throw DataError("{}: {}", layout.name, what);
  }

  double parameter(const UvfitsParameter& wanted, double base = 0) const {
    // Offsets first: dates keep their precision.
    double sum = base;
    for (const auto& part : wanted.parts) sum += part.zero;
    for (const auto& part : wanted.parts)
      sum += part.scale * stored_number(bytes + part.stored.byte, part.stored.bitpix);
    return sum;
  }

  int whole(const UvfitsParameter& wanted, const char* name) const {
    const double value = parameter(wanted);
    if (!(value >= 0 && value < 1e9)) fail(fmt::format("{} = {}: a number from 0 is needed", name, value));
    return static_cast<int>(value);
  }

  void find_antennas(UvfitsGroup& group) const {
    if (layout.antenna1.there() && layout.antenna2.there()) {
      group.station1 = whole(layout.antenna1, "ANTENNA1");
      group.station2 = whole(layout.antenna2, "ANTENNA2");
      if (layout.subarray.there()) group.subarray = std::max(1, whole(layout.subarray, "SUBARRAY"));
    } else {
      const double code = parameter(layout.baseline);
      if (!(code >= 0 && code < 1e9)) fail(fmt::format("BASELINE = {}: a number from 0 is needed", code));
      // 256 i + j, or 2048 i + j + 65536 for arrays of more than 255; hundredths count subarrays from 0.
      const int number = static_cast<int>(code + 0.001);
      group.subarray = 1 + static_cast<int>(std::lround((code - number) * 100));
      // FITS-IDI of more than 255 stations: 65536 i + j.
      const bool large = number > 65536;
      const int base = !large       ? 256
                       : layout.idi ? 65536
                                    : 2048,
                rest = large && !layout.idi ? number - 65536 : number;
      group.station1 = rest / base;
      group.station2 = rest % base;
    }
    const auto find = [&](int number) {
      const auto antenna = layout.antenna_of.find({group.subarray, number});
      if (antenna == layout.antenna_of.end())
        fail(fmt::format("antenna {} of subarray {} is not in {}", number, group.subarray,
                         layout.names.antennas));
      return antenna->second;
    };
    group.ant1 = find(group.station1);
    group.ant2 = find(group.station2);
  }

  UvfitsGroup parse(double integration_s) const {
    UvfitsGroup group;
    // Coordinates are taken as they are. Phases go together with them in UVFITS; those of FITS-IDI are
    // opposite, which the conversion of cells turns.
    group.uvw_m = {parameter(layout.u) * kSpeedOfLight_m_s, parameter(layout.v) * kSpeedOfLight_m_s,
                   parameter(layout.w) * kSpeedOfLight_m_s};
    group.time_mjd_s = parameter(layout.date, kMjdOfJd0) * 86400 + layout.utc_offset_s;
    if (!(std::abs(group.time_mjd_s) < 1e11)) fail(fmt::format("DATE is MJD {}", group.time_mjd_s / 86400));
    group.exposure_s = layout.integration.there() ? parameter(layout.integration) : integration_s;
    if (integration_s > 0) group.exposure_s = integration_s;
    if (!(group.exposure_s >= 0 && group.exposure_s < 1e9))
      fail(fmt::format("INTTIM = {} s", group.exposure_s));
    find_antennas(group);
    if (!layout.field_of.empty()) {
      group.source = whole(layout.source, "SOURCE");
      const auto field = layout.field_of.find(group.source);
      if (field == layout.field_of.end())
        fail(fmt::format("source {} is not in {}", group.source, layout.names.sources));
      group.field = field->second;
    }
    if (layout.setup.there() && layout.setup_of.size() > 1) {
      group.frequency_id = whole(layout.setup, "FREQSEL");
      const auto setup = layout.setup_of.find(group.frequency_id);
      if (setup == layout.setup_of.end())
        fail(fmt::format("frequency setup {} is not in {}", group.frequency_id, layout.names.windows));
      group.setup = setup->second;
    }
    return group;
  }
};

}  // namespace

UvfitsGroup parse_uvfits_group(const UvfitsLayout& layout, const std::uint8_t* bytes, double integration_s,
                               const std::function<void(const std::string&)>& fail) {
  return Parser{layout, bytes, fail}.parse(integration_s);
}

}  // namespace apsyn
