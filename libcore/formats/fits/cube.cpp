// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/cube.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "libcore/base/error.h"
#include "libcore/formats/fits/header.h"
#include "libcore/formats/fits/stream.h"

namespace apsyn {

void check_fits_stokes(const std::string& path, const std::vector<std::string>& stokes) {
  fits_stokes(path, stokes);
}

FitsCubeWriter::FitsCubeWriter(const std::string& path, ImageInfo info, const FitsCubeShape& shape,
                               bool overwrite, unsigned n_threads)
    : path_(path), info_(std::move(info)), shape_(shape), out_(path, overwrite), n_threads_(n_threads) {
  if (info_.stokes.size() != shape_.n_stokes)
    throw std::logic_error("FitsCubeWriter: one label for each Stokes plane");
  if (out_.is_stdout()) throw UsageError("standard output: a FITS cube needs a file: give --output PATH");
  const std::string text = header(0);
  header_bytes_ = text.size();
  out_.write(text.data(), text.size());
}

std::string FitsCubeWriter::header(std::uint32_t data_sum) const {
  std::vector<std::size_t> axes{shape_.nx, shape_.ny, shape_.n_chan, shape_.n_stokes};
  if (shape_.complex) axes.push_back(2);
  if (shape_.in_time) axes.push_back(n_written_);
  FitsBuilder fits(path_, 64u << 10);
  fits.create_image(FitsPixel::float32, std::vector<long>(axes.size(), 1));
  write_fits_coordinates(fits, info_, {shape_.nx, shape_.ny}, fits_stokes(path_, info_.stokes));
  int axis = 4;
  const auto describe = [&](const std::string& type, double value, double step, const std::string& unit) {
    ++axis;
    fits.key(fmt::format("CTYPE{}", axis), type, "");
    fits.key(fmt::format("CRPIX{}", axis), 1.0, "");
    fits.key(fmt::format("CRVAL{}", axis), value, "");
    fits.key(fmt::format("CDELT{}", axis), step, "");
    if (!unit.empty()) fits.key(fmt::format("CUNIT{}", axis), unit, "");
  };
  if (shape_.complex) describe("COMPLEX", 1, 1, "");
  if (shape_.in_time) {
    describe("TIME", shape_.step_s / 2, shape_.step_s, "s");
    if (info_.time) fits.key("DATEREF", format_fits_date(*info_.time), "TIME counts from here");
  }
  ImageInfo info = info_;
  info.keywords.emplace_back("XPOSURE", exposure_s_);
  if (shape_.in_time && info.time) {
    const double end_s =
        static_cast<double>(std::max<std::size_t>(n_written_, 1) - 1) * shape_.step_s + last_s_;
    info.end = add_picoseconds(*info.time, std::llround(end_s * 1e12));
  }
  write_fits_description(fits, info, shape_.quantity);
  if (shape_.in_time) fits.key("XPOSLAST", last_s_, "s, length of the last image");
  return checked_header(fits, axes, data_sum);
}

void FitsCubeWriter::write(std::size_t index, std::span<const float> record, double length_s, bool any_data) {
  if (record.size() != shape_.n_record() || (!shape_.in_time && index > 0))
    throw std::logic_error("FitsCubeWriter: a record of another size than planned");
  const std::size_t offset = header_bytes_ + index * record.size_bytes();
  sum_ = folded_sum(sum_ + write_fits_words<std::uint32_t>(
                               out_, offset, record.size(), n_threads_,
                               [&](std::size_t first, std::size_t n, unsigned, std::uint32_t* words) {
                                 return to_fits_words(record.subspan(first, n), words);
                               }));
  if (index >= n_written_) last_s_ = length_s;
  n_written_ = std::max(n_written_, index + 1);
  if (any_data) exposure_s_ += length_s;
}

void FitsCubeWriter::commit() {
  const std::size_t bytes = n_written_ * shape_.n_record() * sizeof(float);
  const std::string padding((kFitsBlock - bytes % kFitsBlock) % kFitsBlock, '\0');
  out_.write_at(header_bytes_ + bytes, padding.data(), padding.size());
  const std::string text = header(folded_sum(sum_));
  if (text.size() != header_bytes_) throw std::logic_error("FitsCubeWriter: the header's size changed");
  out_.write_at(0, text.data(), text.size());
  out_.commit();
}

}  // namespace apsyn
