// SPDX-License-Identifier: GPL-3.0-or-later
// Voltage streams from and to files and pipes; apsyn-voltage(5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "libcore/voltage/voltage.h"

namespace apsyn {

/// Reads a voltage stream from a file or "-". Real input (n_dim 1) keeps im = 0 in the canonical form, and
/// sideband conjugation is undone. Memory: the block, a piece of 256 kB a thread, and
/// header().missing_samples samples.
///
/// Missing data: the aligned spans of missing_samples that VoltageBlock::valid describes are judged whole,
/// whatever n_time or skip_to() ask for: where a span reaches beyond the block, the reader looks at the rest
/// of it in the stream. The last span of a stream may be shorter and is judged by the samples it has. Reads
/// of a multiple of missing_samples from an aligned sample are the fastest.
class VoltageReader {
 public:
  /// FailureError when the file cannot be opened, DataError when the header is malformed, when a file's size
  /// disagrees with FILE_SIZE, or when the order, NBIT or ENCODING combination is not supported.
  explicit VoltageReader(const std::string& path);
  ~VoltageReader();
  VoltageReader(VoltageReader&&) noexcept;
  const VoltageHeader& header() const { return header_; }
  const std::string& name() const { return name_; }
  /// Samples in the stream when known.
  std::optional<std::int64_t> n_samples() const;
  /// Reads files, and decodes, on so many threads; on one without.
  void use_threads(unsigned n_threads);
  /// Is called, within read(), by each of the threads for the samples [first, first + n_time) of the block
  /// that it has just filled in, which are still in its cache. All samples of a block are seen once; of the
  /// block only these, first_sample and the kind of samples mean anything yet. `thread` is below that of
  /// use_threads(), and no other's meanwhile. None: an empty function.
  using Watch =
      std::function<void(const VoltageBlock& block, std::size_t first, std::size_t n_time, unsigned thread)>;
  void watch(Watch watch);
  /// From now on leaves complex samples of 4 bits packed (VoltageBlock::samples_i4), where the stream allows
  /// that.
  void keep_4bit();
  bool keeps_4bit() const;
  /// Starts at sample `first`; seeks in files (a trailer's checksum is then not checked), reads and drops on
  /// pipes. Call before the first read (std::logic_error).
  void skip_to(std::int64_t first);
  /// Reads up to n_time samples; fewer only at the end; false when there are none. DataError with the byte
  /// offset when the stream ends where it must not, or its trailer is missing or wrong.
  bool read(VoltageBlock& block, std::size_t n_time);

 private:
  std::string name_;
  VoltageHeader header_;
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes a voltage stream to a file (exact FILE_SIZE, atomic) or to "-" (FILE_SIZE 0, TRAILER 1, trailer).
/// The header's file_size, trailer and foreign are set by the writer.
class VoltageWriter {
 public:
  VoltageWriter(const std::string& path, const VoltageHeader& header, bool overwrite);
  ~VoltageWriter();
  /// Raw samples already encoded in the header's order and NBIT; any number of bytes.
  void write(const void* bytes, std::size_t n_bytes);
  /// Writes the trailer or the final FILE_SIZE and publishes the file; without it the file is dropped.
  /// std::logic_error when the bytes are no whole number of units (VoltageHeader::unit_bytes).
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
