// SPDX-License-Identifier: GPL-3.0-or-later
// One input's VDIF frames: found, checked, placed on the common clock.
//
// VDIF has no sync word: a header counts when another of the same kind follows a frame behind it. A frame
// whose time is far from the last one's is damaged, unless the next two agree with it: then the recording
// paused (gap.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "libcore/formats/capture/frames/input_window.h"
#include "libcore/formats/capture/frames/interleave.h"
#include "libcore/formats/capture/vlbi/vdif_frame.h"

namespace apsyn {

/// What VdifFrames has to know of the whole capture.
struct VdifClock {
  std::uint32_t reference_s = 0;  ///< second of the epoch that place 0 begins
  std::int64_t frames_per_second = 1;
  std::int64_t first = 0;  ///< place of the output's first frame
  double max_gap_s = 600;
  bool twos_complement = false;
  std::size_t time_bytes = 0;
  std::vector<std::size_t> places;  ///< [lane] -> byte within a time sample
};

class VdifFrames final : public PacketSource {
 public:
  static constexpr std::size_t kSlack = 32;  ///< frames of one thread by which they may be out of order
  /// Finds the first frame, within 1 MiB, and looks at the beginning to see the threads. DataError.
  explicit VdifFrames(std::unique_ptr<PrefetchSource> input);
  const VdifHeader& kind() const { return kind_; }
  std::map<std::uint32_t, std::size_t>& threads() { return threads_; }  ///< thread -> lane
  std::uint32_t first_seconds() const { return first_seconds_; }
  /// The earliest place at the beginning.
  std::int64_t first_place(std::uint32_t reference_s, std::int64_t frames_per_second) const;
  void settle(VdifClock clock) {
    clock_ = std::move(clock);
    last_ = clock_.first;
    kind_.twos_complement = clock_.twos_complement;
  }

  bool next(PacketRun& run) override;
  void decode(std::size_t skip, std::size_t n, std::uint8_t* out) const override;
  StreamReport report() const override { return report_; }
  const InputWindow& window() const { return window_; }

 private:
  void find_first();
  void survey();
  [[noreturn]] void refuse() const;
  bool header_at(std::size_t at);
  std::size_t find_header(std::size_t from);
  std::optional<std::int64_t> place_at(std::size_t at);
  bool is_astray(std::int64_t place);
  void drop_damaged(std::size_t n_bytes);
  void resynchronise();
  void trouble();
  std::string position() const;

  InputWindow window_;
  VdifHeader kind_;
  std::map<std::uint32_t, std::size_t> threads_;
  std::vector<VdifHeader> beginning_;  ///< whose times neighbours confirm
  std::uint32_t first_seconds_ = 0;
  VdifClock clock_;
  std::int64_t last_ = 0;     ///< place of the last frame
  std::uint64_t frames_ = 0;  ///< and pieces of them before the front
  std::size_t lane_ = 0, taken_ = 0;
  StreamReport report_;
};

}  // namespace apsyn
