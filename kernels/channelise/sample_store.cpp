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
  const std::int64_t cut = std::clamp(released_, begin(), end());
  const std::size_t n = index(cut);
  drop_front(i8_, integer_ ? n * row_ : 0);
  drop_front(f32_, integer_ ? 0 : n * row_);
  validity_.forget(cut);
}

void SampleStore::append(const VoltageBlock& block) {
  if (i8_.empty() && f32_.empty()) integer_ = block.integer;
  const std::size_t n = block.n_time * row_;
  const std::size_t held = block.integer ? block.samples_i8.size() : block.samples_f32.size();
  if (block.integer != integer_ || held < n)
    throw std::logic_error("SampleStore: a block that does not continue the stream");
  forget_released();
  validity_.append(block);
  if (integer_)
    i8_.insert(i8_.end(), block.samples_i8.data(), block.samples_i8.data() + n);
  else
    f32_.insert(f32_.end(), block.samples_f32.data(), block.samples_f32.data() + n);
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

}  // namespace apsyn
