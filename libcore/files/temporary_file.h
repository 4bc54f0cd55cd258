// SPDX-License-Identifier: GPL-3.0-or-later
// A file without a name, which vanishes with the process however it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace apsyn {

/// Bytes in order; writing and reading share one position. FailureError names what went wrong.
class TemporaryFile {
 public:
  /// In `folder`; empty = in TMPDIR.
  explicit TemporaryFile(const std::string& folder = "");
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  void write(const void* bytes, std::size_t n_bytes);
  void read(void* bytes, std::size_t n_bytes);
  void seek(std::uint64_t offset);

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string folder_;  ///< as given
  int fd_ = -1;
};

}  // namespace apsyn
