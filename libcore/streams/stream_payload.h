// SPDX-License-Identifier: GPL-3.0-or-later
// The bytes between a stream's header and its end, and whether the stream ends where it may.
//
// Rules, apsyn-voltage(5): with TRAILER 1 a trailer follows and its byte count and checksum must agree; with
// FILE_SIZE and TRAILER 0 the payload is exactly as long; other software's streams (no TRAILER key) may also
// end early at a whole RESOLUTION that is larger than a sample, or count the header in FILE_SIZE; without
// FILE_SIZE they end at a multiple of RESOLUTION. A stream never ends inside a unit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/files/checksum.h"
#include "libcore/files/input.h"

namespace apsyn {

inline constexpr std::size_t kTrailerBytes = 4096;

/// 4096 bytes: the lines "APSYN_TRAILER 1.0", "TRAILER_SIZE 4096", "DATA_BYTES n", "DATA_CRC32C xxxxxxxx"
/// (eight lower-case hexadecimal digits), padded with NUL.
std::string format_trailer(std::uint64_t data_bytes, std::uint32_t crc32c);

struct PayloadRules {
  std::optional<std::uint64_t> file_size;
  bool trailer = false, foreign = false;
  std::uint64_t resolution_bytes = 0;  ///< 0 = unit_bytes
  std::uint64_t unit_bytes = 1;
};

class StreamPayload {
 public:
  /// `source` stands behind the header. A regular file's size (and its trailer's presence and byte count) are
  /// checked here, everything else when its end is reached. DataError with the byte offset.
  StreamPayload(const std::string& path, std::unique_ptr<ByteSource> source, const PayloadRules& rules);
  /// Reads up to n_bytes; fewer only at the end, which has then been checked.
  std::size_t read(void* bytes, std::size_t n_bytes);
  /// The same for callers whose threads sum what has been read: advance_sum() with the CRC-32C of each piece,
  /// in their order, checks the end's checksum. Nothing else is read meanwhile.
  std::size_t read_unsummed(void* bytes, std::size_t n_bytes);
  void advance_sum(std::uint64_t n_bytes, std::uint32_t crc);
  /// Moves forward by up to n_bytes. Files seek: their checksum can no longer be checked then.
  void skip(std::uint64_t n_bytes);
  /// Regular files can be read at any place by all threads, in place of read(): bytes `at` .. of the payload.
  /// FailureError when the file has become shorter since it was opened.
  bool is_file() const { return size_.has_value(); }
  void read_at(std::uint64_t at, void* bytes, std::size_t n_bytes) const;
  /// Where the payload's checksum is still to be checked, so that advance() and advance_sum() want that of
  /// their bytes.
  bool wants_checksum() const { return rules_.trailer && whole_; }
  /// Moves forward by bytes that read_at() gave, whose CRC-32C is `crc`; checks the end when it is reached.
  void advance(std::uint64_t n_bytes, std::uint32_t crc);
  /// Bytes from the payload's start that have been read, skipped or advanced over.
  std::uint64_t position() const { return done_; }
  /// Payload bytes when known in advance.
  std::optional<std::uint64_t> size() const { return size_; }

 private:
  void check_length(std::uint64_t n_bytes) const;
  void end_of_file();
  void check_end();
  void check_file(const std::string& path);
  std::size_t read_with_trailer(char* bytes, std::size_t n_bytes);
  void check_trailer(const std::string& trailer, std::uint64_t n_bytes, bool with_checksum) const;

  std::unique_ptr<ByteSource> source_;
  PayloadRules rules_;
  std::uint64_t header_bytes_ = 0, done_ = 0;
  std::optional<std::uint64_t> size_;
  std::vector<char> ahead_;   ///< the last kTrailerBytes read, which may turn out to be the trailer
  std::string trailer_;       ///< once a stream that has one has ended
  std::uint64_t summed_ = 0;  ///< bytes whose checksum is in crc_
  Crc32c crc_;
  bool whole_ = true, ended_ = false;
};

/// The header's HDR_SIZE bytes from the start of `source`; DataError when they are no PSRDADA header.
std::string read_stream_header(ByteSource& source);

}  // namespace apsyn
