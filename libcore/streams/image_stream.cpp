// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/image_stream.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/checksum.h"
#include "libcore/files/input.h"
#include "libcore/header/ascii_header.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

/// Fields and products of two polarisations; the rest have no imaginary part, but a sign.
bool is_complex(std::string_view product) {
  constexpr std::array<std::string_view, 8> kComplex{"XY", "YX", "RL", "LR", "X", "Y", "R", "L"};
  return std::find(kComplex.begin(), kComplex.end(), product) != kComplex.end();
}

/// Voltages of one polarisation, not powers.
bool is_field(const std::vector<std::string>& products) {
  return std::all_of(products.begin(), products.end(), [](const std::string& name) {
    return name == "X" || name == "Y" || name == "R" || name == "L";
  });
}

struct PieceSum {
  std::size_t n_bytes = 0;
  std::uint32_t crc = 0;
};

/// Calls work(place, piece, bytes) for the pieces of some memory by threads; the checksum of a piece is made
/// where that returns true.
template <class Work>
std::vector<PieceSum> for_pieces(unsigned n_threads, float* memory, std::size_t n_bytes, Work work) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  std::vector<PieceSum> sums((n_bytes + kPieceBytes - 1) / kPieceBytes);
  parallel_for(n_threads, sums.size(), [&](std::size_t number, unsigned) {
    const std::size_t at = number * kPieceBytes, n = std::min(kPieceBytes, n_bytes - at);
    char* const piece = reinterpret_cast<char*>(memory) + at;
    sums[number].n_bytes = n;
    if (!work(at, piece, n)) return;
    Crc32c crc;
    crc.add(piece, n);
    sums[number].crc = crc.value();
  });
  return sums;
}

}  // namespace

ImageStreamReader::ImageStreamReader(const std::string& path, int stop_fd, unsigned n_threads)
    : n_threads_(n_threads) {
  auto source = std::make_unique<ByteSource>(path);
  source->stop_when_readable(stop_fd);
  HeaderReader keys(read_stream_header(*source), source->name());
  const auto require_word = [&](const char* key, const char* word) {
    if (const std::string found = keys.require_text(key); found != word)
      throw DataError("{}: {} {}: {} is needed: not a stream of images", source->name(), key, found, word);
  };
  require_word("INSTRUMENT", "apsyn-image");
  require_word("ORDER", "TDPFYX");
  require_word("ENCODING", "FLOAT");
  const auto size = [&](const char* key, std::int64_t most) {
    return static_cast<std::size_t>(keys.require_integer(key, 1, most));
  };
  nx_ = size("NX", 65535);
  ny_ = size("NY", 65535);
  n_chan_ = size("NCHAN", 1 << 24);
  n_part_ = size("NDIM", 2);
  info_.stokes.clear();
  const std::string products = keys.require_text("PRODUCTS");  // outlives the views
  for (const std::string_view name : split(products, ',')) info_.stokes.emplace_back(name);
  info_.cell_rad = keys.angle("CELL").value_or(0);
  const auto centre = keys.phase_centre();
  if (!(info_.cell_rad > 0) || !centre)
    throw DataError("{}: CELL, PHASE_RA and PHASE_DEC are needed: not a stream of images", source->name());
  info_.centre = *centre;
  info_.unit = is_field(info_.stokes) ? of_field(keys.flux_unit()) : per_beam(keys.flux_unit());
  const double bandwidth_hz = keys.require_number("BW", 6);
  info_.bandwidth_hz = bandwidth_hz / static_cast<double>(n_chan_);
  info_.freq_hz = keys.require_number("FREQ", 6) - (bandwidth_hz - info_.bandwidth_hz) / 2;
  info_.telescope = keys.text_or("TELESCOPE", "unknown");
  info_.object = keys.text_or("SOURCE", "unknown");
  info_.time = keys.start_time();
  step_s_ = keys.require_number("TSAMP", -6);
  // a day is a long time for an image, and its picoseconds are counted exactly by a double
  if (!(step_s_ > 0 && step_s_ <= 86400))
    throw DataError("{}: TSAMP {}: must be positive and at most a day", source->name(), step_s_ * 1e6);
  n_value_ = nx_ * ny_ * info_.stokes.size();
  if (__builtin_mul_overflow(n_value_, n_chan_, &n_value_) || n_value_ > (std::size_t{1} << 40))
    throw DataError("{}: NX, NY, NCHAN: no image is so large", source->name());
  PayloadRules rules;
  const std::int64_t file_size = keys.integer_or("FILE_SIZE", 0, INT64_MAX, 0);
  if (file_size > 0) rules.file_size = static_cast<std::uint64_t>(file_size);
  rules.trailer = keys.integer_or("TRAILER", 0, 1, 0) == 1;
  rules.unit_bytes = rules.resolution_bytes = record_bytes();
  payload_ = std::make_unique<StreamPayload>(path, std::move(source), rules);
}

