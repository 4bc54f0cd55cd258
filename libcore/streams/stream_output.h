// SPDX-License-Identifier: GPL-3.0-or-later
// Writes a stream with a PSRDADA header: a file gets its exact FILE_SIZE when it is complete, standard output
// FILE_SIZE 0, TRAILER 1 and a trailer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "libcore/files/checksum.h"
#include "libcore/files/output.h"

namespace apsyn {

struct StreamEnd {
  std::optional<std::uint64_t> file_size;
  bool trailer = false;
};

class StreamOutput {
 public:
  /// `format` renders the header; its length must not depend on file_size.
  StreamOutput(const std::string& path, std::function<std::string(const StreamEnd&)> format, bool overwrite);
  void write(const void* bytes, std::size_t n_bytes);
  std::uint64_t bytes_written() const { return bytes_; }
  void commit();

 private:
  OutputFile out_;
  std::function<std::string(const StreamEnd&)> format_;
  std::size_t header_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  Crc32c crc_;
};

}  // namespace apsyn
