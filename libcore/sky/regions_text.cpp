// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/files/input.h"
#include "libcore/sky/regions_text.h"
#include "libcore/sky/sky_model.h"

namespace apsyn {
namespace {

constexpr std::string_view kFirstLine = "#CRTF";

/// "name[[x, y], r] key=value ...": the list's entries, each of one or more texts, and what follows.
struct Parts {
  std::string name;
  std::vector<std::vector<std::string>> entries;
  std::string_view rest;
};

Parts take_apart(std::string_view line) {
  const std::size_t open = line.find('[');
  if (open == std::string_view::npos) throw MalformedRegion{"no coordinates in brackets"};
  Parts parts{lower(trim(line.substr(0, open))), {}, {}};
  std::size_t depth = 0, start = open + 1;
  bool closed = false;  // an inner list just ended: nothing may come before the next comma
  for (std::size_t at = open; at < line.size(); ++at) {
    const char c = line[at];
    if (c != '[' && c != ']' && c != ',') continue;
    const std::string_view text = trim(line.substr(start, at - std::min(at, start)));
    if (c == '[') {
      if (++depth > 2 || (depth == 2 && (!text.empty() || closed)))
        throw MalformedRegion{"brackets are nested wrongly"};
      if (depth == 2) parts.entries.emplace_back();
      start = at + 1;
      continue;
    }
    if (closed ? !text.empty() : text.empty())
      throw MalformedRegion{"an empty or misplaced value in the brackets"};
    if (!closed) {
      if (depth == 1) parts.entries.emplace_back();
      parts.entries.back().emplace_back(text);
    }
    closed = c == ']' && --depth == 1;
    start = at + 1;
    if (c == ']' && depth == 0) {
      parts.rest = line.substr(at + 1);
      return parts;
    }
  }
  throw MalformedRegion{"the brackets do not close"};
}

bool is_in_pixels(const std::string& text) {
  return text.ends_with("pix");
}
double pixels(const std::string& text) {
  return parse_number(std::string_view(text).substr(0, text.size() - 3));
}

RegionPoint point_of(const std::vector<std::string>& entry) {
  if (entry.size() != 2) throw MalformedRegion{"a position is [x, y]"};
  if (is_in_pixels(entry[0]) != is_in_pixels(entry[1]))
    throw MalformedRegion{fmt::format("[{}, {}]: give both in pixels or both as angles", entry[0], entry[1])};
  if (is_in_pixels(entry[0])) return {pixels(entry[0]), pixels(entry[1]), true};
  const RegionPoint point{parse_right_ascension(entry[0]), parse_declination(entry[1]), false};
  if (std::abs(point.y) > kPi / 2)
    throw MalformedRegion{fmt::format("declination {} is beyond the pole", entry[1])};
  return point;
}

/// One or two lengths; a single one counts twice.
void set_sizes(Region& region, const std::vector<std::string>& entry) {
  if (entry.size() > 2) throw MalformedRegion{"more than two sizes"};
  region.sizes_in_pixels = is_in_pixels(entry[0]);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string& text = entry[std::min(i, entry.size() - 1)];
    if (is_in_pixels(text) != region.sizes_in_pixels)
      throw MalformedRegion{"give both sizes in pixels or both as angles"};
    region.sizes[i] = region.sizes_in_pixels ? pixels(text) : parse_angle(text);
    if (!(region.sizes[i] >= 0) || (i == 1 && region.sizes[i] == 0))
      throw MalformedRegion{fmt::format("size {} is not positive", text)};
  }
}

Region region_of(const Parts& parts) {
  Region region;
  auto need = [&](std::size_t n, std::size_t n_sizes, const char* form) {
    if (parts.entries.size() != n || (n_sizes > 0 && parts.entries[1].size() != n_sizes))
      throw MalformedRegion{fmt::format("write {}", form)};
    if (n_sizes > 0) set_sizes(region, parts.entries[1]);
    if (n == 3) {
      if (parts.entries[2].size() != 1) throw MalformedRegion{fmt::format("write {}", form)};
      region.angle_rad = parse_angle(parts.entries[2][0]);
    }
  };
  std::size_t n_points = 1;
  if (parts.name == "circle") {
    need(2, 1, "circle[[x, y], radius]");
    region.shape = RegionShape::ellipse;
  } else if (parts.name == "annulus") {
    need(2, 2, "annulus[[x, y], [inner, outer]]");
    region.shape = RegionShape::annulus;
  } else if (parts.name == "ellipse") {
    need(3, 2, "ellipse[[x, y], [semi-axis, semi-axis], angle]");
    region.shape = RegionShape::ellipse;
  } else if (parts.name == "centerbox") {
    need(2, 2, "centerbox[[x, y], [width, height]]");
    region.shape = RegionShape::rotbox;
  } else if (parts.name == "rotbox") {
    need(3, 2, "rotbox[[x, y], [width, height], angle]");
    region.shape = RegionShape::rotbox;
  } else if (parts.name == "box") {
    need(n_points = 2, 0, "box[[x1, y1], [x2, y2]]");
    region.shape = RegionShape::box;
  } else if (parts.name == "poly") {
    n_points = parts.entries.size();
    if (n_points < 3) throw MalformedRegion{"a polygon has 3 corners or more"};
    region.shape = RegionShape::polygon;
  } else {
    throw MalformedRegion{fmt::format(
        "'{}' is no shape of a mask: box, centerbox, rotbox, poly, circle, annulus or ellipse", parts.name)};
  }
  for (std::size_t i = 0; i < n_points; ++i) region.points.push_back(point_of(parts.entries[i]));
  return region;
}

/// Parameters that change which pixels are meant; colours and fonts do not.
void check_parameters(std::string_view text, const std::string& source, std::size_t line) {
  for (std::size_t equals = text.find('='); equals != std::string_view::npos;
       equals = text.find('=', equals + 1)) {
    const std::size_t begin =
        text.find_last_of(", \t", equals == 0 ? 0 : text.find_last_not_of(" \t", equals - 1)) + 1;
    const std::string key = lower(trim(text.substr(begin, equals - begin)));
    std::string_view value = trim(text.substr(equals + 1));
    value = value.substr(0, value.find_first_of(", \t"));
    if (key == "coord" && lower(value) != "j2000" && lower(value) != "icrs")
      throw MalformedRegion{fmt::format("coord={}: give J2000 or ICRS coordinates", value)};
    if (key == "range")
      log_warning("{}: line {}: range is not heeded: the region holds for all channels", source, line);
  }
}

bool is_annotation(std::string_view line) {
  const std::string name = lower(line.substr(0, line.find_first_of(" \t[")));
  return name == "ann" || name == "text" || name == "symbol" || name == "vector" || name == "line";
}

}  // namespace

