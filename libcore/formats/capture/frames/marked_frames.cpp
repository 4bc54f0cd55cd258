// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/frames/marked_frames.h"

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/streams/recognise.h"

namespace apsyn {
namespace {

constexpr std::size_t kSearchBytes = 1u << 20;  // without a frame it is another format
constexpr std::size_t kDropBytes = 256u << 10;  // taken bytes leave the buffer in such pieces

}  // namespace

MarkerPattern::MarkerPattern(std::string_view text, unsigned word_bits) {
  std::string all(word_bits, 'c');
  if (text.empty()) text = all;
  const auto first = text.find('c'), last = text.rfind('c');
  const bool good =
      text.size() == word_bits && text.find_first_not_of("01cx") == text.npos &&
      text.find_first_of("01c") != text.npos &&
      (first == text.npos || text.substr(first, last - first + 1).find_first_not_of('c') == text.npos);
  if (!good)
    throw UsageError(
        "--marker {}: give the {} bits of the marker from the highest: 0 and 1 where they are fixed, c for "
        "the "
        "counter (neighbouring bits), x for the rest",
        text, word_bits);
  for (char letter : text) {
    mask_ = mask_ << 1 | (letter == '0' || letter == '1');
    value_ = value_ << 1 | (letter == '1');
  }
  if (first == text.npos) return;
  shift_ = static_cast<unsigned>(text.size() - 1 - last);
  turn_ = 1u << (last - first + 1);
}

MarkedFrames::MarkedFrames(std::unique_ptr<PrefetchSource> source, const MarkerPattern& pattern,
                           unsigned word_bits, std::size_t frame_bytes, ByteOrder byte_order)
    : source_(std::move(source)),
      pattern_(pattern),
      word_bits_(word_bits),
      frame_bytes_(frame_bytes),
      big_(byte_order == ByteOrder::big) {
  report_.name = source_->name();
  hold(1);
  if (recognise(beginning()).certain)
    throw DataError("{}: byte 0: no frames of mwa32t{}", source_->name(),
                    foreign_hint(beginning(), "mwa32t"));
  for (;; at_ += frame_bytes_) {
    hold(at_ + (kStart + 2) * frame_bytes_);
    const std::size_t in_all = bytes_.size() / frame_bytes_;
    const Position best = best_position(at_, at_ + frame_bytes_ - 1);
    if (best.support + 1 >= std::min(kLock, std::max<std::size_t>(2, in_all)) && is_steady(best.at)) {
      report_.skipped_bytes += best.at;
      if (best.at > 0) trouble();
      at_ = best.at;
      break;
    }
    if (at_ > kSearchBytes || at_ + frame_bytes_ > bytes_.size())
      throw DataError(
          "{}: byte {}: no two markers follow each other at {} bytes: is it --from mwa32t? check --marker, "
          "--word-bits and --endian{}",
          source_->name(), at_, frame_bytes_, foreign_hint(beginning(), "mwa32t"));
  }
  marker_at(at_, first_count_);
  expected_ = first_count_;
}

/// Before any frame is dropped.
std::string_view MarkedFrames::beginning() const {
  return {reinterpret_cast<const char*>(bytes_.data()), std::min(bytes_.size(), kRecogniseBytes)};
}

/// Has n_bytes from the beginning of bytes_ on, or all that there is.
bool MarkedFrames::hold(std::size_t n_bytes) {
  while (bytes_.size() < n_bytes && !ended_) ended_ = !source_->append_to(bytes_);
  return bytes_.size() >= n_bytes;
}

bool MarkedFrames::marker_at(std::size_t at, std::uint32_t& count) const {
  if (at + word_bits_ / 8 > bytes_.size()) return false;
  std::uint32_t word = bytes_[at];
  if (word_bits_ == 16) word = big_ ? word << 8 | bytes_[at + 1] : word | std::uint32_t{bytes_[at + 1]} << 8;
  count = pattern_.count(word);
  return pattern_.fits(word);
}

bool MarkedFrames::counts_on(std::size_t at, std::uint32_t count) const {
  std::uint32_t found;
  return marker_at(at, found) && found == (count & (pattern_.turn() - 1));
}

/// How many of the markers 1 .. kLook - 1 frames behind `at` go on from `count` there.
std::size_t MarkedFrames::support(std::size_t at, std::uint32_t count) const {
  std::size_t n = 0;
  for (std::size_t i = 1; i < kLook; ++i)
    n += counts_on(at + i * frame_bytes_, count + static_cast<std::uint32_t>(i));
  return n;
}

/// Whether the count goes on behind a bad marker at `at`, better than at any other position. Near the end of
/// the input there may be one marker only to tell.
bool MarkedFrames::on_time(std::size_t at, std::uint32_t count, const Position& best) const {
  const std::size_t rest = bytes_.size() - std::min(bytes_.size(), at + word_bits_ / 8);
  const std::size_t n = support(at, count),
                    wanted = std::clamp<std::size_t>(rest / frame_bytes_, 1, kRelock - 1);
  return n >= wanted && n > best.support;
}

/// Whether the count goes on from `at` in nearly all of the next kStart frames, or those that there are: by
/// chance, or read with the wrong byte order, samples may count for a while.
bool MarkedFrames::is_steady(std::size_t at) const {
  std::uint32_t count = 0;
  marker_at(at, count);
  const std::size_t n = std::min(kStart, bytes_.size() / frame_bytes_);
  std::size_t good = 0;
  for (std::size_t i = 0; i < n; ++i)
    good += counts_on(at + i * frame_bytes_, count + static_cast<std::uint32_t>(i));
  return good >= n - n / 8;
}

/// The best supported position of a marker in from .. to, the first of equals.
MarkedFrames::Position MarkedFrames::best_position(std::size_t from, std::size_t to) const {
  Position best{from, 0};
  for (std::size_t at = from; at <= to; ++at) {
    std::uint32_t count;
    if (!marker_at(at, count)) continue;
    const std::size_t n = support(at, count);
    if (n > best.support) best = {at, n};
  }
  return best;
}

/// Where the framing goes on from `from` on, when `expected` frames should come first there; support 0 when
/// it cannot be told. Samples may look like two or three markers: so few count only where a well supported
/// position further on confirms them, or when the count has hardly moved.
MarkedFrames::Position MarkedFrames::find_framing(std::size_t from, std::uint32_t expected) const {
  const auto ahead = [&](std::size_t at) {
    std::uint32_t count = 0;
    marker_at(at, count);
    return (count - expected) & (pattern_.turn() - 1);
  };
  const Position near = best_position(from, from + frame_bytes_);
  if (near.support + 1 >= kLock) return near;
  const Position far = best_position(from, from + kLook * frame_bytes_);
  if (far.support + 1 >= kLock) {
    for (std::size_t at = from; at < far.at; ++at) {
      std::uint32_t count;
      if (!marker_at(at, count) || ahead(at) >= ahead(far.at)) continue;
      if (const std::size_t n = support(at, count); n + 1 >= kRelock) return {at, n};
    }
    return far;
  }
  constexpr std::uint32_t kHardly = 256;
  if (near.support + 1 >= kRelock && ahead(near.at) <= kHardly) return near;
  return {from, 0};
}

void MarkedFrames::trouble() {
  if (!report_.first_trouble) report_.first_trouble = offset_ + at_;
}

/// The frame at at_ is no use; the next one is expected at `next`.
void MarkedFrames::damage(std::size_t next) {
  trouble();
  ++report_.damaged;
  at_ = std::min(next, bytes_.size());
  ++index_;
  expected_ = (expected_ + 1) & (pattern_.turn() - 1);
}

/// Goes on at `at`, where the count may have jumped. What comes again is passed over.
void MarkedFrames::relock(std::size_t at) {
  trouble();
  report_.skipped_bytes += at - at_;
  at_ = at;
  std::uint32_t count = 0;
  marker_at(at_, count);
  const std::uint32_t ahead = (count - expected_) & (pattern_.turn() - 1);
  if (ahead <= pattern_.turn() / 2) {
    index_ += ahead;
    expected_ = count;
    return;
  }
  for (; count != expected_ && counts_on(at_, count) && at_ + frame_bytes_ <= bytes_.size();
       count = (count + 1) & (pattern_.turn() - 1)) {
    ++report_.repeated;
    at_ += frame_bytes_;
    hold(at_ + kHold * frame_bytes_);
  }
}

/// The marker at at_ is not the expected one.
void MarkedFrames::lose_marker() {
  const std::size_t rest = bytes_.size() - at_, behind = at_ + frame_bytes_;
  const Position found = find_framing(at_, expected_);
  if (on_time(at_, expected_, found)) return damage(behind);
  if (found.support > 0) {
    // Whole frames with bad markers, if the count tells of as many.
    std::uint32_t count = 0;
    marker_at(found.at, count);
    const std::size_t gap = found.at - at_, ahead = (count - expected_) & (pattern_.turn() - 1);
    if (gap > 0 && gap % frame_bytes_ == 0 && (ahead >= gap / frame_bytes_ || pattern_.turn() == 1))
      return damage(behind);
    return relock(found.at);
  }
  if (rest % frame_bytes_ == 0 && rest / frame_bytes_ < kRelock) return damage(behind);
  trouble();
  const std::size_t step = std::min(rest, frame_bytes_);
  report_.skipped_bytes += step;
  at_ += step;
}

/// Whether the frame at at_, whose marker and next marker are good and no more, is whole: samples may look
/// like one marker, but then the true one stands before.
bool MarkedFrames::take_followed_frame() {
  const Position before = best_position(at_ + word_bits_ / 8, at_ + frame_bytes_ - 1);
  if (before.support + 1 < kLock) return true;
  damage(before.at);
  return false;
}

/// Whether the frame at at_, whose marker is good and whose next marker is not, is whole. If it may be cut,
/// it is damaged, and lose_marker() finds where it goes on.
bool MarkedFrames::take_frame() {
  const std::size_t behind = at_ + frame_bytes_, rest = bytes_.size() - at_;
  if (rest < frame_bytes_ + word_bits_ / 8) return true;
  const std::uint32_t next = (expected_ + 1) & (pattern_.turn() - 1);
  const Position found = find_framing(at_ + word_bits_ / 8, next);
  if (on_time(behind, next, found)) return true;
  if (found.support > 0 ? (found.at - at_) % frame_bytes_ == 0 : rest % frame_bytes_ == 0) return true;
  // What is left of it belongs to the damaged frame, not to the bytes between frames.
  damage(found.support > 0 ? std::min(found.at, behind) : behind);
  return false;
}

bool MarkedFrames::next(std::int64_t& first, std::size_t& n) {
  for (;;) {
    if (at_ >= kDropBytes) {
      offset_ += at_;
      bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(at_));
      at_ = 0;
    }
    hold(at_ + kHold * frame_bytes_);
    const std::size_t rest = bytes_.size() - at_;
    if (rest < frame_bytes_) {
      if (rest == 0) return false;
      trouble();  // the input ends inside a frame
      ++report_.damaged;
      at_ = bytes_.size();
      return false;
    }
    // Frames whose next two markers are good, too, and then perhaps one more.
    std::size_t good = 0;
    while (counts_on(at_ + good * frame_bytes_, expected_ + static_cast<std::uint32_t>(good))) ++good;
    run_ = at_;
    first = index_;
    n = good > 2 ? good - 2 : 0;
    if ((good == 2 && take_followed_frame()) || (good == 1 && take_frame())) n = 1;
    if (n > 0) {
      at_ += n * frame_bytes_;
      index_ += static_cast<std::int64_t>(n);
      expected_ = (expected_ + static_cast<std::uint32_t>(n)) & (pattern_.turn() - 1);
      return true;
    }
    if (good == 0) lose_marker();
  }
}

}  // namespace apsyn
