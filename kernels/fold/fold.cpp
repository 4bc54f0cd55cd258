// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/fold/fold.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "libcore/base/constants.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

/// Rows with data that the scales are taken from: good to 1 %.
constexpr std::size_t kScaleRows = 4096, kMaxStoredBytes = std::size_t{64} << 20;

std::size_t scale_rows(std::size_t n_chan) {
  return std::clamp<std::size_t>(kMaxStoredBytes / (n_chan * sizeof(float)), 64, kScaleRows);
}

}  // namespace

std::uint64_t folder_bytes(const FoldPlan& plan) {
  const std::size_t n_band = std::min(plan.n_band, plan.channel_hz.size());
  return std::uint64_t{2} * sizeof(double) * plan.n_subint * n_band * plan.n_bin +
         std::uint64_t{2} * scale_rows(plan.channel_hz.size()) * plan.channel_hz.size() * sizeof(float);
}

Folder::Folder(FoldPlan plan) : plan_(std::move(plan)) {
  if (plan_.channel_hz.empty() || plan_.n_bin == 0 || plan_.n_band == 0 || plan_.n_subint < 2 ||
      plan_.n_subint % 2 != 0 || !(plan_.sample_s > 0) || !(plan_.period_s > 0) || !(plan_.subint_s > 0))
    throw std::logic_error("Folder: a plan that contradicts itself");
  plan_.n_band = std::min(plan_.n_band, plan_.channel_hz.size());
  for (double hz : plan_.channel_hz)
    delay_turns_.push_back(kDispersion_s_hz2 * plan_.dm_pc_cm3 / (hz * hz) / plan_.period_s);
  sum_.resize({plan_.n_subint, plan_.n_band, plan_.n_bin});
  count_.resize(sum_.shape());
  square_.assign(plan_.n_band, 0);
}

void Folder::add(View<const float, 2> samples) {
  if (samples.extent(1) != plan_.channel_hz.size())
    throw std::logic_error("Folder: samples of another number of channels");
  if (scaled_)
    fold(samples, n_time_);
  else
    hold(samples);
  n_time_ += static_cast<std::int64_t>(samples.extent(0));
}

void Folder::hold(View<const float, 2> samples) {
  const std::size_t n_chan = plan_.channel_hz.size();
  for (std::size_t t = 0; t < samples.extent(0); ++t) {
    const float* row = samples[t].data();
    const bool valid = std::any_of(row, row + n_chan, [](float x) { return std::isfinite(x); });
    if (stored_valid_ == 0 && !valid) continue;
    if (stored_valid_ == 0) stored_first_ = n_time_ + static_cast<std::int64_t>(t);
    stored_valid_ += valid;
    stored_.insert(stored_.end(), row, row + n_chan);
  }
  if (stored_valid_ >= scale_rows(n_chan) || stored_.size() * sizeof(float) >= 2 * kMaxStoredBytes)
    learn_scales();
}

void Folder::learn_scales() {
  const std::size_t n_chan = plan_.channel_hz.size(), n_row = stored_.size() / n_chan;
  mean_.assign(n_chan, 0);
  scale_.assign(n_chan, 0);
  std::vector<double> n(n_chan, 0), square(n_chan, 0);
  const auto each = [&](auto&& what) {
    for (std::size_t t = 0; t < n_row; ++t)
      for (std::size_t chan = 0; chan < n_chan; ++chan)
        if (const float x = stored_[t * n_chan + chan]; std::isfinite(x)) what(chan, static_cast<double>(x));
  };
  each([&](std::size_t chan, double x) { mean_[chan] += x, n[chan] += 1; });
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    if (n[chan] > 0) mean_[chan] /= n[chan];
  each([&](std::size_t chan, double x) { square[chan] += (x - mean_[chan]) * (x - mean_[chan]); });
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    if (n[chan] > 1 && square[chan] > 0) scale_[chan] = std::sqrt(n[chan] / square[chan]);
  scaled_ = true;
  fold(View<const float, 2>(stored_.data(), {n_row, n_chan}), stored_first_);
  stored_ = {};
}

void Folder::double_subints() {
  const std::size_t n = plan_.n_subint, size = plan_.n_band * plan_.n_bin;
  for (Buffer<double, 3>* all : {&sum_, &count_})
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < size; ++k) {
        double* values = all->data();
        values[i * size + k] = 2 * i < n ? values[2 * i * size + k] + values[(2 * i + 1) * size + k] : 0;
      }
  plan_.subint_s *= 2;
}

