// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/input_scales.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/channelise/requantise.h"
#include "libcore/system/parallel.h"

namespace apsyn {

InputScales::InputScales(const ChannelisePlan& plan, std::int64_t n_spectra, unsigned n_bit)
    : plan_(plan),
      n_spectra_(n_spectra),
      n_bit_(n_bit),
      window_spectra_(requantise_window_spectra(static_cast<std::int64_t>(plan.n_sample), n_spectra)),
      sum_i64_({plan.n_chan, plan.n_ant * plan.n_pol}),
      sum_f64_({plan.n_chan, plan.n_ant * plan.n_pol}),
      count_({plan.n_chan, plan.n_ant}) {
  open_window(0);
}

std::uint64_t InputScales::bytes(const ChannelisePlan& plan) {
  constexpr std::uint64_t kIntegrations = 2;
  return plan.n_chan * plan.n_ant *
         (plan.n_pol * (sizeof(std::int64_t) + sizeof(double) + kIntegrations * sizeof(float)) +
          sizeof(std::int64_t));
}

void InputScales::open_window(std::int64_t sample) {
  const auto length = static_cast<std::int64_t>(plan_.n_sample);
  const std::int64_t spectrum = sample / length, index = spectrum / n_spectra_;
  const std::int64_t last = std::min(spectrum + window_spectra_, (index + 1) * n_spectra_);
  window_begin_ = sample;
  window_end_ = last * length;
  if (integrations_.empty() || integrations_.back().index != index) {
    Integration& integration = integrations_.emplace_back();
    integration.index = index;
    integration.first_usable.assign(plan_.n_ant, kNever);
    integration.scale.resize({plan_.n_chan, plan_.n_ant * plan_.n_pol});
    integration.scale.fill(1);
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) integration.n_pending += plan_.flagged[ant] == 0;
  }
  if (integrations_.back().n_pending == 0) {
    settled_ = (index + 1) * n_spectra_;
    window_end_ = settled_ * length;
    return;
  }
  sum_i64_.fill(0);
  sum_f64_.fill(0);
  count_.fill(0);
}

namespace {

/// sums[input] += re^2 + im^2 of one row of samples: int8 pairs, or 4-bit ones that are packed.
void add_powers(const std::int8_t* row, std::size_t n, std::int32_t* sums) {
  for (std::size_t i = 0; i < n; ++i) {
    const int re = row[2 * i], im = row[2 * i + 1];
    sums[i] += re * re + im * im;
  }
}
void add_powers(const std::uint8_t* row, std::size_t n, std::int32_t* sums) {
  for (std::size_t i = 0; i < n; ++i) {
    const int re = static_cast<std::int8_t>(row[i]) >> 4, im = static_cast<std::int8_t>(row[i] << 4) >> 4;
    sums[i] += re * re + im * im;
  }
}

}  // namespace

void InputScales::add(const VoltageBlock& block, std::size_t first, std::size_t n) {
  if (block.four_bit)
    add_integers(block, first, n, block.samples_i4.data(), 1);
  else if (block.integer)
    add_integers(block, first, n, block.samples_i8.data(), 2);
  else
    add_floats(block, first, n);
}

/// Samples [time][chan][input], so many values each. Row after row: with many channels they lie far apart.
template <class T>
void InputScales::add_integers(const VoltageBlock& block, std::size_t first, std::size_t n, const T* samples,
                               std::size_t n_value) {
  const std::vector<std::int64_t>& known = integrations_.back().first_usable;
  const std::size_t n_pol = plan_.n_pol, n_input = plan_.n_ant * n_pol;
  constexpr std::size_t kAnts = 64;       // of an item
  constexpr std::size_t kRows = 1 << 14;  // whose powers 32 bits hold
  const std::size_t n_parts = (plan_.n_ant + kAnts - 1) / kAnts;
  parallel_for(plan_.n_threads, plan_.n_chan * n_parts, [&](std::size_t item, unsigned) {
    const std::size_t chan = item / n_parts, first_ant = item % n_parts * kAnts;
    const std::size_t last_ant = std::min(first_ant + kAnts, plan_.n_ant), from = first_ant * n_pol;
    std::vector<std::int32_t> sums((last_ant - first_ant) * n_pol);
    for (std::size_t time = first; time < first + n;) {
      // spans in which an antenna is valid throughout or not at all
      const std::size_t in_span = (block.first_valid_row_offset + time) % block.missing_samples;
      const std::size_t rows = std::min({first + n - time, block.missing_samples - in_span, kRows});
      std::fill(sums.begin(), sums.end(), 0);
      for (std::size_t row = time; row < time + rows; ++row)
        add_powers(samples + ((row * plan_.n_chan + chan) * n_input + from) * n_value, sums.size(),
                   sums.data());
      for (std::size_t ant = first_ant; ant < last_ant; ++ant) {
        if (known[ant] != kNever || plan_.flagged[ant] != 0 || !block.is_valid(time, ant)) continue;
        count_(chan, ant) += static_cast<std::int64_t>(rows);
        for (std::size_t input = ant * n_pol; input < (ant + 1) * n_pol; ++input)
          sum_i64_(chan, input) += sums[input - from];
      }
      time += rows;
    }
  });
}

