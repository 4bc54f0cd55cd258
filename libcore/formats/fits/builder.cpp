// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/builder.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "libcore/base/error.h"
#include "libcore/formats/fits/keys.h"

namespace apsyn {
namespace {

constexpr std::size_t kGrowth_bytes = 1u << 20;

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}
std::string printable(std::string text) {
  for (char& c : text)
    if (c < 0x20 || c > 0x7e) c = '?';
  return text;
}

}  // namespace

FitsBuilder::FitsBuilder(std::string name, std::size_t n_bytes) : name_(std::move(name)), capacity_(n_bytes) {
  buffer_ = std::calloc(capacity_, 1);  // CFITSIO looks what stands there before it fills up blocks
  if (buffer_ == nullptr) throw std::bad_alloc();
  fits_create_memfile(&fits_, &buffer_, &capacity_, kGrowth_bytes, std::realloc, &status_);
  check();
}

FitsBuilder::~FitsBuilder() {
  int status = 0;
  if (fits_ != nullptr) fits_close_file(fits_, &status);
  std::free(buffer_);
}

void FitsBuilder::create_image(FitsPixel pixel, std::vector<long> axes) {
  fits_create_img(fits_, static_cast<int>(pixel), static_cast<int>(axes.size()), axes.data(), &status_);
  // The two comments that CFITSIO adds say nothing about this image.
  fits_delete_key(fits_, "COMMENT", &status_);
  fits_delete_key(fits_, "COMMENT", &status_);
  check();
}

void FitsBuilder::key(const std::string& keyword, double value, const std::string& comment) {
  if (!std::isfinite(value)) return;
  std::string text = fmt::format("{}", value);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  if (text.find_first_of(".E") == std::string::npos) text += ".0";
  record(keyword, fmt::format("{:>20}", text), comment);
}

void FitsBuilder::key(const std::string& keyword, const std::string& value, const std::string& comment) {
  std::string quoted;
  for (const char c : printable(value)) quoted += c == '\'' ? "''" : std::string(1, c);
  if (quoted.size() > 68) {
    quoted.resize(68);
    if (std::count(quoted.begin(), quoted.end(), '\'') % 2 != 0) quoted.pop_back();
  }
  record(keyword, padded("'" + padded(quoted, 8) + "'", 20), comment);
}

void FitsBuilder::history(const std::string& line) {
  const std::string text = printable(line);
  for (std::size_t at = 0; at == 0 || at < text.size(); at += 72)
    fits_write_record(fits_, ("HISTORY " + text.substr(at, 72)).c_str(), &status_);
  check();
}

void FitsBuilder::pixels(std::size_t first, std::span<const double> values) {
  fits_write_img(fits_, TDOUBLE, static_cast<LONGLONG>(first) + 1, static_cast<LONGLONG>(values.size()),
                 const_cast<double*>(values.data()), &status_);
  check();
}

void FitsBuilder::checksum() {
  const char *data_comment = "data unit checksum", *hdu_comment = "HDU checksum";
  const std::string zeros(16, '0');
  unsigned long data_sum = 0, hdu_sum = 0;
  char encoded[17] = "";
  fits_write_chksum(fits_, &status_);
  fits_modify_comment(fits_, "DATASUM", data_comment, &status_);
  fits_modify_key_str(fits_, "CHECKSUM", zeros.c_str(), hdu_comment, &status_);
  fits_get_chksum(fits_, &data_sum, &hdu_sum, &status_);
  fits_encode_chksum(hdu_sum, 1, encoded);
  fits_modify_key_str(fits_, "CHECKSUM", encoded, hdu_comment, &status_);
  int data_good = 0, hdu_good = 0;
  fits_verify_chksum(fits_, &data_good, &hdu_good, &status_);
  check();
  if (data_good != 1 || hdu_good != 1) throw FailureError("{}: the checksum does not verify", name_);
}

std::span<const char> FitsBuilder::finish() {
  LONGLONG end = 0;
  fits_get_hduaddrll(fits_, nullptr, nullptr, &end, &status_);
  fits_close_file(fits_, &status_);
  fits_ = nullptr;
  check();
  if (end <= 0 || static_cast<std::size_t>(end) > capacity_)
    throw FailureError("{}: CFITSIO built {} of {} bytes", name_, capacity_, end);
  return {static_cast<const char*>(buffer_), static_cast<std::size_t>(end)};
}

void FitsBuilder::record(const std::string& keyword, const std::string& value, const std::string& comment) {
  std::string card = padded(keyword, 8) + "= " + value;
  if (!comment.empty()) card += " / " + comment;
  card.resize(80, ' ');
  if (keyword.size() > 8) throw std::invalid_argument("FITS keyword of more than 8 characters: " + keyword);
  fits_write_record(fits_, card.c_str(), &status_);
  check();
}

void FitsBuilder::check() const {
  if (status_ != 0) throw FailureError("{}: {}", name_, fits_error_text(status_));
}

}  // namespace apsyn
