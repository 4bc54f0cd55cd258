// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/stream_payload.h"

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/header/ascii_header.h"
#include "libcore/streams/recognise.h"

namespace apsyn {

std::string format_trailer(std::uint64_t data_bytes, std::uint32_t crc32c) {
  std::string trailer = fmt::format("APSYN_TRAILER 1.0\nTRAILER_SIZE {}\nDATA_BYTES {}\nDATA_CRC32C {:08x}\n",
                                    kTrailerBytes, data_bytes, crc32c);
  trailer.resize(kTrailerBytes, '\0');
  return trailer;
}

namespace {

/// Tells what the input is instead of a stream, when that can be seen.
void refuse_foreign(ByteSource& source, std::string bytes) {
  const std::string_view seen = recognise(bytes).format;
  if (bytes.size() == kHeaderUnit && (seen.empty() || seen == "lwa")) {  // some show it further on
    bytes.resize(kRecogniseBytes);
    bytes.resize(kHeaderUnit + source.read(bytes.data() + kHeaderUnit, kRecogniseBytes - kHeaderUnit));
  }
  if (const std::string hint = foreign_hint(bytes, ""); !hint.empty())
    throw DataError("{}: byte 0: no voltage or visibility stream{}", source.name(), hint);
}

}  // namespace

std::string read_stream_header(ByteSource& source) {
  std::string header(kHeaderUnit, '\0');
  const std::size_t n = source.read(header.data(), header.size());
  if (header.substr(0, n).find("HDR_SIZE") == header.npos) refuse_foreign(source, header.substr(0, n));
  if (n < header.size())
    throw DataError("{}: byte {}: the input ends inside the header of at least {} bytes: it is truncated",
                    source.name(), n, kHeaderUnit);
  const std::size_t size = header_size(header, source.name());
  // Unit by unit, so that a false HDR_SIZE costs no memory.
  while (header.size() < size) {
    const std::size_t at = header.size(), piece = std::min(size - at, std::max(at, kHeaderUnit));
    header.resize(at + piece);
    const std::size_t more = source.read(header.data() + at, piece);
    if (more < piece)
      throw DataError("{}: byte {}: the input ends inside the header of HDR_SIZE {} bytes: it is truncated",
                      source.name(), at + more, size);
  }
  return header;
}

StreamPayload::StreamPayload(const std::string& path, std::unique_ptr<ByteSource> source,
                             const PayloadRules& rules)
    : source_(std::move(source)), rules_(rules), header_bytes_(source_->offset()) {
  // Nothing would tell a stream that was cut from a whole one. Foreign ones do not say TRAILER at all.
  if (!rules_.foreign && !rules_.trailer && !rules_.file_size)
    throw DataError(
        "{}: byte 0: TRAILER 0 with FILE_SIZE 0: a stream whose size is not told beforehand ends with a "
        "trailer "
        "(TRAILER "
        "1): the header is damaged",
        source_->name());
  if (rules_.resolution_bytes == 0) rules_.resolution_bytes = rules_.unit_bytes;
  if (source_->size()) check_file(path);
}

void StreamPayload::check_file(const std::string& path) {
  const std::uint64_t rest = *source_->size() - std::min(*source_->size(), header_bytes_);
  if (!rules_.trailer) {
    check_length(rest);
    size_ = rest;
    return;
  }
  if (rest < kTrailerBytes)
    throw DataError("{}: byte {}: the file ends before the trailer that TRAILER 1 promises: it is truncated",
                    source_->name(), header_bytes_ + rest);
  size_ = rest - kTrailerBytes;
  // Standard input has one position only: its trailer is seen when it comes.
  if (path == "-") return;
  ByteSource end(path);
  end.skip(header_bytes_ + *size_);
  std::string trailer(kTrailerBytes, '\0');
  if (end.read(trailer.data(), trailer.size()) < trailer.size())
    throw DataError("{}: byte {}: the file ends before its trailer: it is truncated", source_->name(),
                    end.offset());
  check_trailer(trailer, *size_, false);
}

void StreamPayload::check_trailer(const std::string& trailer, std::uint64_t n_bytes,
                                  bool with_checksum) const {
  const std::uint64_t at = header_bytes_ + n_bytes;
  if (!trailer.starts_with("APSYN_TRAILER "))
    throw DataError("{}: byte {}: no trailer where the stream ends (TRAILER 1): it is truncated",
                    source_->name(), at);
  HeaderReader keys(trailer, fmt::format("{}: trailer at byte {}", source_->name(), at));
  const auto promised = static_cast<std::uint64_t>(keys.require_integer("DATA_BYTES", 0, INT64_MAX));
  if (promised != n_bytes)
    throw DataError("{}: byte {}: the trailer counts {} bytes of data where {} came: the stream is damaged",
                    source_->name(), at, promised, n_bytes);
  const std::string crc = keys.require_text("DATA_CRC32C");
  if (with_checksum && crc != fmt::format("{:08x}", crc_.value()))
    throw DataError("{}: byte {}: the trailer's checksum is {}, the data's {:08x}: the stream is damaged",
                    source_->name(), at, crc, crc_.value());
  // One rendering only, so that a damaged byte anywhere in the trailer is seen.
  if (with_checksum && trailer != format_trailer(n_bytes, crc_.value()))
    throw DataError("{}: byte {}: the trailer is damaged", source_->name(), at);
  check_length(n_bytes);
}

void StreamPayload::check_length(std::uint64_t n_bytes) const {
  const std::uint64_t end = header_bytes_ + n_bytes;
  const auto& size = rules_.file_size;
  const auto fail_size = [&] {
    return DataError("{}: byte {}: the stream ends after {} bytes of data, FILE_SIZE says {}: {}",
                     source_->name(), end, n_bytes, *size,
                     n_bytes < *size ? "it is truncated" : "correct the header");
  };
  if (size && n_bytes != *size) {
    const bool counts_header = *size == end;
    const bool stopped_early = n_bytes < *size && rules_.resolution_bytes > rules_.unit_bytes &&
                               n_bytes % rules_.resolution_bytes == 0;
    if (!rules_.foreign || !(counts_header || stopped_early)) throw fail_size();
    const bool told = size_ == n_bytes;  // when the file was opened
    if (!counts_header && !told)
      log_warning("{}: {} bytes of data where FILE_SIZE says {}: the recording ended early", source_->name(),
                  n_bytes, *size);
  }
  if (!size && n_bytes % rules_.resolution_bytes != 0)
    throw DataError("{}: byte {}: the stream ends inside RESOLUTION {} bytes: it is truncated",
                    source_->name(), end, rules_.resolution_bytes);
  if (n_bytes % rules_.unit_bytes != 0)
    throw DataError("{}: byte {}: the stream ends inside a sample or heap of {} bytes: it is truncated",
                    source_->name(), end, rules_.unit_bytes);
}

std::size_t StreamPayload::read(void* bytes, std::size_t n_bytes) {
  const std::size_t got = read_unsummed(bytes, n_bytes);
  if (rules_.trailer) {
    crc_.add(bytes, got);
    summed_ += got;
    check_end();
  }
  return got;
}

std::size_t StreamPayload::read_unsummed(void* bytes, std::size_t n_bytes) {
  if (ended_) return 0;
  auto* to = static_cast<char*>(bytes);
  if (rules_.trailer) return read_with_trailer(to, n_bytes);
  if (size_) n_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(n_bytes, *size_ - done_));
  const std::size_t got = source_->read(to, n_bytes);
  done_ += got;
  // A file that shrank since it was opened ends here too.
  if (got < n_bytes || (size_ && done_ == *size_)) {
    ended_ = true;
    check_length(done_);
  }
  if (rules_.file_size && done_ > *rules_.file_size) check_length(done_);
  return got;
}

