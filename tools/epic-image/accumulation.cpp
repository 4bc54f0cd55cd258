// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/accumulation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/epic/epic.h"
#include "libcore/base/constants.h"
#include "libcore/base/log.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/voltage/block_memory.h"
#include "libcore/voltage/voltage.h"
#include "tools/epic-image/describe.h"
#include "tools/epic-image/regions.h"
#include "tools/epic-image/setup.h"
#include "tools/epic-image/spectra_pipeline.h"

namespace apsyn {

Accumulation::Accumulation(const EpicSetup& setup, EpicPlan plan, bool one_centre,
                           std::function<std::optional<EpicPlan>(double)> renewed)
    : setup_(setup),
      frame_(setup.header, setup.aligned(), setup.centre, one_centre, setup.directions),
      delays_(setup.header.layout, setup.header.start, {setup.centre, setup.header.phase_centre}),
      pipeline_(make_pipeline(setup, std::move(plan),
                              setup.aligned() && !delays_.nothing_to_do() ? &delays_ : nullptr)),
      renewed_(std::move(renewed)) {}

void Accumulation::append(StreamItem<TimedImages>& item) {
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
  item.wait_until_free = pipeline_->taken();
}

std::shared_ptr<void> Accumulation::pin(VoltageBlock& block) const {
  if (!setup_.on_gpu()) return nullptr;
  return pin_block(*pipeline_, setup_.header, setup_.cuda.four_bit, setup_.gulp_samples, block);
}

void Accumulation::advance(StreamItem<TimedImages>& item) {
  for (;;) {
    const std::int64_t n = pipeline_->ready(next_, end() - next_, item.last);
    if (n <= 0) return;
    if (next_ == first_) begin(item);
    pipeline_->add(next_, static_cast<std::size_t>(n));
    next_ += n;
    pipeline_->release(next_);
    if (next_ == end()) finish(item);
  }
}

void Accumulation::begin(StreamItem<TimedImages>& item) {
  aimed_ = first_ + (setup_.n_spectra < 0 ? end() : std::min(end(), setup_.n_spectra));
  const EpicGeometry geometry = frame_.at(time_of(aimed_));
  if (!first_geometry_) first_geometry_ = geometry;
  if (std::optional<EpicPlan> plan = renewed_(data_s())) {
    while (!coming_.empty()) settle(item);
    pipeline_->replace_imager(std::move(*plan));
    measured_ = false;
    // Its grid is that of the first image for as long as that serves, so that gains alone change the images.
    if (setup_.method == EpicMethod::fft) pipeline_->imager().start(*first_geometry_);
  }
  if (!measured_ && measures_regions(setup_)) {
    while (!coming_.empty()) settle(item);
    pipeline_->imager().measure(region_pixels(setup_, frame_.centre()));
  }
  measured_ = true;
  pipeline_->imager().start(geometry);
}

UtcTime Accumulation::time_of(std::int64_t doubled) const {
  const UtcTime start = sample_time(setup_.header.start, setup_.f.first_sample, setup_.header.sample_s);
  return sample_time(start, doubled * static_cast<std::int64_t>(setup_.f.n_sample),
                     setup_.header.sample_s / 2);
}

void Accumulation::finish(StreamItem<TimedImages>& item) {
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

void Accumulation::settle(StreamItem<TimedImages>& item) {
  if (coming_.empty()) return;
  pipeline_->imager().settle();
  spare_ = std::exchange(item.place(), std::move(coming_.front()));  // whose memory serves again
  ++item.n_results;
  coming_.pop_front();
}

void Accumulation::warn_of_middle(const UtcTime& middle) const {
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

}  // namespace apsyn
