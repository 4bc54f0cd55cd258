// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/sample_store.h"

#include <algorithm>
#include <stdexcept>

namespace apsyn {

namespace {

template <class T>
void drop_front(std::vector<T>& values, std::size_t n) {
  if (!values.empty()) values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
}

}  // namespace

void SampleStore::forget_released() {
  const std::int64_t cut = std::clamp(released_, begin_, end_);
  const std::size_t n = index(cut);
  drop_front(i8_, integer_ ? n * row_ : 0);
  drop_front(f32_, integer_ ? 0 : n * row_);
  drop_front(not_finite_, not_finite_.empty() ? 0 : n * n_chan_ * n_ant_);
  if (std::none_of(not_finite_.begin(), not_finite_.end(), [](std::uint8_t bad) { return bad != 0; }))
    not_finite_.clear();
  const auto keep = std::find_if(spans_.begin(), spans_.end(), [&](const Span& s) { return s.end > cut; });
  spans_.erase(spans_.begin(), keep);
  begin_ = cut;
}

void SampleStore::append_validity(const VoltageBlock& block) {
  const std::int64_t length = static_cast<std::int64_t>(block.missing_samples);
  std::int64_t offset = static_cast<std::int64_t>(block.first_valid_row_offset);
  std::int64_t from = block.first_sample;
  for (std::size_t row = 0; from < end_; ++row) {
    Span span;
    span.begin = from;
    span.end = std::min(end_, from + length - offset);
    span.valid.assign(&block.valid(row, 0), &block.valid(row, 0) + n_ant_);
    span.all_valid =
        std::all_of(span.valid.begin(), span.valid.end(), [](std::uint8_t valid) { return valid != 0; });
    from = span.end;
    offset = 0;
    spans_.push_back(std::move(span));
  }
}

void SampleStore::append(const VoltageBlock& block) {
  if (empty_) {
    begin_ = end_ = released_ = block.first_sample;
    integer_ = block.integer;
    empty_ = false;
  }
  const std::size_t n = block.n_time * row_;
  const std::size_t held = block.integer ? block.samples_i8.size() : block.samples_f32.size();
  if (block.first_sample != end_ || block.integer != integer_ || held < n ||
      block.valid.extent(1) != n_ant_ || block.missing_samples == 0 ||
      block.valid.extent(0) * block.missing_samples < block.first_valid_row_offset + block.n_time)
    throw std::logic_error("SampleStore: a block that does not continue the stream");
  forget_released();
  if (integer_)
    i8_.insert(i8_.end(), block.samples_i8.data(), block.samples_i8.data() + n);
  else
    f32_.insert(f32_.end(), block.samples_f32.data(), block.samples_f32.data() + n);
  const std::size_t flags_per_time = n_chan_ * n_ant_;
  const bool all_finite = block.not_finite.size() == 0;
  if (!all_finite && not_finite_.empty()) not_finite_.assign(index(end_) * flags_per_time, 0);
  if (!all_finite)
    not_finite_.insert(not_finite_.end(), block.not_finite.data(),
                       block.not_finite.data() + block.n_time * flags_per_time);
  else if (!not_finite_.empty())
    not_finite_.resize(not_finite_.size() + block.n_time * flags_per_time, 0);
  end_ += static_cast<std::int64_t>(block.n_time);
  append_validity(block);
}

void SampleStore::copy_real(std::int64_t first, std::size_t n, std::size_t chan, std::size_t input,
                            float* to) const {
  const std::size_t offset = chan * (row_ / n_chan_) + input * 2;
  const auto copy = [&](const auto* from) {
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i * row_ + offset];
  };
  if (integer_)
    copy(row_i8(first));
  else
    copy(row_f32(first));
}

void SampleStore::copy_complex(std::int64_t first, std::size_t n, std::size_t chan, std::size_t input,
                               float* to) const {
  const std::size_t offset = chan * (row_ / n_chan_) + input * 2;
  const auto copy = [&](const auto* from) {
    for (std::size_t i = 0; i < n; ++i) {
      to[2 * i] = from[i * row_ + offset];
      to[2 * i + 1] = from[i * row_ + offset + 1];
    }
  };
  if (integer_)
    copy(row_i8(first));
  else
    copy(row_f32(first));
}

std::size_t SampleStore::first_span(std::int64_t sample) const {
  const auto after =
      std::partition_point(spans_.begin(), spans_.end(), [&](const Span& s) { return s.end <= sample; });
  return static_cast<std::size_t>(after - spans_.begin());
}

bool SampleStore::valid(std::int64_t first, std::int64_t last, std::size_t ant) const {
  if (first < begin_ || last > end_) return false;
  for (std::size_t i = first_span(first); i < spans_.size() && spans_[i].begin < last; ++i)
    if (spans_[i].valid[ant] == 0) return false;
  return true;
}

bool SampleStore::all_valid(std::int64_t first, std::int64_t last) const {
  if (first < begin_ || last > end_) return false;
  for (std::size_t i = first_span(first); i < spans_.size() && spans_[i].begin < last; ++i)
    if (!spans_[i].all_valid) return false;
  return true;
}

bool SampleStore::finite(std::int64_t first, std::int64_t last, std::size_t chan, std::size_t ant) const {
  if (not_finite_.empty()) return true;
  for (std::int64_t sample = std::max(first, begin_); sample < std::min(last, end_); ++sample)
    if (not_finite_[(index(sample) * n_chan_ + chan) * n_ant_ + ant] != 0) return false;
  return true;
}

}  // namespace apsyn
