// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/sample_validity.h"

#include <algorithm>
#include <stdexcept>

namespace apsyn {

void SampleValidity::append_spans(const VoltageBlock& block) {
  const std::int64_t length = static_cast<std::int64_t>(block.missing_samples);
  std::int64_t offset = static_cast<std::int64_t>(block.first_valid_row_offset);
  std::int64_t from = block.first_sample;
  for (std::size_t row = 0; from < end_; ++row) {
    const std::int64_t end = std::min(end_, from + length - offset);
    const std::uint8_t* valid = &block.valid(row, 0);
    // most streams lack nothing for long
    if (!spans_.empty() && spans_.back().end == from &&
        std::equal(valid, valid + n_ant_, spans_.back().valid.begin())) {
      from = spans_.back().end = end;
      offset = 0;
      continue;
    }
    Span span;
    span.begin = from;
    span.end = end;
    span.valid.assign(&block.valid(row, 0), &block.valid(row, 0) + n_ant_);
    span.all_valid =
        std::all_of(span.valid.begin(), span.valid.end(), [](std::uint8_t valid) { return valid != 0; });
    from = span.end;
    offset = 0;
    spans_.push_back(std::move(span));
  }
}

void SampleValidity::append(const VoltageBlock& block) {
  if (empty_) {
    begin_ = end_ = block.first_sample;
    empty_ = false;
  }
  if (block.first_sample != end_ || block.valid.extent(1) != n_ant_ || block.missing_samples == 0 ||
      block.valid.extent(0) * block.missing_samples < block.first_valid_row_offset + block.n_time)
    throw std::logic_error("SampleValidity: a block that does not continue the stream");
  const std::size_t flags_per_time = n_chan_ * n_ant_;
  const bool all_finite = block.not_finite.size() == 0;
  if (!all_finite && not_finite_.empty()) not_finite_.assign(index(end_) * flags_per_time, 0);
  if (!all_finite)
    not_finite_.insert(not_finite_.end(), block.not_finite.data(),
                       block.not_finite.data() + block.n_time * flags_per_time);
  else if (!not_finite_.empty())
    not_finite_.resize(not_finite_.size() + block.n_time * flags_per_time, 0);
  end_ += static_cast<std::int64_t>(block.n_time);
  append_spans(block);
}

void SampleValidity::forget(std::int64_t sample) {
  const std::int64_t cut = std::clamp(sample, begin_, end_);
  if (!not_finite_.empty())
    not_finite_.erase(not_finite_.begin(),
                      not_finite_.begin() + static_cast<std::ptrdiff_t>(index(cut) * n_chan_ * n_ant_));
  if (std::none_of(not_finite_.begin(), not_finite_.end(), [](std::uint8_t bad) { return bad != 0; }))
    not_finite_.clear();
  const auto keep = std::find_if(spans_.begin(), spans_.end(), [&](const Span& s) { return s.end > cut; });
  spans_.erase(spans_.begin(), keep);
  begin_ = cut;
}

std::size_t SampleValidity::first_span(std::int64_t sample) const {
  const auto after =
      std::partition_point(spans_.begin(), spans_.end(), [&](const Span& s) { return s.end <= sample; });
  return static_cast<std::size_t>(after - spans_.begin());
}

bool SampleValidity::valid(std::int64_t first, std::int64_t last, std::size_t ant) const {
  if (first < begin_ || last > end_) return false;
  for (std::size_t i = first_span(first); i < spans_.size() && spans_[i].begin < last; ++i)
    if (spans_[i].valid[ant] == 0) return false;
  return true;
}

bool SampleValidity::all_valid(std::int64_t first, std::int64_t last) const {
  if (first < begin_ || last > end_) return false;
  for (std::size_t i = first_span(first); i < spans_.size() && spans_[i].begin < last; ++i)
    if (!spans_[i].all_valid) return false;
  return true;
}

bool SampleValidity::finite(std::int64_t first, std::int64_t last, std::size_t chan, std::size_t ant) const {
  if (not_finite_.empty()) return true;
  for (std::int64_t sample = std::max(first, begin_); sample < std::min(last, end_); ++sample)
    if (not_finite_[(index(sample) * n_chan_ + chan) * n_ant_ + ant] != 0) return false;
  return true;
}

}  // namespace apsyn
