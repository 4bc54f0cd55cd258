// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/aterms/beam/pointing.h"

#include <algorithm>
#include <cmath>

#include "libcore/aterms/sky.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/formats/ms/station_tables.h"
#include "libcore/sky/projection.h"

namespace apsyn {
namespace {

constexpr DishOffset kBehind{NAN, NAN};

}  // namespace

DishPointing::DishPointing(const AtermEntry& entry, const ArrayLayout& layout, const ArrayTables& tables) {
  if (entry.has("pointing"))
    pointing_ = entry.quantity("pointing", [](const std::string& text) { return parse_sky_direction(text); });
  else if (!tables.sets.empty())
    pointing_ = read_ms_pointing(tables.sets[0], tables.fields);
  else
    throw DataError(
        "{}: a stream does not tell where its dishes point: set it, for example [ 83.6deg 22deg ]",
        entry.where("pointing"));
  if (layout.site) frame_ = std::make_unique<SkyFrame>(*layout.site);
}

void DishPointing::need_site(const AtermEntry& entry) const {
  if (!frame_)
    throw DataError("{}: the sky turns in this beam: where the array is must be known", entry.where("model"));
}

std::vector<DishOffset> DishPointing::sky_offsets(const AtermGrid& grid) const {
  std::vector<DishOffset> offsets;
  for (std::size_t y = 0; y < grid.side; ++y)
    for (std::size_t x = 0; x < grid.side; ++x) {
      const double l = grid.l(x), m = grid.m(y), distance = std::max(1.0, std::hypot(l, m));
      const DirectionCosines there = project(pointing_, unproject(grid.centre, l / distance, m / distance));
      offsets.push_back(there.n < 0 ? kBehind : DishOffset{there.l, there.m});
    }
  return offsets;
}

std::vector<DishOffset> DishPointing::local_offsets(double time_mjd_s, const AtermGrid& grid) const {
  const UtcTime time = from_mjd_seconds(time_mjd_s);
  const Vec3 s = frame_->enu_from_direction(time, pointing_);
  const double across = std::max(1e-9, std::hypot(s[0], s[1]));
  const Vec3 azimuth{s[1] / across, -s[0] / across, 0};
  const Vec3 elevation{-s[2] * s[0] / across, -s[2] * s[1] / across, across};
  std::vector<DishOffset> offsets;
  for (const LocalSky& there : local_sky(*frame_, time, grid))
    offsets.push_back(dot(there.direction, s) < 0
                          ? kBehind
                          : DishOffset{dot(there.direction, azimuth), dot(there.direction, elevation)});
  return offsets;
}

}  // namespace apsyn
