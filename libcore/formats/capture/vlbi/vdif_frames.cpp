// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/vlbi/vdif_frames.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxHeaderBytes = 32;     // bytes that are looked at; a legacy header has fewer
constexpr std::size_t kSearchBytes = 1u << 20;  // without a frame it is another format
constexpr std::size_t kLookFrames = 256;        // at the beginning, to see the threads
/// Less than is read ahead of each input: one producer may feed several by turns.
constexpr std::size_t kLookBytes = PrefetchSource::kPieces * PrefetchSource::kPieceBytes / 2;
constexpr std::uint32_t kReach_s = 32;  // by which neighbours at the beginning may be apart

bool near(const VdifHeader& a, const VdifHeader& b) {
  return std::max(a.seconds, b.seconds) - std::min(a.seconds, b.seconds) <= kReach_s;
}

std::int64_t place_of(const VdifHeader& h, std::uint32_t reference_s, std::int64_t frames_per_second) {
  return (std::int64_t{h.seconds} - reference_s) * frames_per_second + h.frame;
}

}  // namespace

VdifFrames::VdifFrames(std::unique_ptr<PrefetchSource> input) : window_(std::move(input)) {
  report_.name = window_.source().name();
  find_first();
  survey();
}

void VdifFrames::find_first() {
  std::size_t at = 0;
  for (; at < kSearchBytes && window_.hold(at + kMaxHeaderBytes) == at + kMaxHeaderBytes; ++at) {
    kind_ = parse_vdif_header(window_.data() + at);
    if (kind_.n_samples() == 0) continue;
    if (at > 0 && kind_.frame_bytes > kSearchBytes) continue;  // junk may tell any length, up to 128 MiB
    // One that is alone must fill the input.
    const std::size_t behind = at + kind_.frame_bytes, held = window_.hold(behind + kMaxHeaderBytes);
    const bool follows = held == behind + kMaxHeaderBytes && header_at(behind);
    if (!follows && (at > 0 || held != behind)) continue;
    if (at > 0) {
      trouble();
      report_.skipped_bytes += at;
      window_.drop(at);
    }
    return;
  }
  refuse();
}

void VdifFrames::refuse() const {
  const std::string_view bytes = window_.beginning();
  if (bytes.size() < kMaxHeaderBytes)
    throw DataError("{}: byte {}: no VDIF frame: the input ends inside the first header", report_.name,
                    bytes.size());
  if (const std::string hint = foreign_hint(bytes, "vdif"); !hint.empty())
    throw DataError("{}: byte 0: no VDIF frame{}", report_.name, hint);
  const VdifHeader h = parse_vdif_header(reinterpret_cast<const std::uint8_t*>(bytes.data()));
  throw DataError(
      "{}: byte 0: frame 0: no VDIF frame of 1, 2, 4, 8 or 16 bits that another follows, here or within 1 "
      "MiB: "
      "the first header tells {} bytes with samples of {} bits in {} channels: repair it, or look whether it "
      "is VDIF",
      report_.name, h.frame_bytes, h.n_bit, h.n_chan);
}

/// The threads and the times of the frames at the beginning; damaged times do not count.
void VdifFrames::survey() {
  const std::size_t look =
      std::min(kLookFrames * kind_.frame_bytes, std::max(kLookBytes, 2 * kind_.frame_bytes));
  const std::size_t held = window_.hold(look);
  std::vector<VdifHeader> all;
  for (std::size_t at = 0; at + kind_.frame_bytes <= held; at += kind_.frame_bytes) {
    all.push_back(parse_vdif_header(window_.data() + at));
    if (all.back().same_kind(kind_)) continue;
    all.pop_back();
    break;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool confirmed = all.size() == 1 || (i > 0 && near(all[i], all[i - 1])) ||
                           (i + 1 < all.size() && near(all[i], all[i + 1]));
    if (!confirmed) continue;
    // What jumps here will not be taken for the beginning: next() tells the user.
    if (!beginning_.empty() && !near(all[i], beginning_.back())) break;
    beginning_.push_back(all[i]);
    threads_.emplace(all[i].thread, 0);
  }
  if (beginning_.empty())
    throw DataError("{}: byte {}: no two frames whose times agree: is it VDIF?", report_.name,
                    window_.offset());
  first_seconds_ = std::min_element(beginning_.begin(), beginning_.end(), [](const auto& a, const auto& b) {
                     return a.seconds < b.seconds;
                   })->seconds;
}

