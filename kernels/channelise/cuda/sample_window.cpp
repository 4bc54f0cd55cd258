// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/channelise/cuda/sample_window.cuh"
#include "libcore/system/parallel.h"

namespace apsyn {

using f_stage::SampleFormat;

std::size_t WindowPlan::row_bytes() const {
  const std::size_t values = n_chan * n_input;
  switch (format) {
    case SampleFormat::int8:
      return real ? values : 2 * values;
    case SampleFormat::packed_4bit:
      return values;
    default:
      return (real ? 1 : 2) * values * sizeof(float);
  }
}

DeviceSampleWindow::DeviceSampleWindow(const WindowPlan& plan) : plan_(plan) {
  for (Half& half : halves_) {
    half.samples = DeviceArray<std::uint8_t>((plan.gulp_samples + plan.rest_samples) * plan.row_bytes());
  }
}

namespace {

/// Components of n samples as they go to the device: all, or the real ones.
template <class T>
void copy_components(const T* from, std::size_t n, bool real, T* to) {
  if (!real) {
    std::memcpy(to, from, 2 * n * sizeof(T));
    return;
  }
  for (std::size_t i = 0; i < n; ++i) to[i] = from[2 * i];
}

void copy_packed(const std::int8_t* from, std::size_t n, std::uint8_t* to) {
  for (std::size_t i = 0; i < n; ++i)
    to[i] = static_cast<std::uint8_t>((from[2 * i] << 4) | (from[2 * i + 1] & 15));
}

}  // namespace

void DeviceSampleWindow::gather(const VoltageBlock& block, std::size_t first, std::size_t n,
                                std::uint8_t* to) const {
  constexpr std::size_t kPieceBytes = 1 << 20;
  const std::size_t row = plan_.row_bytes(), values = plan_.n_chan * plan_.n_input;
  const std::size_t rows = std::max<std::size_t>(1, kPieceBytes / row);
  parallel_for(plan_.n_threads, (n + rows - 1) / rows, [&](std::size_t piece, unsigned) {
    const std::size_t begin = piece * rows, n_value = std::min(rows, n - begin) * values;
    const std::size_t from = (first + begin) * values * 2;
    std::uint8_t* out = to + begin * row;
    if (plan_.format == SampleFormat::float32)
      copy_components(block.samples_f32.data() + from, n_value, plan_.real, reinterpret_cast<float*>(out));
    else if (block.four_bit)
      std::memcpy(out, block.samples_i4.data() + from / 2, n_value);
    else if (plan_.format == SampleFormat::packed_4bit)
      copy_packed(block.samples_i8.data() + from, n_value, out);
    else
      copy_components(block.samples_i8.data() + from, n_value, plan_.real,
                      reinterpret_cast<std::int8_t*>(out));
  });
}

std::size_t DeviceSampleWindow::append(const VoltageBlock& block, std::size_t first) {
  const std::size_t row = plan_.row_bytes();
  const std::int64_t at = block.first_sample + static_cast<std::int64_t>(first);
  if (empty_) {
    begin_ = end_ = released_ = at;
    empty_ = false;
  }
  const bool integer = plan_.format != SampleFormat::float32;
  const bool packed = plan_.format == SampleFormat::packed_4bit;
  const std::size_t held = block.four_bit ? 2 * block.samples_i4.size()
                           : integer      ? block.samples_i8.size()
                                          : block.samples_f32.size();
  if (at != end_ + static_cast<std::int64_t>(gathered_) || block.integer != integer ||
      (block.four_bit && !packed) || held < block.n_time * plan_.n_chan * plan_.n_input * 2)
    throw std::logic_error("DeviceSampleWindow: a block that does not continue the stream");
  Half& next = halves_[1 - current_];
  if (gathered_ == 0 && next.read) next.used.hold(copies_.get());
  const std::size_t n = std::min(block.n_time - first, plan_.gulp_samples - gathered_);
  const bool as_it_is = !plan_.real && packed == block.four_bit;
  const auto* from = block.four_bit ? block.samples_i4.data()
                     : integer      ? reinterpret_cast<const std::uint8_t*>(block.samples_i8.data())
                                    : reinterpret_cast<const std::uint8_t*>(block.samples_f32.data());
  from += first * row;
  if (as_it_is && is_pinned(from)) {
    reading_ = true;
  } else {
    if (next.busy) next.sent.wait();  // its staging memory is free again
    next.busy = false;
    if (!next.staging) next.staging = pinned<std::uint8_t>(plan_.gulp_samples * row);
    std::uint8_t* staging = next.staging.get() + gathered_ * row;
    gather(block, first, n, staging);
    from = staging;
  }
  cuda_check(cudaMemcpyAsync(next.samples.data() + (plan_.rest_samples + gathered_) * row, from, n * row,
                             cudaMemcpyHostToDevice, copies_.get()),
             "copying samples");
  gathered_ += n;
  if (gathered_ == plan_.gulp_samples) flush();
  return n;
}

std::function<void()> DeviceSampleWindow::taken() {
  if (!reading_) return {};
  reading_ = false;
  const auto read = std::make_shared<Event>();
  read->record(copies_.get());
  return [read] { read->wait(); };
}

void DeviceSampleWindow::flush() {
  if (gathered_ == 0) return;
  const std::size_t row = plan_.row_bytes();
  const Half& now = halves_[current_];
  Half& next = halves_[1 - current_];
  const std::int64_t keep = std::clamp(released_, begin_, end_);
  const auto rest = static_cast<std::size_t>(end_ - keep);
  if (rest > plan_.rest_samples) throw std::logic_error("DeviceSampleWindow: samples that were not taken");
  const std::size_t first = plan_.rest_samples - rest_now_ + static_cast<std::size_t>(keep - begin_);
  cuda_check(
      cudaMemcpyAsync(next.samples.data() + (plan_.rest_samples - rest) * row,
                      now.samples.data() + first * row, rest * row, cudaMemcpyDeviceToDevice, copies_.get()),
      "keeping samples");
  next.sent.record(copies_.get());
  next.busy = true;
  next.read = false;
  begin_ = keep;
  rest_now_ = rest;
  end_ += static_cast<std::int64_t>(gathered_);
  gathered_ = 0;
  current_ = 1 - current_;
}

f_stage::SampleWindow DeviceSampleWindow::use(cudaStream_t stream) const {
  const Half& half = halves_[current_];
  if (end_ > begin_) half.sent.hold(stream);
  f_stage::SampleWindow window;
  const std::size_t row = plan_.row_bytes();
  window.data = half.samples.data() + (plan_.rest_samples - rest_now_) * row;
  window.format = plan_.format;
  window.real = plan_.real;
  window.n_chan = static_cast<int>(plan_.n_chan);
  window.n_input = static_cast<int>(plan_.n_input);
  window.time_bytes = row;
  window.chan_bytes = row / plan_.n_chan;
  return window;
}

void DeviceSampleWindow::used(cudaStream_t stream) {
  halves_[current_].used.record(stream);
  halves_[current_].read = true;
}

}  // namespace apsyn
