// SPDX-License-Identifier: GPL-3.0-or-later
// The files of one imaging run share a name: NAME-dirty.fits, NAME-psf.fits, NAME-model.fits,
// NAME-residual.fits, NAME-image.fits.
#pragma once

#include <string>
#include <vector>

namespace apsyn {

struct ImageSet {
  std::string dirty, psf;              ///< inputs
  std::string model, residual, image;  ///< outputs
};

/// From the arguments (DIRTY PSF, or one NAME, which NAME-dirty.fits also stands for) and the name of the
/// outputs, empty = that of the inputs. UsageError when they are no such names or a
/// Measurement Set, FailureError when NAME-dirty.fits or NAME-psf.fits is missing.
ImageSet find_image_set(const std::vector<std::string>& arguments, const std::string& output);

/// The files of several channel groups: NAME-0000-dirty.fits, NAME-0001-dirty.fits ... in their order, those
/// of groups without data missing, and the names for the mean over them, NAME-MFS.
struct ChannelSets {
  std::vector<ImageSet> parts;  ///< one when there are no groups
  ImageSet mean;                ///< empty names when there are no groups
};
/// find_image_set(), or the groups' when the argument is one NAME and there is no NAME-dirty.fits but one or
/// more of those.
ChannelSets find_channel_sets(const std::vector<std::string>& arguments, const std::string& output);

}  // namespace apsyn
