// SPDX-License-Identifier: GPL-3.0-or-later
// Text of figures through Pango. Text is UTF-8; "^{...}" raises, "_{...}" lowers what is between the braces.
// Bytes that are not UTF-8 and control characters become U+FFFD, so a text may come from any file.
//
// The letters are those of one font family that is looked for in the system's folders, whatever fontconfig's
// settings are: no cache is read or written, and the user's home plays no part in a picture.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/plot/canvas.h"

namespace apsyn {

/// Files of a family that figures can be written in.
struct FontFiles {
  std::string family, regular, bold;
};
/// DejaVu Sans, or the first of a few families like it, beneath the folders. FailureError when there is none.
FontFiles find_font(const std::vector<std::filesystem::path>& folders);
/// Pango looks for letters in threads, and GLib ends the process when one cannot be started. FailureError
/// when a few at a time cannot.
void require_threads();
/// The family that figures are written in. FailureError when none is installed.
const std::string& font_family();

double text_width(std::string_view text, const TextStyle& style);
/// Where the text would be drawn, without rotation.
Rect text_box(std::string_view text, Point at, const TextStyle& style);
/// `text` without what cannot be shown or written in XML.
std::string clean_text(std::string_view text);

void draw_label(cairo_t* cairo, const Label& label);
/// The label as a text element of SVG: with the same place, width and look where the font is known.
std::string svg_label(const Label& label);

}  // namespace apsyn
