// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/image/image_mean.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace apsyn {

void ImageMean::add(Image& image) {
  const std::size_t n_chan = image.pixels.extent(1);
  if (averaged_.of_times++ == 0) {
    averaged_.of_channels = n_chan;
    channel_used_.assign(n_chan, 0);
    first_.info = image.info;
    first_.pixels = std::move(image.pixels);
    if (!over_channels_ || n_chan == 1) return;  // perhaps there is nothing to average
    sum_up(first_);
    first_.pixels = {};
    return;
  }
  if (sum_.size() == 0) {
    sum_up(first_);
    first_.pixels = {};
  }
  sum_up(image);
}

void ImageMean::sum_up(const Image& image) {
  auto shape = image.pixels.shape();
  const std::size_t n_stokes = shape[0], n_chan = shape[1], n_pixel = shape[2] * shape[3];
  if (over_channels_) shape[1] = 1;
  if (sum_.size() == 0) sum_.resize(shape), count_.resize(shape);
  if (n_chan != averaged_.of_channels || sum_.shape() != shape)
    throw std::invalid_argument("image mean: shapes differ");
  bool time_used = false;
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    bool used = false;
    for (std::size_t stokes = 0; stokes < n_stokes && !used; ++stokes) {
      const double* from = &image.pixels(stokes, chan, 0, 0);
      for (std::size_t i = 0; i < n_pixel && !used; ++i) {
        any_finite_ = any_finite_ || std::isfinite(from[i]);
        used = std::isfinite(from[i]) && from[i] != 0;
      }
    }
    if (!used) continue;
    channel_used_[chan] = 1;
    time_used = true;
    for (std::size_t stokes = 0; stokes < n_stokes; ++stokes) {
      const double* from = &image.pixels(stokes, chan, 0, 0);
      const std::size_t to_chan = over_channels_ ? 0 : chan;
      double *sum = &sum_(stokes, to_chan, 0, 0), *count = &count_(stokes, to_chan, 0, 0);
      for (std::size_t i = 0; i < n_pixel; ++i)
        if (std::isfinite(from[i])) sum[i] += from[i], count[i] += 1;
    }
  }
  averaged_.times += time_used ? 1 : 0;
}

Image ImageMean::take() {
  if (averaged_.of_times == 0) throw std::logic_error("image mean: no image");
  if (sum_.size() == 0) {
    averaged_ = {first_.pixels.extent(1), first_.pixels.extent(1), 1, 1};
    if (!over_channels_) averaged_.channels = averaged_.of_channels = 1;
    return std::move(first_);
  }
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    double& value = sum_.data()[i];
    const double n = count_.data()[i];
    value = n > 0 ? value / n : any_finite_ && averaged_.times == 0 ? 0 : NAN;
  }
  ImageInfo info = first_.info;
  if (over_channels_) {
    double index_sum = 0;
    averaged_.channels = 0;
    for (std::size_t chan = 0; chan < channel_used_.size(); ++chan)
      if (channel_used_[chan] != 0) averaged_.channels += 1, index_sum += static_cast<double>(chan);
    const auto n = static_cast<double>(channel_used_.size());
    const double middle =
        averaged_.channels > 0 ? index_sum / static_cast<double>(averaged_.channels) : (n - 1) / 2;
    if (info.freq_hz > 0) info.freq_hz += middle * info.bandwidth_hz;
    info.bandwidth_hz *= n;
  } else {
    averaged_.channels = averaged_.of_channels = 1;
  }
  Image image;
  image.info = std::move(info);
  image.pixels = std::move(sum_);
  return image;
}

}  // namespace apsyn
