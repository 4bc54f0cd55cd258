// SPDX-License-Identifier: GPL-3.0-or-later
// Conversion of images for the deconvolver, and of its results into images.
#pragma once

#include <string>
#include <vector>

#include "kernels/clean/beam.h"
#include "kernels/clean/deconvolve.h"
#include "libcore/image/image.h"

namespace apsyn {

/// Whether any polarisation of a frequency plane has a finite pixel. Planes without one are ignored.
bool has_data(const Image& image, std::size_t freq);

/// Prepares a PSF for a Deconvolver: pixels that are not finite (such as those beyond the horizon) become 0,
/// and every plane is divided by its centre; planes for which `image` has no data become 0. Throws DataError
/// when the centre is not the highest pixel.
void prepare_psf(Image& psf, const std::string& name, const Image& image);

/// DataError with both names when `other` has other x and y axes than `image`, or a number of planes on
/// the Stokes or frequency axis that is neither the same nor 1.
void check_same_sky(const Image& image, const std::string& image_name, const Image& other,
                    const std::string& other_name);
/// The PSF may have any size, but needs the image's cells and as many planes or 1. DataError.
void check_psf_fits(const Image& image, const std::string& image_name, const Image& psf,
                    const std::string& psf_name);

/// A model of zeros with the coordinates of `image`, in JY/PIXEL or adu/pixel as the image is in JY/BEAM or
/// adu/beam.
Image empty_model(const Image& image);

/// All planes of several images of one sky, [group][stokes][y][x]: the frequency planes of the first image,
/// then those of the next. An axis of length 1 of an image serves `n_freq` frequencies (the PSF of a cube).
Buffer<float, 4> stack_planes(const std::vector<Image>& images, std::size_t n_freq);
/// The inverse of stack_planes(): copies the stack's planes into the images.
void unstack_planes(View<const float, 4> stack, std::vector<Image>& images);
/// Frequency of every group of the stack, and its weight: the images' WSCIMGWG, 1 where one has none; 0
/// without data.
std::vector<DeconvolutionGroup> groups_of(const std::vector<Image>& images);
/// The weighted mean over the groups that have data, as one frequency plane over their whole band; NaN where
/// any of them is.
Image mean_image(const std::vector<Image>& images, const std::vector<DeconvolutionGroup>& groups);

/// [y][x]: where a mask is finite and not 0 in any of its planes.
Buffer<std::uint8_t, 2> allowed_by(const Image& mask);

/// The fitted beam with the largest area over all planes of the PSF that are not all 0, since a file has only
/// one beam.
RestoringBeam fit_largest_beam(const Image& psf);
/// A circle as wide as the major axis.
RestoringBeam circular(const RestoringBeam& beam);

/// `residual` + model (*) beam in place, with that beam, in the unit of the residual per beam.
void restore_planes(Image& residual, const Image& model, const RestoringBeam& beam, unsigned n_threads);

}  // namespace apsyn
