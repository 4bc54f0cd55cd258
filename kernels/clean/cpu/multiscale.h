// SPDX-License-Identifier: GPL-3.0-or-later
// Multi-scale CLEAN (Cornwell 2008, IEEE JSTSP 2, 793) in the form of Offringa & Smirnov (2017, MNRAS 471,
// 301): the scale whose smoothed residual has the highest biased peak is cleaned by Clark's loop until that
// peak has fallen by a share, then everything is subtracted and the next scale chosen.
#pragma once

#include "kernels/clean/clark_loop.h"
#include "kernels/clean/cpu/clark.h"
#include "kernels/clean/deconvolve.h"

namespace apsyn {

/// The tapered quadratic of the given width: (1 - (r / width)^2) times a Hann window of that width, [y][x]
/// with its centre in the middle of an odd number of pixels, normalised to a sum of 1. Width 0: a single 1.
Buffer<float, 2> scale_kernel(double width_pixels);

/// image += flux kernel, the kernel's centre at (x, y), as far as it lies in the image.
void add_kernel(View<float, 2> image, View<const float, 2> kernel, std::size_t x, std::size_t y, float flux);

/// 0, 4 beams, 8 beams, ... while below half of the image's shorter side, `max_scales` at most (0 = no
/// limit).
std::vector<double> automatic_scales(double beam_pixels, std::size_t shorter_side, std::size_t max_scales);

/// 1 for a point, else bias^(-1 - log2(width / (4 beams))) (their equation 4).
double scale_bias(double width_pixels, double bias, double beam_pixels);

struct CleanScale {
  double width_pixels = 0, bias = 1;
  Buffer<float, 2> kernel;
};
/// [scale][y][x], where components may lie.
using ScaleMasks = std::vector<Buffer<std::uint8_t, 2>>;

/// Scales with the widths in the settings or, if these are empty, with automatic ones.
std::vector<CleanScale> make_scales(const DeconvolutionSettings& settings, double beam_pixels,
                                    std::size_t shorter_side);

/// Largest distance, in pixels, over which the scales smooth.
std::size_t scale_reach(const std::vector<CleanScale>& scales);

/// Where a component's whole width, as far as it is in the image, lies within the non-zero pixels of `used`
/// [y][x]; that is, every position at which a component of the earlier model could have been.
ScaleMasks masks_within(const std::vector<CleanScale>& scales, View<const std::uint8_t, 2> used,
                        unsigned n_threads);

/// Whether the PSFs smoothed for every scale are kept: there is one PSF, and the image is no larger than 2048
/// x 2048 pixels, where each array takes 67 MB at most.
constexpr bool keeps_all_scales(std::size_t n_psf, std::size_t ny, std::size_t nx) {
  return n_psf == 1 && ny * nx <= std::size_t{2048} * 2048;
}

class Multiscale {
 public:
  /// `psf` and `weight` as in PlaneSet. The scales and the subtraction must outlive this.
  Multiscale(const std::vector<CleanScale>& scales, const DeconvolutionSettings& settings,
             const PlaneSet& set, PsfSubtraction& subtraction);

  /// The highest biased peak, which run() begins with. `masks` may be empty.
  double start_height(const PlaneSet& set, const ScaleMasks& masks);
  /// Cleans set.residual in place; `set` must be the one given to start_height(). Limits are in units of
  /// biased peaks.
  LoopStop run(const PlaneSet& set, const CleanTask& task);

 private:
  struct Scale {
    const CleanScale& shape;
    ImageConvolver::EvenSpectrum smoothing,
        component;        ///< by smoother_ and the subtraction; empty for a point
    double psf_peak = 1;  ///< of the mean PSF smoothed twice
  };
  using Choice = ScaleChoice;
  /// Memory that is needed from start_height() to the end of run().
  struct Work {
    std::vector<Buffer<float, 2>> masked;
    std::vector<View<const float, 2>> weight;  ///< [scale] search weights: those of the set within the mask
    ImageConvolver::Spectrum spectrum;
    Buffer<float, 2> search;               ///< the search image of several planes; models
    Buffer<float, 2> smoothed, trial;      ///< the search image at the scale that is chosen
    std::vector<Buffer<float, 2>> planes;  ///< of several: smoothed by the scale planes_of
    std::optional<std::size_t> planes_of;
    std::optional<Choice> first;
  };
  Choice choose(const PlaneSet& set);
  double biased(const Choice& choice) const;
  PlaneSet smoothed_planes(const PlaneSet& set, std::size_t index);
  LoopStop clean_scale(const PlaneSet& set, const CleanTask& task, const Choice& choice, LoopLimits limits,
                       std::size_t& n_found);
  void subtract(const PlaneSet& set, std::size_t index, const std::vector<SetComponent>& components);
  using Psfs = std::vector<View<const float, 2>>;  ///< [plane]
  struct SmoothedPsfs {
    std::vector<Buffer<float, 2>> memory;  ///< of those that are not the same
    Psfs view;
  };
  using Smoothed = std::vector<SmoothedPsfs>;  ///< [scale], made when first asked for
  const Psfs& smoothed_psfs(Smoothed& of, unsigned times, std::size_t index, const PlaneSet& set);

  PsfSubtraction& subtraction_;
  ImageConvolver smoother_;  ///< smooths residuals; its kernels reach less far than PSFs do
  unsigned n_threads_;
  std::vector<Scale> scales_;
  double sub_minor_gain_;
  std::size_t sub_image_pixels_;
  std::vector<std::optional<SubImages>> sub_images_;  ///< [scale], made when first asked for
  std::vector<View<const float, 2>> psf_;
  std::size_t n_psf_ = 1;                    ///< that are not the same
  Smoothed smoothed_once_, smoothed_twice_;  ///< for subtractions and for the sub-minor loop
  std::optional<Work> work_;
};

}  // namespace apsyn
