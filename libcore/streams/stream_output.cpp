// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/stream_output.h"

#include <algorithm>
#include <stdexcept>

#include "libcore/streams/stream_payload.h"

namespace apsyn {

StreamOutput::StreamOutput(const std::string& path, std::function<std::string(const StreamEnd&)> format,
                           bool overwrite)
    : out_(path, overwrite), format_(std::move(format)) {
  const std::string header = format_({std::nullopt, out_.is_stdout()});
  header_bytes_ = header.size();
  out_.write(header.data(), header.size());
}

void StreamOutput::write(const void* bytes, std::size_t n_bytes) {
  bytes_ += n_bytes;
  if (!out_.is_stdout()) return out_.write(bytes, n_bytes);
  // Summed and written while in the cache.
  constexpr std::size_t kPieceBytes = 128u << 10;
  const auto* at = static_cast<const char*>(bytes);
  while (n_bytes > 0) {
    const std::size_t n = std::min(n_bytes, kPieceBytes);
    crc_.add(at, n);
    out_.write(at, n);
    at += n;
    n_bytes -= n;
  }
}

void StreamOutput::commit() {
  if (out_.is_stdout()) {
    const std::string trailer = format_trailer(bytes_, crc_.value());
    out_.write(trailer.data(), trailer.size());
  } else {
    const std::string header = format_({bytes_, false});
    if (header.size() != header_bytes_) throw std::logic_error("StreamOutput: the header's size changed");
    out_.write_at(0, header.data(), header.size());
  }
  out_.commit();
}

}  // namespace apsyn
