// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/spectrum_placement.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "libcore/system/parallel.h"

namespace apsyn {

SpectrumPlacement::SpectrumPlacement(const ChannelisePlan& plan, DelaySource* delays)
    : plan_(plan), delays_(delays) {
  if (delays_) max_shift_ = static_cast<std::int64_t>(std::ceil(delays_->max_delay_s() / plan_.sample_s)) + 1;
  for (const double hz : plan_.mixed_hz) highest_hz_ = std::max(highest_hz_, std::abs(hz));
}

std::int64_t SpectrumPlacement::first_of(std::int64_t spectrum) const {
  return plan_.first_sample + spectrum * static_cast<std::int64_t>(plan_.n_sample) - plan_.n_lead();
}

std::int64_t SpectrumPlacement::available(std::int64_t end, bool ended) const {
  const auto trail = static_cast<std::int64_t>(plan_.n_span() - plan_.n_sample) - plan_.n_lead();
  const std::int64_t reach = ended ? 0 : max_shift_ + trail;
  const std::int64_t samples = end - plan_.first_sample - reach;
  const std::int64_t n = std::max<std::int64_t>(0, samples) / static_cast<std::int64_t>(plan_.n_sample);
  return plan_.n_spectra < 0 ? n : std::min(n, plan_.n_spectra);
}

void SpectrumPlacement::prepare(std::int64_t first, std::size_t n_spectra) {
  if (!delays_) return;
  const double begin = static_cast<double>(plan_.first_sample) +
                       static_cast<double>(first) * static_cast<double>(plan_.n_sample);
  const double reach = static_cast<double>(max_shift_);
  const double end = begin + static_cast<double>(n_spectra * plan_.n_sample);
  delays_->prepare((begin - reach) * plan_.sample_s, (end + reach) * plan_.sample_s);
}

std::int64_t SpectrumPlacement::shift_of(std::size_t ant, std::int64_t spectrum, double& delay_s) const {
  delay_s = 0;
  if (!delays_) return 0;
  const double middle =
      static_cast<double>(first_of(spectrum)) + (static_cast<double>(plan_.n_span()) - 1) / 2;
  const std::int64_t shift = std::llround(delays_->delay_s(ant, middle * plan_.sample_s) / plan_.sample_s);
  // the samples taken are those of `shift` earlier, when the delay was another: nu tau dtau/dt turns of phase
  delay_s = delays_->delay_s(ant, (middle - static_cast<double>(shift)) * plan_.sample_s);
  if (std::abs(shift) > max_shift_) throw std::logic_error("Channeliser: a delay beyond its own bound");
  return shift;
}

void SpectrumPlacement::fill_validity(std::int64_t first, const SampleValidity& samples,
                                      SpectraBlock& block) const {
  const auto span = static_cast<std::int64_t>(plan_.n_span());
  const auto from = first_of(first);
  const auto to = first_of(first + static_cast<std::int64_t>(block.n_spectra) - 1) + span;
  const bool per_channel = samples.may_lack_finite();
  const bool any_flagged =
      std::any_of(plan_.flagged.begin(), plan_.flagged.end(), [](auto f) { return f != 0; });
  block.all_valid = !per_channel && !any_flagged && samples.all_valid(from - max_shift_, to + max_shift_);
  const std::size_t n_rows = per_channel ? block.n_chan : 1;
  block.valid.resize({n_rows, plan_.n_ant, block.n_spectra});
  if (block.all_valid) {
    block.valid.fill(1);
    return;
  }
  parallel_for(plan_.n_threads, plan_.n_ant, [&](std::size_t ant, unsigned) {
    if (plan_.flagged[ant] != 0) return;
    // Valid as far as any delay reaches: then where the delay puts each spectrum does not matter.
    if (!per_channel && samples.valid(from - max_shift_, to + max_shift_, ant)) {
      std::fill_n(&block.valid(0, ant, 0), block.n_spectra, std::uint8_t{1});
      return;
    }
    for (std::size_t i = 0; i < block.n_spectra; ++i) {
      const std::int64_t spectrum = first + static_cast<std::int64_t>(i);
      double delay_s;
      const std::int64_t begin = first_of(spectrum) - shift_of(ant, spectrum, delay_s);
      if (!samples.valid(begin, begin + span, ant)) continue;
      for (std::size_t row = 0; row < n_rows; ++row)
        block.valid(row, ant, i) =
            !per_channel || samples.finite(begin, begin + span, block.first_chan + row, ant);
    }
  });
}

Placement SpectrumPlacement::place_one(std::size_t ant, std::int64_t spectrum, std::int64_t origin) const {
  Placement placement;
  const std::int64_t shift = shift_of(ant, spectrum, placement.delay_s);
  placement.slope_s = static_cast<float>(placement.delay_s - static_cast<double>(shift) * plan_.sample_s);
  placement.start = static_cast<std::int32_t>(first_of(spectrum) - shift - origin);
  return placement;
}

void SpectrumPlacement::place_run(std::size_t ant, std::int64_t first, std::int64_t origin,
                                  std::span<Placement> run) const {
  constexpr double kTolerance_turns = 1e-9;
  const std::size_t last = run.size() - 1;
  const auto place = [&](std::size_t i) {
    return place_one(ant, first + static_cast<std::int64_t>(i), origin);
  };
  const Placement begin = place(0), middle = place(last / 2), end = place(last);
  const double step_s = last == 0 ? 0 : (end.delay_s - begin.delay_s) / static_cast<double>(last);
  const double wrong_s = begin.delay_s + step_s * static_cast<double>(last / 2) - middle.delay_s;
  const auto length = static_cast<std::int64_t>(plan_.n_sample);
  const bool steady = std::abs(wrong_s) * highest_hz_ < kTolerance_turns &&
                      end.start - begin.start == static_cast<std::int64_t>(last) * length &&
                      middle.start - begin.start == static_cast<std::int64_t>(last / 2) * length;
  const double shift_s = static_cast<double>(first_of(first) - origin - begin.start) * plan_.sample_s;
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (!steady) {
      run[i] = place(i);
      continue;
    }
    run[i].delay_s = begin.delay_s + step_s * static_cast<double>(i);
    run[i].slope_s = static_cast<float>(run[i].delay_s - shift_s);
    run[i].start = static_cast<std::int32_t>(begin.start + static_cast<std::int64_t>(i) * length);
  }
}

void SpectrumPlacement::place(std::int64_t first, std::int64_t origin, const SpectraBlock& validity,
                              View<Placement, 2> placements) const {
  constexpr std::size_t kRun = 64;
  const std::size_t n = validity.n_spectra;
  parallel_for(plan_.n_threads, plan_.n_ant, [&](std::size_t ant, unsigned) {
    Placement* row = &placements(ant, 0);
    for (std::size_t i = 0; i < n; i += kRun)
      place_run(ant, first + static_cast<std::int64_t>(i), origin, {row + i, std::min(kRun, n - i)});
    if (validity.all_valid) return;
    for (std::size_t i = 0; i < n; ++i) {
      bool any = false;
      for (std::size_t chan = 0; chan < validity.valid.extent(0); ++chan)
        any |= validity.valid(chan, ant, i) != 0;
      if (!any) row[i].start = kNoWeight;
    }
  });
}

}  // namespace apsyn
