// SPDX-License-Identifier: GPL-3.0-or-later
// Deconvolution of a set of images of one field: channel groups and polarisations, joined or one by one, by
// Hogbom's, Clark's or multi-scale CLEAN, one minor cycle after the other. Between two cycles the caller may
// make new residual images from the visibilities (Cotton & Schwab: Schwab 1984, AJ 89, 1076) or go on with
// those of the last cycle.
//
// Planes that are searched and cleaned together form a set. Joined channel groups make one set of all groups:
// the search image is their weighted mean, and a component has a flux in each, measured there and smoothed
// along frequency by a fit (Offringa & Smirnov 2017, MNRAS 471, 301). Joined polarisations are searched in
// the root of their summed squares, group by group before that mean.
//
// Images are float32: a residual sums rounding errors of about 1e-7 of what is subtracted at its pixel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/clean/clean.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/system/device.h"

namespace apsyn {

enum class CleanAlgorithm {
  hogbom,     ///< the highest pixel of the whole image, every time
  clark,      ///< the highest of the pixels that were high at the last full subtraction (Clark 1980)
  multiscale  ///< tapered quadratics of several widths, by Clark's loop one scale at a time
};

enum class SpectralFit {
  none,        ///< each group keeps what is measured there
  polynomial,  ///< sum over k of c_k (nu / nu_0 - 1)^k
  logarithmic  ///< nu_0 has c_0; log10 of the ratio to it is sum over k > 0 of c_k log10(nu / nu_0)^k
};

/// The tool's defaults, but for max_iterations and cycle_gain, which it sets to 1000000 and 0.8.
struct DeconvolutionSettings {
  CleanAlgorithm algorithm = CleanAlgorithm::clark;
  double gain = 0.1;      ///< (0, 1] of the peak that a component takes
  double cycle_gain = 1;  ///< mgain, (0, 1]: a cycle ends when the peak has fallen by this share; 1 = never
  std::size_t max_iterations = 0;   ///< components per set, all cycles together
  double threshold_jy = 0;          ///< cleaning ends when the peak is not above it
  double auto_threshold_sigma = 0;  ///< the same in units of the noise; 0 = not used
  /// Down to this many times the noise components are allowed anywhere; below, only where components have
  /// been found. 0 = not used; otherwise above auto_threshold_sigma.
  double auto_mask_sigma = 0;
  /// The noise is measured around each pixel, in a box of this many beams (full width), and peaks are
  /// weighted by the lowest noise over that of their place. 0 = one noise for the whole image.
  double local_rms_beams = 0;
  NegativeComponents negative = NegativeComponents::allow;
  double border_percent = 0;  ///< [0, 50): of the width and height, at every edge: no components there

  std::vector<double> scales_pixels;  ///< widths, 0 = point; empty = 0 and 4, 8, 16 ... beams
  std::size_t max_scales = 0;         ///< of those chosen automatically; 0 = all that fit
  double scale_bias = 0.6;            ///< (0, 1]: lower prefers larger scales
  double sub_minor_gain = 0.2;  ///< (0, 1): cleaning moves on to another scale when the peak of the current
                                ///< one has fallen by this share

  bool join_channels = false, join_polarizations = false;
  SpectralFit spectral_fit = SpectralFit::none;
  std::size_t n_spectral_terms = 0;
  /// While components are searched, neighbouring groups are averaged to this many; 0 = no averaging.
  std::size_t n_deconvolution_channels = 0;

  /// Side of the sub-images that Clark's loop and the multi-scale one clean at the same time on the CPU,
  /// where that is possible (sub_images.h); 0 = the image is not divided.
  std::size_t sub_image_pixels = 0;

