// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/search-transients/history.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Sums of `factor` samples over its square root, so that noise keeps its variance; integers throughout.
void average(const std::int8_t* from, std::size_t n, std::size_t factor, std::int8_t* to) {
  const auto scale = static_cast<std::int32_t>(std::lround(65536 / std::sqrt(static_cast<double>(factor))));
  for (std::size_t t = 0; t < n; t += factor) {
    std::int32_t sum = 0;
    for (std::size_t i = t; i < std::min(n, t + factor); ++i) sum += from[i];
    *to++ = static_cast<std::int8_t>(std::clamp((sum * scale + 32768) >> 16, -127, 127));
  }
}

}  // namespace

SampleHistory::SampleHistory(const DedispersionPlan& plan, std::size_t capacity, unsigned n_threads)
    : plan_(plan), capacity_(capacity), n_threads_(n_threads) {
  for (const TrialLevel& level : plan.levels)
    rows_.emplace_back().resize_for_overwrite({plan.band.n_chan, capacity / level.factor + 64});
}

void SampleHistory::allocate_block(std::size_t n_time) {
  if (static_cast<std::size_t>(end_ - origin_) + n_time <= capacity_) return;
  if (static_cast<std::size_t>(end_ - begin_) + n_time > capacity_)
    throw std::length_error("SampleHistory: more is kept than planned");
  for (std::size_t level = 0; level < rows_.size(); ++level) {
    const auto factor = static_cast<std::int64_t>(plan_.levels[level].factor);
    const auto from = static_cast<std::size_t>((begin_ - origin_) / factor);
    const auto n = static_cast<std::size_t>((end_ - begin_ + factor - 1) / factor);
    parallel_for(n_threads_, plan_.band.n_chan, [&](std::size_t chan, unsigned) {
      std::int8_t* row = &rows_[level](chan, 0);
      std::memmove(row, row + from, n);
    });
  }
  origin_ = begin_;
}

void SampleHistory::append(const std::int8_t* samples, std::size_t stride, std::size_t n_time) {
  allocate_block(n_time);
  for (std::size_t level = 0; level < rows_.size(); ++level) {
    const std::size_t factor = plan_.levels[level].factor;
    const std::size_t at = static_cast<std::size_t>(end_ - origin_) / factor;
    parallel_for(n_threads_, plan_.band.n_chan, [&](std::size_t chan, unsigned) {
      const std::int8_t* from = samples + chan * stride;
      if (factor == 1)
        std::memcpy(&rows_[level](chan, at), from, n_time);
      else
        average(from, n_time, factor, &rows_[level](chan, at));
    });
  }
  end_ += static_cast<std::int64_t>(n_time);
}

void SampleHistory::append_missing(std::size_t n_time) {
  allocate_block(n_time);
  for (std::size_t level = 0; level < rows_.size(); ++level) {
    const auto factor = static_cast<std::int64_t>(plan_.levels[level].factor);
    const auto from = static_cast<std::size_t>((end_ - origin_ + factor - 1) / factor);
    const auto to =
        static_cast<std::size_t>((end_ + static_cast<std::int64_t>(n_time) - origin_ + factor - 1) / factor);
    for (std::size_t chan = 0; chan < plan_.band.n_chan; ++chan)
      std::memset(&rows_[level](chan, 0) + from, 0, to - from);
  }
  end_ += static_cast<std::int64_t>(n_time);
}

void SampleHistory::release(std::int64_t sample) {
  begin_ = std::max(begin_, std::min(sample, end_));
}

SampleRows SampleHistory::rows(std::size_t level, std::int64_t from) const {
  const Buffer<std::int8_t, 2>& rows = rows_[level];
  return {rows.data() + (from - origin_) / static_cast<std::int64_t>(plan_.levels[level].factor),
          rows.extent(1)};
}

}  // namespace apsyn
