// SPDX-License-Identifier: GPL-3.0-or-later
// Samples in, images out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "kernels/epic/epic.h"
#include "kernels/epic/spectra_pipeline.h"
#include "libcore/base/time.h"
#include "libcore/measures/delay_tracker.h"
#include "libcore/voltage/voltage.h"
#include "libcore/voltage/voltage_pipeline.h"
#include "tools/epic-image/frame.h"
#include "tools/epic-image/outputs.h"
#include "tools/epic-image/setup.h"

namespace apsyn {

/// Adds up the spectra of one image after the other.
class Accumulation {
 public:
  /// `renewed` is asked at the beginning of each image, with the length of the stream before it in seconds,
  /// for another plan of its factors and flags; none = as before.
  Accumulation(const EpicSetup& setup, EpicPlan plan, bool one_centre,
               std::function<std::optional<EpicPlan>(double)> renewed);

  /// Takes the gulp of an item, and leaves the images that are there by then in it.
  void append(StreamItem<TimedImages>& item);
  /// Gives a block room for a gulp of samples where the imager takes them fastest from.
  std::shared_ptr<void> pin(VoltageBlock& block) const;
  /// Length of the stream that has been taken so far.
  double data_s() const { return static_cast<double>(next_) * setup_.spectrum_s; }

 private:
  void advance(StreamItem<TimedImages>& item);
  void begin(StreamItem<TimedImages>& item);
  std::int64_t end() const { return first_ + setup_.accumulate_spectra; }
  /// Of half as many spectra.
  UtcTime time_of(std::int64_t doubled) const;
  /// Images are on their way while the next ones are made.
  void finish(StreamItem<TimedImages>& item);

  void settle(StreamItem<TimedImages>& item);

  /// A stream of unknown length ended earlier than its last image was planned to.
  void warn_of_middle(const UtcTime& middle) const;

  const EpicSetup& setup_;
  AccumulationFrame frame_;
  DelayTracker delays_;
  std::unique_ptr<SpectraPipeline> pipeline_;
  std::function<std::optional<EpicPlan>(double)> renewed_;
  std::int64_t first_ = 0, next_ = 0;  // spectra: of the image, and to be added next
  std::deque<TimedImages> coming_;     // taken, but not there yet
  TimedImages spare_;
  std::optional<EpicGeometry> first_geometry_;
  bool measured_ = false;   // the imager knows of regions
  std::int64_t aimed_ = 0;  // twice the spectrum whose sky the image shows
};

}  // namespace apsyn
