// SPDX-License-Identifier: GPL-3.0-or-later
// CLEAN of whole images: each Stokes and frequency plane on its own, with the PSF of its frequency.
#pragma once

#include <string>
#include <vector>

#include "kernels/clean/beam.h"
#include "kernels/clean/clean.h"
#include "libcore/core/image.h"

namespace apsyn {

struct PlaneReport {
  std::string label;  ///< "I", or "XX, channel 3" in cubes
  std::size_t n_components = 0;
  CleanStop stop = CleanStop::iterations;
  double peak_jy = 0, threshold_jy = 0;
  double noise_jy = 0;       ///< robust_sigma of the residual
  double model_flux_jy = 0;  ///< sum of the plane's model, earlier components included
};

/// "threshold of 1.5 mJy reached", for messages.
std::string describe_stop(const PlaneReport& report);

/// A PSF made fit for clean_hogbom: pixels that are not finite become 0 (beyond the horizon nothing is
/// known), and every plane is divided by its centre. Throws DataError when the centre is not the highest
/// pixel.
void prepare_psf(Image& psf, const std::string& name);

/// DataError with both names when `other` has other x and y axes than `image`, or a number of planes on
/// the Stokes or frequency axis that is neither the same nor 1.
void check_same_sky(const Image& image, const std::string& image_name, const Image& other,
                    const std::string& other_name);
/// The PSF may have any size, but needs the image's cells and as many planes or 1. DataError.
void check_psf_fits(const Image& image, const std::string& image_name, const Image& psf,
                    const std::string& psf_name);

/// FailureError "no usable data" when no pixel is finite.
void check_has_data(const Image& image, const std::string& image_name);

/// A model of zeros with the coordinates of `image`, in JY/PIXEL.
Image empty_model(const Image& image);

/// Cleans every plane of `residual` into `model` (same shape; components are added). `mask` may be null:
/// components may lie where it is finite and not 0.
std::vector<PlaneReport> clean_planes(Image& residual, Image& model, const Image& psf, const Image* mask,
                                      const CleanOptions& options);

/// The fitted beam of the largest area over all planes of the PSF: one file has one beam.
RestoringBeam fit_largest_beam(const Image& psf);

/// `residual` + model (*) beam in place, labelled JY/BEAM with that beam.
void restore_planes(Image& residual, const Image& model, const RestoringBeam& beam, unsigned n_threads);

}  // namespace apsyn