void Folder::fold(View<const float, 2> samples, std::int64_t first) {
  if (samples.extent(0) == 0) return;
  const std::int64_t last = first + static_cast<std::int64_t>(samples.extent(0)) - 1;
  while (time_s(last) >= plan_.subint_s * static_cast<double>(plan_.n_subint)) double_subints();
  at_s_.resize(samples.extent(0));
  turns_.resize(at_s_.size());
  stretch_.assign(at_s_.size(), 1);
  for (std::size_t t = 0; t < at_s_.size(); ++t) {
    at_s_[t] = time_s(first + static_cast<std::int64_t>(t));
    turns_[t] = at_s_[t] / plan_.period_s;
  }
  if (plan_.phases) plan_.phases(at_s_, turns_, stretch_);
  parallel_for(plan_.n_threads, plan_.n_band, [&](std::size_t band, unsigned) {
    fold_band(samples, first_channel(band), first_channel(band + 1), band);
  });
}

void Folder::fold_band(View<const float, 2> samples, std::size_t begin, std::size_t end, std::size_t band) {
  const auto n_bin = static_cast<double>(plan_.n_bin);
  const double half_dot = plan_.period_dot / 2;
  double square = 0;
  for (std::size_t t = 0; t < samples.extent(0); ++t) {
    const double turns = turns_[t], stretch = stretch_[t];
    const std::size_t subint =
        std::min(plan_.n_subint - 1, static_cast<std::size_t>(at_s_[t] / plan_.subint_s));
    double* sums = &sum_(subint, band, 0);
    double* counts = &count_(subint, band, 0);
    const float* row = samples[t].data();
    for (std::size_t chan = begin; chan < end; ++chan) {
      const double y = (static_cast<double>(row[chan]) - mean_[chan]) * scale_[chan];
      if (!std::isfinite(y) || scale_[chan] == 0) continue;
      const double x = turns - stretch * delay_turns_[chan];
      const double phase = x - half_dot * x * x;
      const auto bin = static_cast<std::size_t>((phase - std::floor(phase)) * n_bin);
      const std::size_t at = bin < plan_.n_bin ? bin : 0;  // 1 - 1e-17 rounds to 1
      sums[at] += y;
      counts[at] += 1;
      square += y * y;
    }
  }
  square_[band] += square;
}

FoldedPulses Folder::finish() {
  if (!scaled_) learn_scales();
  FoldedPulses folded;
  folded.length_s = static_cast<double>(n_time_) * plan_.sample_s;
  folded.period_s = plan_.period_s;
  folded.period_dot = plan_.period_dot;
  folded.dm_pc_cm3 = plan_.dm_pc_cm3;
  folded.subint_s = plan_.subint_s;
  const auto n_subint = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::ceil(folded.length_s / plan_.subint_s - 1e-9)), 1, plan_.n_subint);
  folded.sum.resize({n_subint, plan_.n_band, plan_.n_bin});
  folded.count.resize(folded.sum.shape());
  std::copy_n(sum_.data(), folded.sum.size(), folded.sum.data());
  std::copy_n(count_.data(), folded.count.size(), folded.count.data());
  for (std::size_t band = 0; band < plan_.n_band; ++band) {
    double hz = 0;
    for (std::size_t chan = first_channel(band); chan < first_channel(band + 1); ++chan)
      hz += plan_.channel_hz[chan];
    folded.band_hz.push_back(hz / static_cast<double>(first_channel(band + 1) - first_channel(band)));
  }
  double inverse = 0, n_scale = 0, n = 0, square = 0, explained = 0;
  for (double scale : scale_) inverse += scale, n_scale += scale > 0;
  if (inverse > 0) folded.unit = n_scale / inverse;
  for (double value : square_) square += value;
  for (std::size_t bin = 0; bin < plan_.n_bin; ++bin) {
    double sum = 0, count = 0;
    for (std::size_t subint = 0; subint < n_subint; ++subint)
      for (std::size_t band = 0; band < plan_.n_band; ++band)
        sum += folded.sum(subint, band, bin), count += folded.count(subint, band, bin);
    folded.profile.push_back(count > 0 ? sum / count : 0);
    n += count;
    if (count > 0) explained += sum * sum / count;
  }
  folded.explained = explained;
  if (n > 0 && square > explained) folded.variance = (square - explained) / n;
  return folded;
}

}  // namespace apsyn
