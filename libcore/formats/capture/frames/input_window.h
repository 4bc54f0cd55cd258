// SPDX-License-Identifier: GPL-3.0-or-later
// The part of an input that a reader of frames looks at: held bytes that begin at a known offset.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "libcore/files/prefetch_source.h"
#include "libcore/streams/recognise.h"

namespace apsyn {

class InputWindow {
 public:
  explicit InputWindow(std::unique_ptr<PrefetchSource> source) : source_(std::move(source)) {}
  /// Holds n bytes from the front, or all that are left; returns how many of the n are there.
  std::size_t hold(std::size_t n) {
    while (bytes_.size() - front_ < n && !ended_) {
      ended_ = !source_->append_to(bytes_);
      if (beginning_.empty()) beginning_.assign(bytes_.begin(), bytes_.begin() + look(bytes_.size()));
    }
    return std::min(n, bytes_.size() - front_);
  }
  /// Valid until the next call of hold or drop.
  const std::uint8_t* data() const { return bytes_.data() + front_; }
  /// Drops n held bytes from the front.
  void drop(std::size_t n) {
    front_ += n;
    offset_ += n;
    if (front_ < kSpareBytes || 2 * front_ < bytes_.size()) return;
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(front_));
    front_ = 0;
  }
  std::uint64_t offset() const { return offset_; }  ///< of the front in the input
  const PrefetchSource& source() const { return *source_; }
  /// The input's first bytes, dropped or not, to tell what else it may be; empty before the first hold.
  std::string_view beginning() const {
    return {reinterpret_cast<const char*>(beginning_.data()), beginning_.size()};
  }

 private:
  static std::ptrdiff_t look(std::size_t n) {
    return static_cast<std::ptrdiff_t>(std::min(n, kRecogniseBytes));
  }
  static constexpr std::size_t kSpareBytes = 256u << 10;
  std::unique_ptr<PrefetchSource> source_;
  std::vector<std::uint8_t> bytes_, beginning_;
  std::size_t front_ = 0;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

}  // namespace apsyn