std::optional<std::uint64_t> ImageStreamReader::n_images() const {
  if (!payload_->size()) return std::nullopt;
  return *payload_->size() / record_bytes();
}

bool ImageStreamReader::read(std::vector<float>& record) {
  const std::size_t n_float = n_part_ * n_value_;
  if (payload_->is_file()) {
    if (*payload_->size() - payload_->position() < record_bytes()) {
      payload_->advance(0, 0);
      return false;
    }
    record.resize(n_float);
    return read_file(record.data());
  }
  // in pieces, so that a false header costs no memory before its data come
  constexpr std::size_t kPiece = std::size_t{1} << 24;
  for (std::size_t done = 0; done < n_float;) {
    const std::size_t n = std::min(kPiece, n_float - done);
    if (record.size() < done + n) record.resize(done + n);
    if (!read_pipe(record.data() + done, n * sizeof(float))) return false;
    done += n;
  }
  return true;
}

bool ImageStreamReader::read_file(float* to) {
  const std::uint64_t first = payload_->position();
  const auto sums =
      for_pieces(n_threads_, to, record_bytes(), [&](std::size_t at, char* piece, std::size_t n) {
        payload_->read_at(first + at, piece, n);
        return payload_->wants_checksum();
      });
  for (const PieceSum& sum : sums) payload_->advance(sum.n_bytes, sum.crc);
  return true;
}

bool ImageStreamReader::read_pipe(float* to, std::size_t n_bytes) {
  const std::size_t got = payload_->read_unsummed(to, n_bytes);
  if (payload_->wants_checksum()) {
    const auto sums = for_pieces(n_threads_, to, got, [](std::size_t, char*, std::size_t) { return true; });
    for (const PieceSum& sum : sums) payload_->advance_sum(sum.n_bytes, sum.crc);
    if (got == 0) payload_->advance_sum(0, 0);  // nothing is left but the trailer
  }
  return got == n_bytes;
}

bool ImageStreamReader::read(Image& image) {
  if (!read(record_)) return false;
  image.info = info_;
  image.info.time = sample_time(*info_.time, next_++, step_s_);
  image.pixels.resize_for_overwrite({info_.stokes.size(), n_chan_, ny_, nx_});
  std::copy_n(record_.begin(), n_value_, image.pixels.begin());
  const std::size_t n = n_value_ / info_.stokes.size();
  for (std::size_t stokes = 0; stokes < info_.stokes.size(); ++stokes) {
    if (n_part_ == 1 || !is_complex(info_.stokes[stokes])) continue;
    const auto imaginary = record_.begin() + static_cast<std::ptrdiff_t>(n_value_ + stokes * n);
    const auto pixels = image.pixels.begin() + static_cast<std::ptrdiff_t>(stokes * n);
    std::transform(pixels, pixels + static_cast<std::ptrdiff_t>(n), imaginary, pixels,
                   [](double re, float im) { return std::hypot(re, static_cast<double>(im)); });
  }
  return true;
}

}  // namespace apsyn
