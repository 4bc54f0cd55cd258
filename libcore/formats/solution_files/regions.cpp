// SPDX-License-Identifier: GPL-3.0-or-later
// Voronoi polygons of directions: the square of the field, cut along the line half-way to every other
// direction.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/files/output.h"
#include "libcore/formats/solution_files/solution_files.h"
#include "libcore/sky/projection.h"

namespace apsyn {
namespace {

struct Point {
  double l = 0, m = 0;
};

/// What of a convex polygon is nearer to `own` than to `other`: Sutherland and Hodgman's clipping.
std::vector<Point> nearer(const std::vector<Point>& polygon, const Point& own, const Point& other) {
  const double dl = other.l - own.l, dm = other.m - own.m;
  const double half = 0.5 * (other.l * other.l + other.m * other.m - own.l * own.l - own.m * own.m);
  const auto beyond = [&](const Point& point) { return point.l * dl + point.m * dm - half; };
  std::vector<Point> kept;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point &from = polygon[i], &to = polygon[(i + 1) % polygon.size()];
    const double at_from = beyond(from), at_to = beyond(to);
    if (at_from <= 0) kept.push_back(from);
    if ((at_from < 0 && at_to > 0) || (at_from > 0 && at_to < 0)) {
      const double share = at_from / (at_from - at_to);
      kept.push_back({from.l + share * (to.l - from.l), from.m + share * (to.m - from.m)});
    }
  }
  return kept;
}

std::string degrees(const SkyDirection& direction) {
  return fmt::format("{:.8f},{:.8f}", direction.ra_rad / kRadPerDeg, direction.dec_rad / kRadPerDeg);
}

/// Braces end the text of a region.
std::string plain(std::string name) {
  for (char& c : name)
    if (c == '{' || c == '}' || c == '\n') c = '_';
  return name;
}

}  // namespace

void write_direction_regions(const std::string& path, const Solutions& solutions, const SkyDirection& centre,
                             double field_rad, bool overwrite) {
  if (!solutions.is_directional())
    throw UsageError("{}: the solutions are of the whole field: regions are of directions", path);
  if (!(field_rad > 0) || field_rad > std::sqrt(2.0))
    throw UsageError("{}: a field of {:.3g} degrees: more than 0 and at most 81 are needed", path,
                     field_rad / kRadPerDeg);
  std::vector<Point> points;
  for (const SolutionDirection& direction : solutions.directions) {
    const DirectionCosines cosines = project(centre, direction.direction);
    if (cosines.n <= 0)
      throw UsageError("{}: direction {} is 90 degrees or more from the centre of the field", path,
                       direction.name);
    points.push_back({cosines.l, cosines.m});
  }
  std::string text = "# Region file format: DS9 version 4.1\nglobal color=green\nfk5\n";
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double half = 0.5 * field_rad;
    std::vector<Point> polygon{{-half, -half}, {half, -half}, {half, half}, {-half, half}};
    for (std::size_t other = 0; other < points.size(); ++other)
      if (other != i) polygon = nearer(polygon, points[i], points[other]);
    if (polygon.size() < 3) continue;  // all of it lies outside of the field
    text += "polygon(";
    for (std::size_t corner = 0; corner < polygon.size(); ++corner)
      text += (corner == 0 ? "" : ",") + degrees(unproject(centre, polygon[corner].l, polygon[corner].m));
    text += fmt::format(") # text={{{}}}\n", plain(solutions.directions[i].name));
    text += fmt::format("point({})\n", degrees(solutions.directions[i].direction));
  }
  OutputFile output(path, overwrite);
  output.write(text.data(), text.size());
  output.commit();
}

}  // namespace apsyn
