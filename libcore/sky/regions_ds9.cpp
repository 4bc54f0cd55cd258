// SPDX-License-Identifier: GPL-3.0-or-later
// Region text files as SAOImage DS9 and CARTA write them: commands, one per line or between semicolons, that
// name a coordinate system or a shape. Properties behind # say nothing of pixels.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/sky/regions_text.h"

namespace apsyn {
namespace {

constexpr std::array kSystems{"image", "physical", "fk5", "j2000", "icrs"};
constexpr std::array kOtherSystems{"fk4", "b1950",  "galactic", "ecliptic",
                                   "wcs", "linear", "detector", "amplifier"};
constexpr std::array kShapes{"circle", "ellipse", "box", "rotbox", "polygon", "annulus"};
/// What has no area, and settings.
constexpr std::array kIgnored{"global",  "tile",  "point",     "text",       "line",    "vector",
                              "segment", "ruler", "composite", "projection", "compass", "#"};

template <class Names>
bool is_one_of(const Names& names, const std::string& word) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

/// Between blanks, commas and parentheses.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::string_view(" \t,()").find(c) == std::string_view::npos)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

struct Length {
  double value = 0;
  bool in_pixels = false;
};

/// Without a unit: pixels in an image's coordinates, degrees on the sky.
Length length_of(const std::string& text, bool in_pixels) {
  const std::string number = text.substr(0, text.size() - 1);
  switch (text.back()) {
    case '"':
      return {parse_number(number) * kRadPerDeg / 3600, false};
    case '\'':
      return {parse_number(number) * kRadPerDeg / 60, false};
    case 'd':
      return {parse_number(number) * kRadPerDeg, false};
    case 'r':
      return {parse_number(number), false};
    case 'p':
    case 'i':
      return {parse_number(number), true};
    default:
      return {parse_number(text) * (in_pixels ? 1 : kRadPerDeg), in_pixels};
  }
}

RegionPoint point_of(const std::string& x, const std::string& y, bool in_pixels) {
  const bool sexagesimal = x.find_first_of(":h") != std::string::npos;
  if (sexagesimal || y.find(':') != std::string::npos) {
    if (in_pixels)
      throw MalformedRegion{
          fmt::format("{}, {} in image coordinates: name fk5 or icrs before the shape", x, y)};
    const RegionPoint point{
        sexagesimal ? parse_right_ascension(x) : length_of(x, false).value,
        y.find_first_of(":m") != std::string::npos ? parse_angle(y) : length_of(y, false).value, false};
    if (std::abs(point.y) > kPi / 2)
      throw MalformedRegion{fmt::format("declination {} is beyond the pole", y)};
    return point;
  }
  const Length at_x = length_of(x, in_pixels), at_y = length_of(y, in_pixels);
  if (at_x.in_pixels != at_y.in_pixels)
    throw MalformedRegion{fmt::format("{}, {}: give both in pixels or both as angles", x, y)};
  // The first pixel is 1 here.
  if (at_x.in_pixels) return {at_x.value - 1, at_y.value - 1, true};
  if (std::abs(at_y.value) > kPi / 2)
    throw MalformedRegion{fmt::format("declination {} is beyond the pole", y)};
  return {at_x.value, at_y.value, false};
}

Region region_of(const std::vector<std::string>& words, bool in_pixels) {
  const std::string shape = lower(words[0]);
  const std::size_t n = words.size() - 1;
  Region region;
  auto need = [&](bool right, const char* form) {
    if (!right) throw MalformedRegion{fmt::format("write {}", form)};
  };
  auto set_sizes = [&](const std::string& first, const std::string& second) {
    const Length a = length_of(first, in_pixels), b = length_of(second, in_pixels);
    if (a.in_pixels != b.in_pixels) throw MalformedRegion{"give both sizes in pixels or both as angles"};
    if (!(a.value >= 0) || !(b.value > 0))
      throw MalformedRegion{fmt::format("size {} is not positive", a.value >= 0 ? second : first)};
    region.sizes = {a.value, b.value};
    region.sizes_in_pixels = a.in_pixels;
  };
  if (shape == "polygon") {
    need(n >= 6 && n % 2 == 0, "polygon(x1, y1, x2, y2, x3, y3 ...)");
    region.shape = RegionShape::polygon;
    for (std::size_t i = 1; i < n; i += 2)
      region.points.push_back(point_of(words[i], words[i + 1], in_pixels));
    return region;
  }
  if (shape == "circle") {
    need(n == 3, "circle(x, y, radius)");
    region.shape = RegionShape::ellipse;
    set_sizes(words[3], words[3]);
  } else if (shape == "annulus") {
    need(n >= 4, "annulus(x, y, inner, outer)");
    region.shape = RegionShape::annulus;
    set_sizes(words[3], words.back());
  } else {
    const bool box = shape != "ellipse";
    need(n == 4 || n == 5,
         box ? "box(x, y, width, height, angle)" : "ellipse(x, y, semi-axis, semi-axis, angle)");
    region.shape = box ? RegionShape::rotbox : RegionShape::ellipse;
    // The first axis of an ellipse lies along x before it is turned; that of Region lies along y.
    set_sizes(words[box ? 3 : 4], words[box ? 4 : 3]);
    if (n == 5) region.angle_rad = length_of(words[5], false).value;
  }
  region.points.push_back(point_of(words[1], words[2], in_pixels));
  return region;
}

/// The first word of a text in small letters, without a sign.
std::string first_word(std::string_view text) {
  text = trim(text);
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return lower(text.substr(0, text.find_first_of(" \t\r\n,(;")));
}

}  // namespace

bool begins_as_ds9_regions(std::string_view text) {
  const std::string word = first_word(text);
  return text.starts_with('#') || is_one_of(kSystems, word) || is_one_of(kOtherSystems, word) ||
         is_one_of(kShapes, word) || word == "global";
}

std::vector<Region> parse_ds9_regions(std::string_view text, const std::string& source) {
  std::vector<Region> regions;
  std::string system = "physical";  // that of a file which names none
  std::size_t number = 0;
  for (const std::string_view whole_line : split(text, '\n')) {
    ++number;
    const std::string_view line = whole_line.substr(0, whole_line.find('#'));
    if (is_one_of(kIgnored, first_word(line))) continue;  // "global" may have anything behind it
    for (std::string_view command : split(line, ';')) {
      command = trim(command);
      const std::string word = first_word(command);
      if (word.empty() || is_one_of(kIgnored, word)) continue;
      try {
        if (is_one_of(kSystems, word)) {
          system = word;
          continue;
        }
        if (is_one_of(kOtherSystems, word))
          throw MalformedRegion{
              fmt::format("coordinates in {}: save the regions in fk5, icrs or image coordinates", word)};
        if (!is_one_of(kShapes, word))
          throw MalformedRegion{
              fmt::format("'{}' is no shape of a mask: circle, ellipse, box, polygon or annulus", word)};
        const bool exclude = command[0] == '-';
        if (exclude || command[0] == '+') command.remove_prefix(1);
        std::vector<std::string> words = words_of(command);
        if (words.back() == "||") words.pop_back();
        regions.push_back(region_of(words, system == "image" || system == "physical"));
        regions.back().exclude = exclude;
        regions.back().line = number;
      } catch (const MalformedRegion& wrong) {
        throw DataError("{}: line {}: {}", source, number, wrong.text);
      } catch (const UsageError& wrong) {
        throw DataError("{}: line {}: {}", source, number, wrong.what());
      }
    }
  }
  if (regions.empty()) throw DataError("{}: no region in it: a mask allows something", source);
  // What is excluded is so wherever it stands.
  std::stable_partition(regions.begin(), regions.end(), [](const Region& region) { return !region.exclude; });
  return regions;
}

}  // namespace apsyn
