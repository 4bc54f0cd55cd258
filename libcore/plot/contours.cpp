// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/contours.h"

#include <array>
#include <cmath>
#include <map>

namespace apsyn {
namespace {

/// Sides of squares where the line crosses, each with at most two neighbours: a side belongs to two squares.
/// Side 2 (y nx + x) leads from (x, y) to (x + 1, y), the next number to (x, y + 1).
struct Links {
  std::array<std::size_t, 2> to{};
  std::size_t n = 0;
};
using Crossings = std::map<std::size_t, Links>;

void link(Crossings& crossings, std::size_t a, std::size_t b) {
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    Links& links = crossings[from];
    links.to[links.n++] = to;
  }
}

void add_square(View<const double, 2> values, double level, std::size_t x, std::size_t y,
                Crossings& crossings) {
  const std::size_t nx = values.extent(1);
  const double corner[4] = {values(y, x), values(y, x + 1), values(y + 1, x + 1), values(y + 1, x)};
  unsigned above = 0;
  double sum = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if (!std::isfinite(corner[i])) return;
    sum += corner[i];
    if (corner[i] >= level) above |= 1u << i;
  }
  // sides in the order of the corners: below, right, above, left; side i joins corners i and i + 1
  const std::size_t here = 2 * (y * nx + x);
  const std::size_t side[4] = {here, here + 3, here + 2 * nx, here + 1};
  if (above == 0b0101 || above == 0b1010) {
    // the corners on the middle's side are joined: the other two are each cut off
    const bool cut_even = (above == 0b0101) != (sum / 4 >= level);
    link(crossings, side[0], side[cut_even ? 3 : 1]);
    link(crossings, side[2], side[cut_even ? 1 : 3]);
    return;
  }
  std::size_t crossed[2] = {}, n = 0;
  for (unsigned i = 0; i < 4; ++i)
    if (((above >> i) & 1) != ((above >> (i + 1) % 4) & 1)) crossed[n++] = side[i];
  if (n == 2) link(crossings, crossed[0], crossed[1]);
}

Point crossing(View<const double, 2> values, double level, std::size_t side) {
  const std::size_t nx = values.extent(1), x = side / 2 % nx, y = side / 2 / nx;
  const bool upwards = side % 2 == 1;
  const double from = values(y, x), to = upwards ? values(y + 1, x) : values(y, x + 1);
  const double part = (level - from) / (to - from);
  return {static_cast<double>(x) + (upwards ? 0 : part), static_cast<double>(y) + (upwards ? part : 0)};
}

/// Takes the line that goes on from `start` out of the crossings.
Path follow(View<const double, 2> values, double level, std::size_t start, Crossings& crossings) {
  Path path;
  std::size_t at = start, before = start;
  for (auto found = crossings.find(at); found != crossings.end(); found = crossings.find(at)) {
    path.push_back(crossing(values, level, at));
    const Links links = found->second;
    crossings.erase(found);
    const std::size_t next = links.n == 2 && links.to[0] == before ? links.to[1] : links.to[0];
    if (links.n == 1 && path.size() > 1) return path;
    before = at, at = next;
  }
  if (at == start) path.push_back(path.front());
  return path;
}

}  // namespace

Paths contour_lines(View<const double, 2> values, double level) {
  Crossings crossings;
  for (std::size_t y = 0; y + 1 < values.extent(0); ++y)
    for (std::size_t x = 0; x + 1 < values.extent(1); ++x) add_square(values, level, x, y, crossings);
  std::vector<std::size_t> ends;
  for (const auto& [side, links] : crossings)
    if (links.n == 1) ends.push_back(side);
  Paths paths;
  for (std::size_t end : ends)
    if (crossings.contains(end)) paths.push_back(follow(values, level, end, crossings));
  while (!crossings.empty()) paths.push_back(follow(values, level, crossings.begin()->first, crossings));
  return paths;
}

}  // namespace apsyn
