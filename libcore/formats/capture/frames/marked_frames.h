// SPDX-License-Identifier: GPL-3.0-or-later
// Frames of fixed length that begin with a marker word, out of a stream of bytes that may have lost, gained
// or changed some of them.
//
// A marker has fixed bits and a counter that rises by one from frame to frame. Where the next marker is not
// the expected one, the places of the following kLook markers are looked at, for every position within a
// frame: the position at which most of them count on from each other wins, the expected one first. From that
// follows what has happened: the marker is damaged (framing and count go on behind it), frames are missing
// (framing goes on, the count has jumped), or bytes are missing or too many (framing has moved). The frame
// before such a place is intact only if framing goes on behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/files/prefetch_source.h"
#include "libcore/formats/capture/capture.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

/// 8 or 16 bits, the highest first: 0 and 1 are fixed, c belongs to the counter (neighbours), x is ignored.
class MarkerPattern {
 public:
  /// UsageError for another letter or length, counter bits that are no neighbours, or neither fixed nor
  /// counter bits.
  MarkerPattern(std::string_view text, unsigned word_bits);
  bool fits(std::uint32_t word) const { return (word & mask_) == value_; }
  std::uint32_t count(std::uint32_t word) const { return (word >> shift_) & (turn_ - 1); }
  /// The count returns to 0 after so many frames; 1 = no counter.
  std::uint32_t turn() const { return turn_; }

 private:
  std::uint32_t mask_ = 0, value_ = 0, turn_ = 1;
  unsigned shift_ = 0;
};

class MarkedFrames {
 public:
  static constexpr std::size_t kLook = 16;   ///< markers that are looked at to find the framing
  static constexpr std::size_t kStart = 64;  ///< frames that nearly all must count on at the beginning
  static constexpr std::size_t kLock = 8;    ///< of which so many leave no doubt
  static constexpr std::size_t kRelock = 3;  ///< and so many at least after a disturbance
  static constexpr std::size_t kHold = 2 * kLook + 2;  ///< frames that a decision may look at

  /// Reads until it has found the first frame. DataError when there is none within 1 MiB or the input's end.
  MarkedFrames(std::unique_ptr<PrefetchSource> source, const MarkerPattern& pattern, unsigned word_bits,
               std::size_t frame_bytes, ByteOrder byte_order);
  /// The count of the first frame.
  std::uint32_t first_count() const { return first_count_; }
  /// The next run of intact frames; false at the end. `first` counts from the first frame of the stream.
  bool next(std::int64_t& first, std::size_t& n);
  /// The frames of the last run, markers included.
  const std::uint8_t* frames() const { return bytes_.data() + run_; }
  const StreamReport& report() const { return report_; }
  std::uint64_t input_bytes_or(std::uint64_t otherwise) const { return source_->size().value_or(otherwise); }

 private:
  struct Position {
    std::size_t at = 0, support = 0;  ///< support: markers that count on from the one there
  };
  bool hold(std::size_t n_bytes);
  std::string_view beginning() const;
  bool marker_at(std::size_t at, std::uint32_t& count) const;
  bool counts_on(std::size_t at, std::uint32_t count) const;
  std::size_t support(std::size_t at, std::uint32_t count) const;
  bool is_steady(std::size_t at) const;
  bool on_time(std::size_t at, std::uint32_t count, const Position& best) const;
  Position best_position(std::size_t from, std::size_t to) const;
  Position find_framing(std::size_t from, std::uint32_t expected) const;
  bool take_followed_frame();
  bool take_frame();
  void lose_marker();
  void relock(std::size_t at);
  void damage(std::size_t next);
  void trouble();

  std::unique_ptr<PrefetchSource> source_;
  MarkerPattern pattern_;
  unsigned word_bits_;
  std::size_t frame_bytes_;
  bool big_;
  std::vector<std::uint8_t> bytes_;
  std::uint64_t offset_ = 0;  ///< of bytes_[0] in the input
  std::size_t at_ = 0;        ///< the expected frame
  std::size_t run_ = 0;       ///< the last run's first frame
  bool ended_ = false;
  std::uint32_t expected_ = 0, first_count_ = 0;
  std::int64_t index_ = 0;  ///< of the expected frame
  StreamReport report_;
};

}  // namespace apsyn
