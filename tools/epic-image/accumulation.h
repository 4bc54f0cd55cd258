// SPDX-License-Identifier: GPL-3.0-or-later
// Samples in, images out.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "libcore/base/log.h"
#include "libcore/measures/delay_tracker.h"
#include "libcore/voltage/block_memory.h"
#include "libcore/voltage/voltage_pipeline.h"
#include "tools/epic-image/describe.h"
#include "tools/epic-image/outputs.h"
#include "tools/epic-image/spectra_pipeline.h"

namespace apsyn {

/// Adds up the spectra of one image after the other.
class Accumulation {
 public:
  Accumulation(const EpicSetup& setup, EpicPlan plan, bool one_centre)
      : setup_(setup),
        frame_(setup.header, setup.aligned(), one_centre, setup.directions),
        delays_(setup.header.layout, setup.header.start, {std::nullopt, setup.header.phase_centre}),
        pipeline_(make_pipeline(setup, std::move(plan),
                                setup.aligned() && !delays_.nothing_to_do() ? &delays_ : nullptr)) {}

  /// Takes the gulp of an item, and leaves the images that are there by then in it.
  void append(StreamItem<TimedImages>& item) {
    item.n_results = 0;
    const bool any_coming = !coming_.empty();
    const std::int64_t before = first_;
    if (item.last) {
      pipeline_->end_of_stream();
      advance(item);
      if (next_ > first_) finish(item);
      settle(item);
      return;
    }
    for (std::size_t first = 0; first < item.block.n_time;) {
      first += pipeline_->append(item.block, first);
      advance(item);
    }
    if (any_coming && first_ == before) settle(item);  // else the last image is younger
    pipeline_->settle();
  }
  /// Gives a block room for a gulp of samples where the imager takes them fastest from.
  std::shared_ptr<void> pin(VoltageBlock& block) const {
    if (!setup_.on_gpu()) return nullptr;
    return pin_block(*pipeline_, setup_.header, setup_.gulp_samples, block);
  }
  /// Of all spectra so far.
  double data_s() const { return static_cast<double>(next_) * setup_.spectrum_s; }

 private:
  void advance(StreamItem<TimedImages>& item) {
    for (;;) {
      const std::int64_t n = pipeline_->ready(next_, end() - next_, item.last);
      if (n <= 0) return;
      if (next_ == first_) {
        aimed_ = first_ + (setup_.n_spectra < 0 ? end() : std::min(end(), setup_.n_spectra));
        pipeline_->imager().start(frame_.at(time_of(aimed_)));
      }
      pipeline_->add(next_, static_cast<std::size_t>(n));
      next_ += n;
      pipeline_->release(next_);
      if (next_ == end()) finish(item);
    }
  }
  std::int64_t end() const { return first_ + setup_.accumulate_spectra; }
  /// Of half as many spectra.
  UtcTime time_of(std::int64_t doubled) const {
    const UtcTime start = sample_time(setup_.header.start, setup_.f.first_sample, setup_.header.sample_s);
    return sample_time(start, doubled * static_cast<std::int64_t>(setup_.f.n_sample),
                       setup_.header.sample_s / 2);
  }
  /// Images are on their way while the next ones are made.
  void finish(StreamItem<TimedImages>& item) {
    TimedImages& out = coming_.emplace_back(std::move(spare_));
    const bool there = !pipeline_->imager().take_later(out.images);
    out.begin = time_of(2 * first_);
    out.middle = time_of(first_ + next_);
    if (first_ + next_ != aimed_ && !frame_.move_to(out.middle)) warn_of_middle(out.middle);
    out.length_s = static_cast<double>(next_ - first_) * setup_.spectrum_s;
    out.centre = frame_.centre();
    first_ = next_;
    if (there || coming_.size() > 1) settle(item);
  }

  void settle(StreamItem<TimedImages>& item) {
    if (coming_.empty()) return;
    pipeline_->imager().settle();
    spare_ = std::exchange(item.place(), std::move(coming_.front()));  // whose memory serves again
    ++item.n_results;
    coming_.pop_front();
  }

  /// A stream of unknown length ended earlier than its last image was planned to.
  void warn_of_middle(const UtcTime& middle) const {
    constexpr double kTurn_rad_s = kTwoPi / 86164.1;  // of the sky
    const double off_s = static_cast<double>(aimed_ - first_ - next_) / 2 * setup_.spectrum_s;
    const double off_rad = off_s * kTurn_rad_s;
    if (off_rad < 0.1 * (setup_.directions.empty() ? setup_.epic.cell : fringe_rad(setup_))) return;
    log_warning(
        "the stream ends within the last image, whose middle is {}: it is aimed at the sky of {}, {} later, "
        "when that has moved by up to {:.2g} deg",
        format_fits_utc(middle, 3), format_fits_utc(time_of(aimed_), 3), format_duration(off_s),
        off_rad / kRadPerDeg);
  }

  const EpicSetup& setup_;
  AccumulationFrame frame_;
  DelayTracker delays_;
  std::unique_ptr<SpectraPipeline> pipeline_;
  std::int64_t first_ = 0, next_ = 0;  // spectra: of the image, and to be added next
  std::deque<TimedImages> coming_;     // taken, but not there yet
  TimedImages spare_;
  std::int64_t aimed_ = 0;  // twice the spectrum whose sky the image shows
};

}  // namespace apsyn
