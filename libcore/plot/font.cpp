// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/font.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "libcore/base/constants.h"

namespace apsyn {
namespace {

constexpr double kUnitsPerSize = 28;  // 21 above the baseline, 7 below
constexpr double kCapital = 20;
constexpr double kBearing = 2.6;  // empty units on either side of a glyph
constexpr double kStroke = 2.3;   // stroke width of regular weight, units
constexpr double kScriptScale = 0.68, kRaise = 8.5, kLower = -4;

/// The next character; malformed bytes become U+FFFD one by one, so any text advances and ends.
char32_t next_code(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t n = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  char32_t code = n == 1 ? first : n == 2 ? first & 0x1F : n == 3 ? first & 0x0F : first & 0x07;
  bool good = n > 0 && first <= 0xF4 && n <= text.size();
  for (std::size_t i = 1; good && i < n; ++i) {
    good = (byte(i) & 0xC0) == 0x80;
    code = code << 6 | (byte(i) & 0x3F);
  }
  text.remove_prefix(good ? n : 1);
  return good ? code : 0xFFFD;
}

const Glyph& find_glyph(char32_t code) {
  static const Glyph missing{0xFFFD, 10, "M 0 0 L 0 20 L 10 20 L 10 0 L 0 0"};
  const auto& glyphs = font_glyphs();
  if (code == 0xB5) code = 0x3BC;  // the micro sign looks as mu
  const auto found =
      std::lower_bound(glyphs.begin(), glyphs.end(), code,
                       [](const Glyph& glyph, char32_t wanted) { return glyph.code < wanted; });
  return found != glyphs.end() && found->code == code ? *found : missing;
}

void append_arc(Path& path, const double (&a)[6]) {
  const int n = std::max(4, static_cast<int>(std::abs(a[5] - a[4]) / 7.5));
  for (int i = 0; i <= n; ++i) {
    const double angle = (a[4] + (a[5] - a[4]) * i / n) * kRadPerDeg;
    path.push_back({a[0] + a[2] * std::cos(angle), a[1] + a[3] * std::sin(angle)});
  }
}

void append_curve(Path& path, const double (&a)[6]) {
  constexpr int n = 14;
  const Point from = path.back();
  for (int i = 1; i <= n; ++i) {
    const double t = static_cast<double>(i) / n, s = 1 - t;
    path.push_back(
        {s * s * from.x + 2 * s * t * a[0] + t * t * a[2], s * s * from.y + 2 * s * t * a[1] + t * t * a[3]});
  }
}

/// The glyph's strokes in font units.
Paths parse_outline(const char* text) {
  Paths paths;
  while (*text != '\0') {
    const char command = *text++;
    if (command == ' ') continue;
    double a[6] = {};
    const int n = command == 'A' ? 6 : command == 'Q' ? 4 : 2;
    for (int i = 0; i < n; ++i) {
      char* end = nullptr;
      a[i] = std::strtod(text, &end);
      text = end;
    }
    if (command == 'M' || paths.empty()) paths.emplace_back();
    if (command == 'A') {
      append_arc(paths.back(), a);
    } else if (command == 'Q') {
      append_curve(paths.back(), a);
    } else {
      paths.back().push_back({a[0], a[1]});
    }
  }
  return paths;
}

/// Walks the text and calls place(glyph, pen_x, lift, scale) in font units; returns the total advance.
template <class Place>
double lay_out(std::string_view text, Place place) {
  double x = 0, lift = 0, scale = 1;
  bool script = false;
  while (!text.empty()) {
    const char32_t code = next_code(text);
    if (!script && (code == '^' || code == '_') && !text.empty() && text.front() == '{') {
      text.remove_prefix(1);
      script = true;
      lift = code == '^' ? kRaise : kLower;
      scale = kScriptScale;
      continue;
    }
    if (script && code == '}') {
      script = false;
      lift = 0;
      scale = 1;
      continue;
    }
    const Glyph& glyph = find_glyph(code);
    place(glyph, x + kBearing * scale, lift, scale);
    x += (glyph.width + 2 * kBearing) * scale;
  }
  return x;
}

double left_shift(AlignX align) {
  return align == AlignX::left ? 0 : align == AlignX::centre ? 0.5 : 1;
}

/// Height of the anchor above the baseline, font units.
double anchor_height(AlignY align) {
  switch (align) {
    case AlignY::middle:
      return kCapital / 2;
    case AlignY::top:
      return kCapital;
    case AlignY::bottom:
      return -6;
    default:
      return 0;
  }
}

}  // namespace

double text_width(std::string_view text, const TextStyle& style) {
  return lay_out(text, [](const Glyph&, double, double, double) {}) * style.size / kUnitsPerSize;
}

Rect text_box(std::string_view text, Point at, const TextStyle& style) {
  const double unit = style.size / kUnitsPerSize, width = text_width(text, style);
  const double x = at.x - left_shift(style.align_x) * width;
  const double baseline = at.y + anchor_height(style.align_y) * unit;
  return {x, baseline - 21 * unit, x + width, baseline + 7 * unit};
}

Paths text_paths(std::string_view text, Point at, const TextStyle& style) {
  const double unit = style.size / kUnitsPerSize;
  const double c = std::cos(style.angle_rad), s = std::sin(style.angle_rad);
  const double shift = left_shift(style.align_x) * text_width(text, style) / unit;
  const double down = anchor_height(style.align_y);
  Paths paths;
  lay_out(text, [&](const Glyph& glyph, double pen_x, double lift, double scale) {
    for (Path& path : parse_outline(glyph.outline)) {
      for (Point& p : path) {
        const double x = (pen_x + scale * p.x - shift) * unit, y = (lift + scale * p.y - down) * unit;
        p = {at.x + x * c - y * s, at.y - x * s - y * c};
      }
      paths.push_back(std::move(path));
    }
  });
  return paths;
}

void draw_text(Canvas& canvas, std::string_view text, Point at, const TextStyle& style) {
  const Paths paths = text_paths(text, at, style);
  const double width = std::max(1.0, kStroke * style.weight * style.size / kUnitsPerSize);
  if (style.halo_width > 0)
    canvas.stroke(paths, {style.halo, width + 2 * style.halo_width, 0.75 * style.alpha});
  canvas.stroke(paths, {style.colour, width, style.alpha});
}

}  // namespace apsyn
