// SPDX-License-Identifier: GPL-3.0-or-later
// From the sums of a gridder to images of the sky.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/formats/fits/image.h"
#include "libcore/image/image.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/field.h"

namespace apsyn::imaging {

/// Adds a group's sums to those of the whole band.
void add_to(GroupImages& sum, const GroupImages& group);

/// Width and height of an output.
struct Extent {
  std::size_t n_x = 0, n_y = 0;
};

/// `times`: those of the image, where they are not the source's.
ImageInfo info_of(const Imager& imager, const Field& field, const ChannelGroup& group,
                  const std::vector<std::string>& stokes, const std::optional<ImageTimes>& times = {});

/// A gridder's planes from `first` on, divided by their weights and cut to `extent` around the centre pixel.
struct ImageCut {
  ImageInfo info;
  const GroupImages& images;
  std::size_t first = 0;
  Extent extent;

  Buffer<double, 4>::Shape shape() const { return {info.stokes.size(), 1, extent.n_y, extent.n_x}; }
  /// The pixels; valid as long as this object exists.
  FitsPixelSource source() const;
};

/// Planes [first, first + stokes.size()). FailureError when one of them has no weight.
ImageCut cut_image(const Imager& imager, const Field& field, const GroupImages& images, std::size_t first,
                   const std::vector<std::string>& stokes, const ChannelGroup& group, const Extent& extent);
Image whole_image(const ImageCut& cut, unsigned n_threads);

/// Where the average beam is below this fraction of its peak, the image is NaN, because only noise remains
/// there.
constexpr double kMinBeam = 1e-3;

/// Divides the dirty image by the average beam, and returns the beam.
Image take_beam_out(const Imager& imager, const Field& field, const GroupImages& images,
                    const ChannelGroup& group, unsigned n_threads, Image& dirty);

std::string part_name(std::size_t group, std::size_t n_groups);
/// "-t0007", which follows the name of the output at once; nothing where there is one interval only.
std::string interval_name(std::size_t interval, std::size_t n_intervals);

/// The highest pixel of a beam; 0 when none is a number.
double beam_peak(View<const double, 2> beam);

/// An image [plane][y][x] divided by the beam [y][x]; NaN where the beam is too weak.
Buffer<double, 3> over_beam(View<const double, 3> image, View<const double, 2> beam);

/// The same for a model: 0 where the beam is too weak, because no components lie there.
Buffer<double, 3> model_over_beam(View<const double, 3> model, View<const double, 2> beam);

}  // namespace apsyn::imaging
