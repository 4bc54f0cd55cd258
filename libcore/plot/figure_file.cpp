// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figure_file.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <fmt/chrono.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "libcore/files/output.h"
#include "libcore/plot/cairo_handles.h"
#include "libcore/plot/text.h"

namespace apsyn {
namespace {

constexpr double kPointsPerPixel = 0.75;  // CSS: 96 pixels an inch

enum class Format { png, pdf, svg };

Format format_of(const std::string& path) {
  if (path == "-") return Format::png;
  std::string suffix = std::filesystem::path(path).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (suffix == ".png") return Format::png;
  if (suffix == ".pdf") return Format::pdf;
  if (suffix == ".svg") return Format::svg;
  throw UsageError("{}: the suffix tells no format of figures: give a name that ends in .png, .pdf or .svg",
                   path);
}

/// Cairo's write function: into memory, so that a file begins only when the picture is whole. An exception
/// must not pass through Cairo's frames.
cairo_status_t append(void* bytes, const unsigned char* data, unsigned int n) {
  try {
    static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), n);
  } catch (...) {
    return CAIRO_STATUS_NO_MEMORY;
  }
  return CAIRO_STATUS_SUCCESS;
}

/// A chunk of PNG (ISO/IEC 15948, section 5.3): length, type, data, CRC of type and data.
std::string png_chunk(const std::string& type, const std::string& data) {
  const auto big_endian = [](std::size_t value) {
    std::string bytes;
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xFF);
    return bytes;
  };
  const std::string body = type + data;
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(data.size()) + body + big_endian(crc);
}

std::string png_text(const std::string& keyword, const std::string& text) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return c > 0; });
  if (ascii) return png_chunk("tEXt", keyword + '\0' + text);
  return png_chunk("iTXt", keyword + std::string(5, '\0') + text);  // not compressed, of no language
}

/// Cairo writes no texts: they are put behind the header, which is 8 + 25 bytes.
std::string png_of(const Canvas& canvas, const FigureOrigin& origin) {
  constexpr std::size_t kHeader = 33;
  std::string bytes;
  check_cairo(cairo_surface_write_to_png_stream(draw_pixels(canvas).get(), append, &bytes));
  bytes.insert(kHeader, png_chunk("sRGB", std::string(1, '\0')) + png_text("Software", origin.software) +
                            png_text("Comment", origin.command));
  return bytes;
}

/// Nothing without SOURCE_DATE_EPOCH: Cairo leaves out a date that is none.
std::string creation_date() {
  const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
  std::int64_t seconds = 0;
  if (epoch == nullptr) return "none";
  const auto [end, error] = std::from_chars(epoch, epoch + std::strlen(epoch), seconds);
  constexpr std::int64_t kEnd = 253402300800;  // of the year 9999
  if (error != std::errc() || *end != '\0' || seconds < 0 || seconds >= kEnd)
    throw UsageError("SOURCE_DATE_EPOCH={}: it has to be a whole number of seconds since 1970", epoch);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string pdf_of(const Canvas& canvas, const FigureOrigin& origin) {
  std::string bytes;
  const CairoSurface surface(cairo_pdf_surface_create_for_stream(
      append, &bytes, static_cast<double>(canvas.width()) * kPointsPerPixel,
      static_cast<double>(canvas.height()) * kPointsPerPixel));
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, creation_date().c_str());
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATOR, origin.software.c_str());
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_SUBJECT, origin.command.c_str());
  const CairoContext cairo(cairo_create(surface.get()));
  cairo_scale(cairo.get(), kPointsPerPixel, kPointsPerPixel);
  canvas.draw_shapes(cairo.get());
  for (const Label& label : canvas.labels()) draw_label(cairo.get(), label);
  check_cairo(cairo_status(cairo.get()));
  cairo_surface_finish(surface.get());
  check_cairo(cairo_surface_status(surface.get()));
  return bytes;
}

std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

/// Cairo turns letters into outlines in SVG: it draws the shapes, and the labels follow as text elements.
std::string svg_of(const Canvas& canvas, const FigureOrigin& origin) {
  std::string bytes;
  const CairoSurface surface(cairo_svg_surface_create_for_stream(
      append, &bytes, static_cast<double>(canvas.width()), static_cast<double>(canvas.height())));
  cairo_svg_surface_set_document_unit(surface.get(), CAIRO_SVG_UNIT_PX);
  {
    const CairoContext cairo(cairo_create(surface.get()));
    canvas.draw_shapes(cairo.get());
  }
  cairo_surface_finish(surface.get());
  check_cairo(cairo_surface_status(surface.get()));
  const std::size_t end = bytes.rfind("</svg>");
  if (end == bytes.npos) throw FailureError("cannot draw the picture: Cairo's SVG has no end");
  std::string labels = fmt::format("<desc>{}\n{}</desc>\n<style>image{{image-rendering:pixelated}}</style>\n",
                                   xml_text(origin.software), xml_text(origin.command));
  labels += fmt::format("<g font-family=\"'{}', sans-serif\" xml:space=\"preserve\">\n", font_family());
  for (const Label& label : canvas.labels()) labels += svg_label(label);
  bytes.insert(end, labels + "</g>\n");
  return bytes;
}

}  // namespace

void check_figure_output(const std::string& path, bool overwrite) {
  check_output(path, overwrite);
  format_of(path);
  font_family();
}

void write_figure(const std::string& path, const Canvas& canvas, const FigureOrigin& origin, bool overwrite) {
  const FigureOrigin clean{clean_text(origin.software), clean_text(origin.command)};
  const Format format = format_of(path);
  require_threads();
  const std::string bytes = format == Format::png   ? png_of(canvas, clean)
                            : format == Format::pdf ? pdf_of(canvas, clean)
                                                    : svg_of(canvas, clean);
  OutputFile file(path, overwrite);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace apsyn