  unsigned n_threads = 1;
  Device device;  ///< of the minor cycles' loops and convolutions
  std::function<void(std::size_t n_components, double peak_jy)> progress;  ///< now and then; may be empty
};

/// One channel group of the images.
struct DeconvolutionGroup {
  double freq_hz = 0;
  double weight = 1;  ///< >= 0, of the group in the mean; any unit (the sum of the visibilities' weights)
};

/// What happened to one set in one cycle.
struct SetReport {
  std::size_t first_group = 0, n_groups = 1, first_pol = 0, n_pols = 1;  ///< the planes of the set
  std::size_t n_components = 0;                                          ///< of this cycle
  std::size_t n_total = 0;                                               ///< of all cycles
  double start_peak_jy = 0;  ///< signed (of joined polarisations: positive), at the cycle's beginning
  double peak_jy = 0;        ///< at its end, before the caller makes a new residual
  /// At its end: robust_sigma of the first polarisation's mean over groups; or the lowest local noise, at its
  /// beginning.
  double noise_jy = 0;
  double threshold_jy = 0;   ///< that was in force
  double model_flux_jy = 0;  ///< of the model, weighted mean over groups, first polarisation
  bool masked = false;       ///< whether the automatic mask was in force
  CleanStop stop = CleanStop::iterations;
};

struct CycleReport {
  std::vector<SetReport> sets;
  /// Whether a set stopped for CleanStop::cycle or CleanStop::auto_mask: call minor_cycle again, with new
  /// residuals or with those it left. Sets that are done are not touched any more.
  bool unfinished = false;
  bool diverged = false;
  std::size_t n_components = 0;
};

/// "threshold of 0.0015 Jy reached" and so on, for messages; `unit` of the images.
std::string describe_stop(const SetReport& report, FluxUnit unit);
/// "a peak of 1.89 Jy is left, 7.2 times the threshold of 0.262 Jy (noise 0.087 Jy)" if cleaning ended above
/// its threshold. If it stopped for another reason, any excess counts; if it did reach the threshold, the
/// recomputed residual has to exceed it by half or more. Otherwise, and without a threshold, empty.
std::string describe_excess(const SetReport& report, FluxUnit unit);

/// A pixel's components of one scale, summed over all cycles.
struct ModelComponent {
  std::size_t x = 0, y = 0;
  double scale_pixels = 0;      ///< width of the tapered quadratic; 0 = point
  std::vector<double> flux_jy;  ///< [group][pol]; 0 in the planes of other sets
};

struct PlaneShape {
  std::size_t n_pol = 1, ny = 0, nx = 0;
};

struct DeconvolverMemory {
  std::uint64_t cycle_bytes = 0;  ///< needed within a cycle
  std::uint64_t kept_bytes = 0;   ///< the part of it that is kept from cycle to cycle
};

class Deconvolver {
 public:
  /// `psf` [group][pol, or 1 for all][y][x], finite, peak 1 at (ny/2, nx/2), any size, zero beyond its array;
  /// it must outlive this object. `n_pol`, `ny`, `nx` of the images. `beam_pixels`: width at half maximum of
  /// the main lobe (geometric mean), for scales and local noise; may be 0 when neither is used.
  /// Throws std::invalid_argument on shapes or settings out of range.
  Deconvolver(const DeconvolutionSettings& settings, View<const float, 4> psf,
              const std::vector<DeconvolutionGroup>& groups, const PlaneShape& shape, double beam_pixels = 0);
  Deconvolver(Deconvolver&&) noexcept;
  ~Deconvolver();

  /// Components lie only where `allowed` [y][x] is not 0. Before the first cycle.
  void set_mask(View<const std::uint8_t, 2> allowed);

  /// One minor cycle. `residual` [group][pol][y][x]: what is cleaned, NaN where there is no sky; left with
  /// the components subtracted. `model`, same shape: components are added (NaN is left alone). A group of
  /// weight 0 is left alone. Same result for any number of threads; with CUDA, the same but for rounding.
  CycleReport minor_cycle(View<float, 4> residual, View<float, 4> model);

  /// Sets that are done, or in their automatic mask, begin anew with the next cycle: for residuals of data
  /// that have been calibrated meanwhile. Components and masks stay.
  void begin_again();

  /// The last cycle's report of every set, with peak_jy (positive, where components are allowed) and noise_jy
  /// measured in `residual`, and the threshold of the last stage.
  std::vector<SetReport> remains(View<float, 4> residual);

  /// All components found so far, sorted by scale, then row, then column.
  std::vector<ModelComponent> components() const;

  /// Memory that a deconvolver needs at most, beside PSF, residual and model. `beam_pixels`: its width, or
  /// what it is at least; 0 = unknown.
  static DeconvolverMemory memory(const DeconvolutionSettings& settings, std::size_t n_groups,
                                  const PlaneShape& shape, std::size_t psf_ny, std::size_t psf_nx,
                                  double beam_pixels = 0);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace apsyn
