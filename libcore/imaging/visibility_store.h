// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities read once and kept for any number of passes: in memory as far as they may, the rest in a file
// without a name that vanishes with the process.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/files/temporary_file.h"
#include "libcore/visibility/imaging.h"

namespace apsyn {

class VisibilityStore final : public ImagingSource {
 public:
  struct Limits {
    std::uint64_t memory_bytes = 0;  ///< kept in memory at most
    std::uint64_t block_bytes = 0;   ///< data and weights of a block that is given out, about
    std::string folder;              ///< of the file
    unsigned n_threads = 1;          ///< that copy
  };
  /// Reads everything of `groups`, which do not overlap, in one pass over the source. Rows without any weight
  /// are left out.
  VisibilityStore(ImagingSource& source, const std::vector<ChannelGroup>& groups, const Limits& limits);

  const ImagingInfo& info() const override { return info_; }
  /// One of the groups; std::invalid_argument for another.
  void rewind(const ChannelGroup& group) override;
  /// The blocks as they were kept, whatever max_bytes is, unless keep_none() was called.
  bool read(ImagingBlock& block, std::uint64_t max_bytes) override;
  /// The same; what is in memory is not copied.
  const ImagingBlock* next(std::uint64_t max_bytes) override;
  std::uint64_t bytes() const override { return memory_bytes_; }
  /// All goes to the file, and blocks are cut to max_bytes from now on. Before rewind().
  void keep_none() override;
  /// Bytes in the file.
  std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  struct Piece {
    ImagingBlock block;  ///< empty when in the file
    bool in_file = false;
    std::uint64_t offset = 0;  ///< in the file
    std::array<std::size_t, 3> shape{};
    bool with_path = false;
  };
  struct Kept {
    ChannelGroup group;
    std::vector<Piece> pieces;
    ImagingBlock open;  ///< the piece that rows are added to, its arrays of more rows than are there
    std::size_t n_open_rows = 0;
  };
  std::size_t find(const ChannelGroup& group) const;
  void add(Kept& kept, const ImagingBlock& from, const std::vector<std::size_t>& rows);
  void close(Kept& kept);
  void keep(Kept& kept, ImagingBlock&& block);
  void store(Piece& piece, const ImagingBlock& block);
  template <class Block, class Use>
  static void for_each_array(Block& block, Use&& use);
  void read_rows(const Piece& piece, std::size_t first, std::size_t n_row, ImagingBlock& block);

  ImagingInfo info_;
  Limits limits_;
  std::vector<Kept> kept_;
  std::uint64_t memory_bytes_ = 0, file_bytes_ = 0;
  std::optional<TemporaryFile> file_;
  std::size_t current_ = 0, next_ = 0, next_row_ = 0;  ///< of the next piece
  bool cuts_ = false;
  ImagingBlock lent_;  ///< out of the file
};

}  // namespace apsyn
