// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/voltage_summary/sample_counts.h"

#include <algorithm>

#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

double SampleCounts::saturated_share(std::size_t input) const {
  return share(saturated[input], (n_time - missing[input / n_pol]) * static_cast<std::int64_t>(n_chan));
}

double SampleCounts::missing_share(std::size_t ant) const {
  return share(missing[ant], n_time);
}

double usual_saturated_share(unsigned n_bit) {
  return n_bit <= 4 ? 0.1 : n_bit == 5 ? 0.03 : 0.01;
}

SampleCounter::SampleCounter(const VoltageHeader& header, std::int64_t first, std::int64_t end,
                             unsigned n_threads)
    : first_(first),
      end_(end),
      n_input_(header.n_ant * header.n_pol),
      n_threads_(std::max(1u, n_threads)),
      saturated_({n_threads_, (n_input_ + 7) / 8 * 8 + 8}) {
  counts_.n_chan = header.n_chan;
  counts_.n_pol = header.n_pol;
  counts_.saturated.assign(n_input_, 0);
  counts_.missing.assign(header.n_ant, 0);
  counts_.not_finite.assign(header.n_ant, 0);
  if (header.n_bit <= 16) {
    high_ = (1 << (header.n_bit - 1)) - 1;
    low_ = -high_ - 1;
  }
}

std::pair<std::size_t, std::size_t> SampleCounter::wanted(const VoltageBlock& block, std::size_t first,
                                                          std::size_t n_time) const {
  const std::int64_t at = block.first_sample + static_cast<std::int64_t>(first);
  const std::int64_t begin = std::max(first_, at),
                     end = std::min(end_, at + static_cast<std::int64_t>(n_time));
  if (begin >= end) return {0, 0};
  return {static_cast<std::size_t>(begin - block.first_sample), static_cast<std::size_t>(end - begin)};
}

void SampleCounter::add_extremes(const VoltageBlock& block, std::size_t first, std::size_t n_time,
                                 unsigned thread) {
  const auto [begin, n] = wanted(block, first, n_time);
  if (high_ == 0 || n == 0) return;
  const std::size_t n_rows = n * counts_.n_chan, at = begin * counts_.n_chan * n_input_;
  std::int64_t* const counts = &saturated_(thread, 0);
  if (block.four_bit) return count_extremes_4bit(block.samples_i4.data() + at, n_rows, n_input_, counts);
  if (block.integer)
    return count_extremes(block.samples_i8.data() + 2 * at, n_rows, n_input_, low_, high_, counts);
  const auto low = static_cast<float>(low_), high = static_cast<float>(high_);
  const float* pair = block.samples_f32.data() + 2 * at;
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t input = 0; input < n_input_; ++input, pair += 2)
      counts[input] += (pair[0] <= low) | (pair[0] >= high) | (pair[1] <= low) | (pair[1] >= high);
}

void SampleCounter::add(const VoltageBlock& block) {
  const std::size_t samples_of_piece =
      std::max<std::size_t>(1, (std::size_t{1} << 20) / (2 * n_input_ * counts_.n_chan));
  parallel_for(n_threads_, (block.n_time + samples_of_piece - 1) / samples_of_piece,
               [&](std::size_t piece, unsigned thread) {
                 const std::size_t first = piece * samples_of_piece;
                 add_extremes(block, first, std::min(samples_of_piece, block.n_time - first), thread);
               });
  add_missing(block);
}

SampleCounts SampleCounter::counts() const {
  SampleCounts counts = counts_;
  for (std::size_t thread = 0; thread < n_threads_; ++thread)
    for (std::size_t input = 0; input < n_input_; ++input)
      counts.saturated[input] += saturated_(thread, input);
  return counts;
}

void SampleCounter::add_missing(const VoltageBlock& block) {
  const auto [skip, n_time] = wanted(block, 0, block.n_time);
  if (n_time == 0) return;
  const std::size_t n_ant = counts_.missing.size(), n_rows = n_time * counts_.n_chan,
                    first_row = skip * counts_.n_chan;
  counts_.n_time += static_cast<std::int64_t>(n_time);
  std::size_t first = 0, offset = (block.first_valid_row_offset + skip) % block.missing_samples;
  for (std::size_t row = (block.first_valid_row_offset + skip) / block.missing_samples; first < n_time;
       ++row) {
    const std::size_t n = std::min(block.missing_samples - offset, n_time - first);
    for (std::size_t ant = 0; ant < n_ant; ++ant)
      if (block.valid(row, ant) == 0) counts_.missing[ant] += static_cast<std::int64_t>(n);
    first += n;
    offset = 0;
  }
  if (block.not_finite.size() == 0) return;
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t ant = 0; ant < n_ant; ++ant)
      counts_.not_finite[ant] += block.not_finite.data()[(first_row + row) * n_ant + ant] != 0;
}

}  // namespace apsyn
