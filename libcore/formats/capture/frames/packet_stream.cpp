// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/frames/packet_stream.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr std::int64_t kFarthest = std::int64_t{1} << 60;  // places can be subtracted from each other

}  // namespace

PacketStream::PacketStream(std::unique_ptr<InputWindow> window, const PacketFormat& format,
                           const StreamPlan& plan)
    : window_(std::move(window)), format_(format), plan_(plan), next_of_(plan.lanes.size(), 0) {
  report_.name = window_->source().name();
}

void PacketStream::trouble() {
  if (report_.first_trouble) return;
  report_.first_trouble = window_->offset();
  report_.first_trouble_frame = frames_;
}

/// Where the packet whose header is so many bytes behind the front belongs, whenever that is.
std::optional<PacketStream::Placed> PacketStream::known_header(std::size_t at) {
  if (window_->hold(at + format_.header_bytes) < at + format_.header_bytes) return std::nullopt;
  const auto tag = format_.tag(window_->data() + at);
  if (!tag) return std::nullopt;
  const auto lane =
      std::lower_bound(plan_.lanes.begin(), plan_.lanes.end(), tag->key,
                       [](const StreamPlan::Lane& l, std::uint32_t key) { return l.key < key; });
  if (lane == plan_.lanes.end() || lane->key != tag->key) return std::nullopt;
  std::int64_t ticks = 0;
  if (__builtin_sub_overflow(tag->tick, plan_.first_tick, &ticks) || ticks % plan_.packet_ticks != 0)
    return std::nullopt;
  const std::int64_t place = ticks / plan_.packet_ticks;
  if (place > kFarthest || place < -kFarthest) return std::nullopt;
  return Placed{place, &*lane};
}

/// The same, if its time is possible.
std::optional<PacketStream::Placed> PacketStream::good_header(std::size_t at) {
  const auto packet = known_header(at);
  if (!packet || packet->at < last_ - plan_.max_gap || packet->at > last_ + plan_.max_gap)
    return std::nullopt;
  return packet;
}

/// Three packets that agree with each other and not with the last one's time: the recording paused.
void PacketStream::check_gap() {
  const auto packet = known_header(0);
  for (std::size_t next : {std::size_t{0}, format_.packet_bytes, 2 * format_.packet_bytes}) {
    const auto other = known_header(next);
    if (!packet || !other || std::abs(other->at - packet->at) > plan_.slack) return;
  }
  const double packets = static_cast<double>(packet->at) - static_cast<double>(last_);
  throw_gap({report_.name, fmt::format("frame {} at byte {}", frames_, window_->offset()), window_->offset(),
             packets * plan_.packet_s, plan_.max_gap_s});
}

/// A good header, or the input's end, so many bytes behind the front.
bool PacketStream::follows(std::size_t at) {
  return window_->hold(at + format_.header_bytes) < at + format_.header_bytes || good_header(at).has_value();
}

/// The first place from `from` on where a packet begins and another follows; all that is held when there is
/// none within two packets.
std::size_t PacketStream::find(std::size_t from) {
  const std::size_t held = window_->hold(from + 2 * format_.packet_bytes);
  for (std::size_t at = from; at + format_.header_bytes <= held; ++at)
    if (good_header(at) && follows(at + format_.packet_bytes)) return at;
  return std::max(from, held - std::min(held, format_.header_bytes - 1));
}

/// Its time is far from the last packet's, and the next two, or the only one that is left, do not confirm it.
bool PacketStream::is_astray(const Placed& packet) {
  if (std::abs(packet.at - last_) <= plan_.slack) return false;
  bool confirmed = false;
  for (std::size_t next : {format_.packet_bytes, 2 * format_.packet_bytes}) {
    if (window_->hold(next + format_.header_bytes) < next + format_.header_bytes) break;
    const auto behind = good_header(next);
    if (!behind || std::abs(behind->at - packet.at) > plan_.slack) return true;
    confirmed = true;
  }
  return !confirmed;
}

void PacketStream::drop_damaged(std::size_t n_bytes) {
  trouble();
  ++report_.damaged;
  ++frames_;
  window_->drop(n_bytes);
}

void PacketStream::resynchronise() {
  trouble();
  std::size_t at = find(1);
  if (window_->hold(at + 1) <= at) at = window_->hold(at + 1);
  report_.skipped_bytes += at;
  window_->drop(at);
}

bool PacketStream::next(PacketRun& run) {
  window_->drop(std::exchange(taken_, 0));
  const std::size_t packet_bytes = format_.packet_bytes;
  for (;;) {
    const std::size_t held = window_->hold(packet_bytes);
    if (held == 0) return false;
    const auto packet = good_header(0);
    if (held < packet_bytes) {  // the input ends inside a packet
      trouble();
      packet || held < format_.header_bytes ? ++report_.damaged : report_.skipped_bytes += held;
      window_->drop(held);
      return false;
    }
    if (!packet) {
      check_gap();
      // The format may still know it, and another follow: a packet whose time or contents are impossible.
      if (format_.tag(window_->data()) && good_header(packet_bytes))
        drop_damaged(packet_bytes);
      else
        resynchronise();
      continue;
    }
    if (!follows(packet_bytes)) {
      if (const std::size_t cut = find(1); cut < packet_bytes) {  // bytes are missing
        drop_damaged(cut);
        continue;
      }
    }
    if (is_astray(*packet)) {
      drop_damaged(packet_bytes);
      continue;
    }
    last_ = packet->at;
    std::int64_t& next_of = next_of_[static_cast<std::size_t>(packet->lane - plan_.lanes.data())];
    if (packet->at > next_of) trouble();  // those between are lost
    next_of = std::max(next_of, packet->at + 1);
    ++frames_;
    taken_ = packet_bytes;
    if (packet->lane->lane == StreamPlan::kIgnored) {
      window_->drop(std::exchange(taken_, 0));
      continue;
    }
    place_ = packet->lane->place;
    run = {packet->at, 1, packet->lane->lane};
    return true;
  }
}

void PacketStream::decode(std::size_t, std::size_t, std::uint8_t* out) const {
  format_.decode(window_->data() + format_.header_bytes, place_, plan_.time_bytes, out);
}

}  // namespace apsyn
