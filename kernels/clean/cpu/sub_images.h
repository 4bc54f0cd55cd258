// SPDX-License-Identifier: GPL-3.0-or-later
// Divides the high pixels of an image into parts that are cleaned at the same time: sub-images whose borders
// avoid high pixels, as those of WSClean's parallel deconvolution follow paths of low values.
//
// A part does not see the others' components until all are subtracted from the whole image together. So that
// nothing is cleaned twice, and no sidelobe is cleaned that another part is about to remove,
//  - pixels are in one part when a sidelobe of one can reach the other with a good share of the cutoff: an
//    island of emission with its sidelobes is never cut, however far it extends across a border;
//  - the cutoff is above the sum of the distant sidelobes of all high pixels.
// Errors that remain in either case are removed in the next round, since the residual after each full
// subtraction is exact.
#pragma once

#include <optional>
#include <vector>

#include "kernels/clean/cpu/active_pixels.h"

namespace apsyn {

/// How far the sidelobes of a PSF reach, and how high they are; for several PSFs, the worst case. Distances
/// are the greater one of those along x and y, in pixels; heights are in units of the centre.
class SidelobeReach {
 public:
  SidelobeReach(const std::vector<View<const float, 2>>& psfs, unsigned n_threads);
  /// Beyond this distance no sidelobe is above `height`.
  std::size_t distance(double height) const;
  double rms_beyond(std::size_t distance) const;
  /// Sum of the squared PSF over the main lobe: the number of pixels to which a source counts as equivalent.
  double lobe_pixels() const { return lobe_pixels_; }

 private:
  void add(View<const float, 2> psf, unsigned n_threads);
  std::vector<double> highest_from_, rms_from_;  ///< [distance] at that distance or further
  double lobe_pixels_ = 0;
};

class SubImages {
 public:
  /// Sub-images of `size` x `size` pixels for a set with these PSFs; 0: the image is not divided.
  SubImages(std::size_t size, const std::vector<View<const float, 2>>& psfs, unsigned n_threads);
  /// The level, not below `level_jy`, down to which parts can be cleaned independently; empty when they
  /// cannot.
  std::optional<float> lowest_cutoff(const PlaneSet& set, const Heights& heights, double level_jy) const;
  /// Parts of the pixels above `share` of the highest one; each belongs to the sub-image of its first pixel.
  std::vector<std::vector<PixelPlace>> divide(const PlaneSet& set, const std::vector<PixelPlace>& places,
                                              double share) const;

 private:
  std::size_t distance(double share) const;

  std::size_t size_;
  std::optional<SidelobeReach> reach_;
};

struct FoundComponent {
  SetComponent component;
  double height_jy = 0;  ///< of the peak before it
};

struct PartsEnd {
  LoopStop stop = LoopStop::level;
  std::vector<FoundComponent> found;  ///< part by part, in the order of finding
};

/// The loop among the pixels of `set` above limits.level_jy, at `level_share` of the highest; in parts when
/// `sub_images` is given. The residual is left as it is.
PartsEnd clean_high_pixels(const PlaneSet& set, const LoopLimits& limits,
                           const std::function<SetComponent(const SetPeak&)>& component_of,
                           const SubImages* sub_images, double level_share, unsigned n_threads);

}  // namespace apsyn
