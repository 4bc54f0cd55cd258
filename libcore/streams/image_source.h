// SPDX-License-Identifier: GPL-3.0-or-later
// Images of intensity in time from whatever holds them: a stream of epic-image, FITS cubes with an axis TIME,
// or FITS files of one image each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/image/image.h"

namespace apsyn {

struct ImageSeriesInfo {
  std::string name;  ///< of the input, for messages
  ImageInfo image;   ///< of the first one: its centre, its channels; `time` is when it begins
  std::size_t nx = 0, ny = 0, n_chan = 1;
  double step_s = 0;                      ///< from image to image
  std::optional<std::uint64_t> n_images;  ///< missing ones included; where it is known before the end
  std::string products;                   ///< that make the intensity: "I", "XX+YY"
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  const ImageSeriesInfo& info() const { return info_; }
  /// The next image, [chan][y][x], empty where one is missing, and where its centre is; false at the end.
  virtual bool read(std::vector<float>& planes, SkyDirection& centre) = 0;

 protected:
  ImageSeriesInfo info_;
};

/// The planes whose mean is the intensity, by their numbers. `how` "auto": I, or XX and YY, or RR and LL, or
/// the first of XX, YY, RR and LL; "first" the first plane, "sum" the first two. UsageError for sum of one
/// plane, DataError, beginning with `name`, where auto finds none of these, or for planes that are complex.
std::vector<std::size_t> intensity_planes(std::string_view how, const std::vector<std::string>& stokes,
                                          const std::string& name);

/// A stream's path ("-": standard input), or FITS files in the order of their times; several of one time are
/// the channels of an image. Times without a file between those of others are missing images. UsageError for
/// a stream beside other inputs; DataError for files of different shapes, channels or pixels, without a date,
/// or not evenly in time; throws as their readers.
std::unique_ptr<ImageSource> open_images(const std::vector<std::string>& paths, const std::string& how,
                                         unsigned n_threads = 1);

}  // namespace apsyn
