// SPDX-License-Identifier: GPL-3.0-or-later
// Voltage streams from and to files and pipes; apsyn-voltage(5).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "libcore/core/input.h"
#include "libcore/core/voltage.h"

namespace apsyn {

/// Reads a voltage stream from a file or "-". Real input (n_dim 1) keeps im = 0 in the canonical form.
class VoltageReader {
 public:
  /// FailureError when the file cannot be opened, DataError when the header is malformed, when a file's size
  /// disagrees with FILE_SIZE, or when the order, NBIT or ENCODING combination is not supported.
  explicit VoltageReader(const std::string& path);
  ~VoltageReader();
  const VoltageHeader& header() const { return header_; }
  const std::string& name() const { return name_; }
  /// Samples in the stream when known.
  std::optional<std::int64_t> n_samples() const;
  /// Starts at sample `first`; seeks in files, reads and drops on pipes. Call before the first read.
  void skip_to(std::int64_t first);
  /// Reads up to n_time samples (a multiple of header().block_samples); fewer at the end; false when there
  /// are none. DataError with the byte offset when the stream ends where it must not, or its trailer is
  /// missing or wrong. n_time should be a multiple of missing_samples so that missing blocks are seen whole.
  bool read(VoltageBlock& block, std::size_t n_time);

 private:
  std::string name_;
  VoltageHeader header_;
  std::unique_ptr<ByteSource> source_;
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes a voltage stream to a file (exact FILE_SIZE, atomic) or to "-" (FILE_SIZE 0, TRAILER 1, trailer).
class VoltageWriter {
 public:
  VoltageWriter(const std::string& path, const VoltageHeader& header, bool overwrite);
  ~VoltageWriter();
  /// Raw samples already encoded in the header's order and NBIT; any number of bytes.
  void write(const void* bytes, std::size_t n_bytes);
  /// Writes the trailer or the final FILE_SIZE and publishes the file; without it the file is dropped.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
