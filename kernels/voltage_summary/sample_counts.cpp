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
      partial_({n_threads_, n_input_}) {
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

void SampleCounter::count_saturated(const VoltageBlock& block, std::size_t first_row, std::size_t n_rows,
                                    std::int64_t* counts) const {
  const std::size_t at = first_row * n_input_;
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
  const auto block_end = block.first_sample + static_cast<std::int64_t>(block.n_time);
  const std::int64_t begin = std::max(first_, block.first_sample), end = std::min(end_, block_end);
  if (begin >= end) return;
  const auto skip = static_cast<std::size_t>(begin - block.first_sample),
             n_time = static_cast<std::size_t>(end - begin);
  const std::size_t n_ant = counts_.missing.size(), n_rows = n_time * counts_.n_chan,
                    first_row = skip * counts_.n_chan;
  counts_.n_time += end - begin;
  if (high_ > 0) {
    partial_.fill(0);
    const std::size_t rows_of_piece = std::max<std::size_t>(1, (std::size_t{1} << 20) / (2 * n_input_));
    parallel_for(n_threads_, (n_rows + rows_of_piece - 1) / rows_of_piece,
                 [&](std::size_t piece, unsigned thread) {
                   const std::size_t begin = piece * rows_of_piece;
                   count_saturated(block, first_row + begin, std::min(rows_of_piece, n_rows - begin),
                                   &partial_(thread, 0));
                 });
    for (std::size_t thread = 0; thread < n_threads_; ++thread)
      for (std::size_t input = 0; input < n_input_; ++input)
        counts_.saturated[input] += partial_(thread, input);
  }
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
