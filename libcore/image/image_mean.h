// SPDX-License-Identifier: GPL-3.0-or-later
// The mean of a cube over its channels and times.
#pragma once

#include <cstddef>
#include <vector>

#include "libcore/image/image.h"

namespace apsyn {

/// Of how many channels and times a plane is the mean, and how many there were.
struct PlanesAveraged {
  std::size_t channels = 1, of_channels = 1, times = 1, of_times = 1;
};

/// Images of one shape, one for each time. A channel takes part at the times at which any of its Stokes
/// planes has a finite pixel other than 0, so that channels without data do not dim the others.
class ImageMean {
 public:
  /// Otherwise each channel stays by itself.
  explicit ImageMean(bool over_channels) : over_channels_(over_channels) {}
  /// Takes the pixels of an image. std::invalid_argument when its shape is not that of the first.
  void add(Image& image);
  /// What was given, averaged: a single plane of each Stokes parameter with the mean frequency of the
  /// channels that took part, or each channel's mean over the times. NaN where nothing is finite, 0 when
  /// nothing but zeros was given. std::logic_error without an image.
  Image take();
  const PlanesAveraged& averaged() const { return averaged_; }

 private:
  void sum_up(const Image& image);
  bool over_channels_;
  Image first_;  ///< as it came, until there is something to average
  bool any_finite_ = false;
  Buffer<double, 4> sum_, count_;
  std::vector<char> channel_used_;
  PlanesAveraged averaged_{0, 0, 0, 0};
};

}  // namespace apsyn
