// SPDX-License-Identifier: GPL-3.0-or-later
// Figures as files: PNG, PDF or SVG from the same drawing. In PDF and SVG lines and letters are vectors, text
// is text, and each raster is embedded once.
#pragma once

#include <string>

#include "libcore/plot/canvas.h"

namespace apsyn {

/// What made a figure, kept in the file.
struct FigureOrigin {
  std::string software, command;
};

/// Does what check_output() does; UsageError also for a name that ends neither in .png nor in .pdf nor in
/// .svg, FailureError also when there is no font for the figure's text. "-" is a PNG on standard output.
void check_figure_output(const std::string& path, bool overwrite);

/// Writes to a file (atomic) or to "-". The same drawing gives the same bytes, but for the names of rasters
/// in SVG, which Cairo numbers throughout a process. A PDF bears a date only where SOURCE_DATE_EPOCH gives
/// one. FailureError when it cannot be written.
void write_figure(const std::string& path, const Canvas& canvas, const FigureOrigin& origin, bool overwrite);

}  // namespace apsyn
