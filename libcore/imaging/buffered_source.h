// SPDX-License-Identifier: GPL-3.0-or-later
// An imaging source that reads ahead in a thread of its own and keeps what fits into memory, so that a second
// pass over the same channels reads no file.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <memory>

#include "libcore/imaging/plane_source.h"
#include "libcore/visibility/imaging.h"

namespace apsyn {

class BufferedSource final : public ImagingSource {
 public:
  /// Keeps the blocks of a group of channels when all of them take at most max_bytes.
  BufferedSource(std::unique_ptr<ImagingSource> source, std::uint64_t max_bytes);
  ~BufferedSource() override;
  const ImagingInfo& info() const override { return info_; }
  bool take_part(std::size_t part, std::size_t n_parts) override;
  void rewind(const ChannelGroup& group) override;
  bool read(ImagingBlock& block, std::uint64_t max_bytes) override;
  const ImagingBlock* next(std::uint64_t max_bytes) override;
  std::uint64_t bytes() const override { return kept_bytes_; }
  void keep_none() override;
  /// For whoever keeps the planes: after keep_none() and rewind(), instead of read() and next(). Null where
  /// the source gives none away.
  PlaneSource* plane_source() { return dynamic_cast<PlaneSource*>(source_.get()); }
  /// Frees all but info(), once everything has been read: nothing can be any more.
  void close();

 private:
  void read_ahead(std::uint64_t max_bytes);
  const ImagingBlock* keep();

  std::unique_ptr<ImagingSource> source_;
  ImagingInfo info_;
  std::uint64_t max_bytes_, kept_bytes_ = 0;
  ChannelGroup group_;
  std::deque<ImagingBlock> kept_;
  bool keeping_ = false, complete_ = false;  ///< complete: `kept_` is the whole group
  std::size_t next_kept_ = 0;
  ImagingBlock lent_, ahead_;
  std::future<bool> pending_;  ///< whether `ahead_` holds a block
};

}  // namespace apsyn