std::size_t StreamPayload::read_with_trailer(char* bytes, std::size_t n_bytes) {
  // Always keeps the last kTrailerBytes back: when the input ends, they are the trailer.
  std::size_t got = std::min(n_bytes, ahead_.size());
  std::copy_n(ahead_.data(), got, bytes);
  ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(got));
  got += source_->read(bytes + got, n_bytes - got);
  const std::size_t kept = ahead_.size();
  ahead_.resize(kTrailerBytes);
  ahead_.resize(kept + source_->read(ahead_.data() + kept, kTrailerBytes - kept));
  if (ahead_.size() < kTrailerBytes) {
    ended_ = true;
    const std::size_t from_data = kTrailerBytes - ahead_.size();
    if (from_data > got)
      throw DataError(
          "{}: byte {}: the stream ends before the trailer that TRAILER 1 promises: it is truncated",
          source_->name(), source_->offset());
    got -= from_data;
    trailer_.assign(bytes + got, from_data);
    trailer_.append(ahead_.data(), ahead_.size());
  }
  done_ += got;
  return got;
}

void StreamPayload::advance_sum(std::uint64_t n_bytes, std::uint32_t crc) {
  crc_ = Crc32c(crc32c_combine(crc_.value(), crc, n_bytes));
  summed_ += n_bytes;
  check_end();
}

void StreamPayload::check_end() {
  if (trailer_.empty() || summed_ < done_) return;
  check_trailer(trailer_, done_, whole_);
  trailer_.clear();
}

void StreamPayload::read_at(std::uint64_t at, void* bytes, std::size_t n_bytes) const {
  const std::size_t got = source_->read_at(header_bytes_ + at, bytes, n_bytes);
  if (got < n_bytes)
    throw FailureError(
        "{}: byte {}: the file ends here, {} bytes before it did when it was opened: it must "
        "not be changed while it is read",
        source_->name(), header_bytes_ + at + got, *size_ - at - got);
}

void StreamPayload::end_of_file() {
  ended_ = true;
  if (!rules_.trailer) return check_length(done_);
  std::string trailer(kTrailerBytes, '\0');
  if (source_->read_at(header_bytes_ + done_, trailer.data(), trailer.size()) < trailer.size())
    throw DataError("{}: byte {}: the file ends before its trailer: it is truncated", source_->name(),
                    header_bytes_ + done_);
  check_trailer(trailer, done_, whole_);
}

void StreamPayload::advance(std::uint64_t n_bytes, std::uint32_t crc) {
  if (wants_checksum()) crc_ = Crc32c(crc32c_combine(crc_.value(), crc, n_bytes));
  done_ += n_bytes;
  if (done_ == *size_ && !ended_) end_of_file();
}

void StreamPayload::skip(std::uint64_t n_bytes) {
  if (size_) {
    // What read() holds back has been taken from the source already.
    std::uint64_t left = std::min(n_bytes, *size_ - done_);
    done_ += left, summed_ += left;
    const std::size_t held = static_cast<std::size_t>(std::min<std::uint64_t>(left, ahead_.size()));
    ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(held));
    source_->skip(left - held);
    if (left > 0) whole_ = false;
    return;
  }
  std::vector<char> drop(1u << 20);
  while (n_bytes > 0) {
    const std::size_t piece = static_cast<std::size_t>(std::min<std::uint64_t>(n_bytes, drop.size()));
    const std::size_t got = read(drop.data(), piece);
    if (got < piece) return;
    n_bytes -= got;
  }
}

}  // namespace apsyn