std::int64_t VdifFrames::first_place(std::uint32_t reference_s, std::int64_t frames_per_second) const {
  std::int64_t least = place_of(beginning_[0], reference_s, frames_per_second);
  for (const VdifHeader& h : beginning_) least = std::min(least, place_of(h, reference_s, frames_per_second));
  return least;
}

void VdifFrames::trouble() {
  if (report_.first_trouble) return;
  report_.first_trouble = window_.offset();
  report_.first_trouble_frame = frames_;
}

std::string VdifFrames::position() const {
  return fmt::format("frame {} at byte {}", frames_, window_.offset());
}

/// Whether a header of this kind, or the input's end, is so many bytes behind the front.
bool VdifFrames::header_at(std::size_t at) {
  if (window_.hold(at + kMaxHeaderBytes) < at + kMaxHeaderBytes) return true;
  return parse_vdif_header(window_.data() + at).same_kind(kind_);
}

/// The first place from `from` on where a header of this kind is followed by another; two frames further at
/// most.
std::size_t VdifFrames::find_header(std::size_t from) {
  const std::size_t held = window_.hold(2 * kind_.frame_bytes + kMaxHeaderBytes);
  for (std::size_t at = from; at + kMaxHeaderBytes <= held; ++at)
    if (parse_vdif_header(window_.data() + at).same_kind(kind_) && header_at(at + kind_.frame_bytes))
      return at;
  return held;
}

/// Where the frame so many bytes behind the front belongs; empty when there is none.
std::optional<std::int64_t> VdifFrames::place_at(std::size_t at) {
  if (window_.hold(at + kMaxHeaderBytes) < at + kMaxHeaderBytes) return std::nullopt;
  const VdifHeader h = parse_vdif_header(window_.data() + at);
  if (!h.same_kind(kind_) || h.frame >= clock_.frames_per_second) return std::nullopt;
  return place_of(h, clock_.reference_s, clock_.frames_per_second);
}

/// Its time is far from the last frame's, and the next two, or the only one that is left, do not confirm it.
/// Throws when they do and it is further away than pauses may be.
bool VdifFrames::is_astray(std::int64_t place) {
  const auto slack = static_cast<std::int64_t>(kSlack);
  if (std::abs(place - last_) <= slack) return false;
  bool confirmed = false;
  for (std::size_t behind : {kind_.frame_bytes, 2 * kind_.frame_bytes}) {
    if (window_.hold(behind + kMaxHeaderBytes) < behind + kMaxHeaderBytes) break;
    const auto other = place_at(behind);
    if (!other || std::abs(*other - place) > slack) return true;
    confirmed = true;
  }
  const double gap_s = static_cast<double>(place - last_) / static_cast<double>(clock_.frames_per_second);
  if (confirmed && std::abs(gap_s) > clock_.max_gap_s)
    throw_gap({report_.name, position(), window_.offset(), gap_s, clock_.max_gap_s});
  return !confirmed;
}

void VdifFrames::drop_damaged(std::size_t n_bytes) {
  trouble();
  ++report_.damaged;
  ++frames_;
  window_.drop(n_bytes);
}

void VdifFrames::resynchronise() {
  trouble();
  const std::size_t at = find_header(1);
  report_.skipped_bytes += at;
  window_.drop(at);
}

bool VdifFrames::next(PacketRun& run) {
  window_.drop(std::exchange(taken_, 0));
  for (;;) {
    const std::size_t held = window_.hold(kind_.frame_bytes);
    if (held == 0) return false;
    if (held < kind_.frame_bytes) {  // the input ends inside a frame
      drop_damaged(held);
      return false;
    }
    const auto place = place_at(0);
    if (!place) {
      resynchronise();
      continue;
    }
    const VdifHeader h = parse_vdif_header(window_.data());
    const auto lane = threads_.find(h.thread);
    // The time of one that says it is invalid proves no pause.
    if (h.invalid || is_astray(*place) || lane == threads_.end()) {
      drop_damaged(kind_.frame_bytes);
      continue;
    }
    // A header within its own frame, where behind it there is none, means that bytes are missing.
    if (!header_at(kind_.frame_bytes)) {
      if (const std::size_t cut = find_header(1); cut < kind_.frame_bytes) {
        drop_damaged(cut);
        continue;
      }
    }
    last_ = *place;
    ++frames_;
    taken_ = kind_.frame_bytes;
    run = {*place, 1, lane->second};
    lane_ = lane->second;
    return true;
  }
}

void VdifFrames::decode(std::size_t, std::size_t, std::uint8_t* out) const {
  decode_vdif(kind_, window_.data() + kind_.header_bytes(), out + clock_.places[lane_], clock_.time_bytes);
}

}  // namespace apsyn
