// SPDX-License-Identifier: GPL-3.0-or-later
// Images on their way out: a FITS cube, a FITS file for each image, or a stream.
#pragma once

#include <memory>
#include <string>

#include "libcore/formats/fits/cube.h"
#include "tools/epic-image/plan.h"

namespace apsyn {

struct TimedImages {
  EpicImages images;
  UtcTime begin, middle;
  double length_s = 0;
  SkyDirection centre;

  bool any_data() const {
    return std::any_of(images.weight.begin(), images.weight.end(), [](double weight) { return weight > 0; });
  }
};

class ImageSink {
 public:
  virtual ~ImageSink() = default;
  virtual void write(const TimedImages& images) = 0;
  virtual void commit() = 0;
};

/// Light curves of setup.directions, or of setup.regions of the images.
std::unique_ptr<ImageSink> make_curve_sink(const Tool& tool, const EpicSetup& setup, const std::string& path);
std::unique_ptr<ImageSink> make_region_sink(const Tool& tool, const EpicSetup& setup,
                                            const std::string& path);

/// Whether an output of images of this name has one centre for all of them.
bool has_one_centre(const std::string& output);

/// UsageError for names that cannot be written, as check_output.
std::unique_ptr<ImageSink> make_image_sink(const Tool& tool, const EpicSetup& setup,
                                           const std::string& output);

}  // namespace apsyn
