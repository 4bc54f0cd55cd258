// SPDX-License-Identifier: GPL-3.0-or-later
// A byte source read ahead of its consumer by a thread of its own, so that several pipes that one program
// fills by turns cannot wait for each other, and reading overlaps with work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace apsyn {

class PrefetchSource {
 public:
  /// What may wait to be taken, beside one piece in each hand.
  static constexpr std::size_t kPieceBytes = 256u << 10, kPieces = 16;

  /// "-" is standard input. Throws as ByteSource.
  explicit PrefetchSource(const std::string& path);
  /// Does not wait for a pipe that nobody writes to: the thread ends with its next piece, or with the
  /// program.
  ~PrefetchSource();
  PrefetchSource(const PrefetchSource&) = delete;
  /// Appends the next piece, of any size above 0; false at the end. FailureError on an I/O error.
  bool append_to(std::vector<std::uint8_t>& bytes);
  const std::string& name() const { return name_; }
  std::optional<std::uint64_t> size() const { return size_; }  ///< whole size for regular files

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::string name_;
  std::optional<std::uint64_t> size_;
};

}  // namespace apsyn
