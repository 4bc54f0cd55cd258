// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>

#include "libcore/base/error.h"
#include "libcore/files/output.h"

namespace apsyn {
namespace {

/// What libpng's callbacks share. They must not throw through C frames, so bytes go to memory first.
struct Sink {
  std::vector<std::uint8_t> bytes;
  std::string error;
};

void append(png_structp png, png_bytep data, png_size_t n) {
  auto* sink = static_cast<Sink*>(png_get_io_ptr(png));
  bool good = true;
  try {
    sink->bytes.insert(sink->bytes.end(), data, data + n);
  } catch (...) {
    good = false;  // png_error jumps: not out of a handler
  }
  if (!good) png_error(png, "out of memory");
}

void flush(png_structp) {}

void fail(png_structp png, png_const_charp message) {
  static_cast<Sink*>(png_get_error_ptr(png))->error = message;
  longjmp(png_jmpbuf(png), 1);
}

void ignore_warning(png_structp, png_const_charp) {}

std::vector<png_text> text_chunks(PngText& texts) {
  std::vector<png_text> chunks;
  for (auto& [key, text] : texts) {
    png_text chunk{};
    const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return c > 0; });
    chunk.compression = ascii ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
    chunk.key = key.data();
    chunk.text = text.data();
    chunk.text_length = ascii ? text.size() : 0;
    chunk.itxt_length = ascii ? 0 : text.size();
    chunks.push_back(chunk);
  }
  return chunks;
}

/// Everything between setjmp and a longjmp to it is C: no object with a destructor is made here.
bool encode(png_structp png, png_infop info, const std::vector<png_bytep>& rows, png_uint_32 width,
            const std::vector<png_text>& texts) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_IHDR(png, info, width, static_cast<png_uint_32>(rows.size()), 8, PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_set_text(png, info, texts.data(), static_cast<int>(texts.size()));
  png_write_info(png, info);
  png_write_image(png, const_cast<png_bytepp>(rows.data()));
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

void write_png(const std::string& path, View<const std::uint8_t, 3> rgb, const PngText& texts,
               bool overwrite) {
  if (rgb.extent(2) != 3 || rgb.size() == 0)
    throw FailureError("{}: a picture of {} x {} pixels: it needs some, of three colours", path,
                       rgb.extent(1), rgb.extent(0));
  Sink sink;
  PngText kept = texts;
  const std::vector<png_text> chunks = text_chunks(kept);
  std::vector<png_bytep> rows;
  for (std::size_t y = 0; y < rgb.extent(0); ++y) rows.push_back(const_cast<png_bytep>(rgb[y].data()));
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &sink, fail, ignore_warning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  if (info == nullptr) throw FailureError("{}: libpng does not start: out of memory", path);
  png_set_write_fn(png, &sink, append, flush);
  const bool good = encode(png, info, rows, static_cast<png_uint_32>(rgb.extent(1)), chunks);
  png_destroy_write_struct(&png, &info);
  if (!good) throw FailureError("{}: cannot encode the picture: {}", path, sink.error);
  OutputFile file(path, overwrite);
  file.write(sink.bytes.data(), sink.bytes.size());
  file.commit();
}

}  // namespace apsyn
