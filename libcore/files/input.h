// SPDX-License-Identifier: GPL-3.0-or-later
// A byte source over a file or standard input that knows its offset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace apsyn {

class ByteSource {
 public:
  /// "-" is standard input. FailureError when it cannot be opened or is a folder.
  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  /// Reads until n_bytes are there or the input ends; returns the bytes read. FailureError on an I/O error.
  std::size_t read(void* bytes, std::size_t n_bytes);
  /// Reads up to n_bytes from byte `at` on, counted as offset() is, wherever read() stands; fewer only at the
  /// end. Regular files only; any thread.
  std::size_t read_at(std::uint64_t at, void* bytes, std::size_t n_bytes) const;
  /// From now on read() throws FailureError instead of waiting once the descriptor `fd` can be read.
  void stop_when_readable(int fd) { stop_fd_ = fd; }
  /// Moves forward; seeks when it can.
  void skip(std::uint64_t n_bytes);
  std::uint64_t offset() const { return offset_; }
  /// Whole size for regular files.
  std::optional<std::uint64_t> size() const { return size_; }
  const std::string& name() const { return name_; }  ///< the path, or "standard input"

 private:
  void wait_for_data() const;

  std::string name_;
  int fd_ = -1, stop_fd_ = -1;
  bool own_ = false;
  std::uint64_t offset_ = 0, begin_ = 0;  // begin_: where a redirected file stood
  std::optional<std::uint64_t> size_;
};

/// A whole text file, without the byte order mark that it may begin with; DataError beyond `max_bytes`.
std::string read_text_file(const std::string& path, std::size_t max_bytes = 256u << 20);

}  // namespace apsyn