void InputScales::add_floats(const VoltageBlock& block, std::size_t first, std::size_t n) {
  const std::vector<std::int64_t>& known = integrations_.back().first_usable;
  const std::size_t n_ant = plan_.n_ant, n_pol = plan_.n_pol;
  constexpr std::size_t kAnts = 16;  // of an item; whoever adds them adds samples in order
  const std::size_t n_parts = (n_ant + kAnts - 1) / kAnts;
  parallel_for(plan_.n_threads, plan_.n_chan * n_parts, [&](std::size_t item, unsigned) {
    const std::size_t chan = item / n_parts, first_ant = item % n_parts * kAnts;
    const std::size_t last_ant = std::min(first_ant + kAnts, n_ant);
    for (std::size_t time = first; time < first + n; ++time)
      for (std::size_t ant = first_ant; ant < last_ant; ++ant) {
        if (known[ant] != kNever || plan_.flagged[ant] != 0 || !block.is_valid(time, ant)) continue;
        if (block.not_finite.size() != 0 && block.not_finite(time, chan, ant) != 0) continue;
        ++count_(chan, ant);
        for (std::size_t pol = 0; pol < n_pol; ++pol) {
          const float* at = &block.samples_f32(time, chan, ant, pol, 0);
          const double re = at[0], im = at[1];
          sum_f64_(chan, ant * n_pol + pol) += re * re + im * im;
        }
      }
  });
}

void InputScales::close_window() {
  Integration& integration = integrations_.back();
  const auto length = static_cast<std::int64_t>(plan_.n_sample);
  for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) {
    if (integration.first_usable[ant] != kNever) continue;
    bool any = false;
    for (std::size_t chan = 0; chan < plan_.n_chan; ++chan) {
      if (count_(chan, ant) == 0) continue;
      any = true;
      for (std::size_t input = ant * plan_.n_pol; input < (ant + 1) * plan_.n_pol; ++input) {
        const double sum = static_cast<double>(sum_i64_(chan, input)) + sum_f64_(chan, input);
        integration.scale(chan, input) =
            requantise_scale(sum / static_cast<double>(count_(chan, ant)), n_bit_);
      }
    }
    if (!any) continue;
    integration.first_usable[ant] = window_begin_ / length;
    --integration.n_pending;
  }
  settled_ = window_end_ / length;
}

void InputScales::append(const VoltageBlock& block) {
  std::int64_t at = block.first_sample - plan_.first_sample;
  const std::int64_t end = at + static_cast<std::int64_t>(block.n_time);
  if (at > taken_) throw std::logic_error("InputScales: a block that does not continue the stream");
  at = std::max(at, taken_);
  while (at < end) {
    const std::int64_t to = std::min(end, window_end_);
    const auto offset = static_cast<std::size_t>(at + plan_.first_sample - block.first_sample);
    if (integrations_.back().n_pending > 0) add(block, offset, static_cast<std::size_t>(to - at));
    at = taken_ = to;
    if (to < window_end_) break;
    if (integrations_.back().n_pending > 0) close_window();
    open_window(window_end_);
  }
}

void InputScales::end_of_stream() {
  if (integrations_.back().n_pending > 0) close_window();
  settled_ = kNever;
}

const InputScales::Integration& InputScales::find(std::int64_t integration) const {
  for (const Integration& held : integrations_)
    if (held.index == integration) return held;
  throw std::logic_error("InputScales: an integration that is not held");
}

View<const float, 2> InputScales::scales(std::int64_t integration) const {
  return find(integration).scale.view();
}

std::int64_t InputScales::first_usable(std::int64_t integration, std::size_t ant) const {
  return find(integration).first_usable[ant];
}

void InputScales::release(std::int64_t integration) {
  while (integrations_.size() > 1 && integrations_.front().index < integration) integrations_.pop_front();
}

}  // namespace apsyn