bool is_region_text(const std::string& path) {
  // What is read of a pipe is gone.
  std::error_code error;
  if (path == "-" || !std::filesystem::is_regular_file(path, error)) return false;
  ByteSource source(path);
  std::string start(64, '\0');
  start.resize(source.read(start.data(), start.size()));
  return start.starts_with(kFirstLine) || begins_as_ds9_regions(start);
}

std::vector<Region> parse_regions(std::string_view text, const std::string& source) {
  if (!text.starts_with(kFirstLine)) {
    if (begins_as_ds9_regions(text)) return parse_ds9_regions(text, source);
    throw DataError("{}: begins neither with #CRTF nor as regions of DS9: not a region file", source);
  }
  std::vector<Region> regions;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#' || is_annotation(line)) continue;
    try {
      if (lower(line.substr(0, 6)) == "global") {
        check_parameters(line.substr(6), source, number);
        continue;
      }
      const bool exclude = line[0] == '-';
      if (exclude || line[0] == '+') line.remove_prefix(1);
      const Parts parts = take_apart(line);
      regions.push_back(region_of(parts));
      regions.back().exclude = exclude;
      regions.back().line = number;
      check_parameters(parts.rest, source, number);
    } catch (const MalformedRegion& wrong) {
      throw DataError("{}: line {}: {}", source, number, wrong.text);
    } catch (const UsageError& wrong) {
      throw DataError("{}: line {}: {}", source, number, wrong.what());
    }
  }
  if (regions.empty()) throw DataError("{}: no region in it: a mask allows something", source);
  return regions;
}

}  // namespace apsyn
