// SPDX-License-Identifier: GPL-3.0-or-later
// A stroke font drawn for this toolkit: printable ASCII, some Greek and the signs of astronomy, so that
// pictures need no font file and scale to any size. Text is UTF-8; "^{...}" raises, "_{...}" lowers. A
// character without a glyph becomes an empty box.
#pragma once

#include <string_view>
#include <vector>

#include "libcore/plot/canvas.h"

namespace apsyn {

struct Glyph {
  char32_t code = 0;
  double width = 0;  ///< of the skeleton, font units: capitals are 20 high, the baseline is 0, y upwards
  /// "M x y", "L x y", "Q cx cy x y" (quadratic curve), "A cx cy rx ry from to" (arc, degrees, anticlockwise
  /// from +x; joins the pen's path).
  const char* outline = "";
};
/// All glyphs, in the order of their codes.
const std::vector<Glyph>& font_glyphs();

enum class AlignX { left, centre, right };
enum class AlignY { baseline, middle, top, bottom };  ///< middle and top: of the capitals

struct TextStyle {
  double size = 16;   ///< pixels from ascender to descender; capitals are 0.714 of it
  double weight = 1;  ///< 1 regular, 1.5 bold
  Colour colour = kBlack;
  double alpha = 1;
  AlignX align_x = AlignX::left;
  AlignY align_y = AlignY::baseline;
  double angle_rad = 0;   ///< anticlockwise
  double halo_width = 0;  ///< pixels of outline around the letters
  Colour halo = kWhite;
};

double text_width(std::string_view text, const TextStyle& style);
/// Where the text would be drawn, without rotation.
Rect text_box(std::string_view text, Point at, const TextStyle& style);
Paths text_paths(std::string_view text, Point at, const TextStyle& style);
void draw_text(Canvas& canvas, std::string_view text, Point at, const TextStyle& style);

}  // namespace apsyn
