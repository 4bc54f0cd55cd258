// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/clean/deconvolution_options.h"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "kernels/clean/beam.h"
#include "kernels/clean/clean.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"

namespace apsyn::clean {
namespace {

void declare_stops(Tool& tool, DeconvolutionOptions& options) {
  CLI::App& app = tool.app();
  DeconvolutionSettings& settings = options.settings;
  settings.max_iterations = 1000000;
  settings.cycle_gain = 0.8;
  tool.heading("Deconvolution");
  options.n_iter =
      app.add_option("-n,--niter", settings.max_iterations, "components at most (default 1000000)")
          ->type_name("N");
  app.add_option("--gain", settings.gain, "share of the peak that a component takes (default 0.1)")
      ->type_name("G")
      ->check(CLI::Range(1e-6, 1.0));
  options.cycle_gain = app.add_option("--mgain", settings.cycle_gain,
                                      "a cycle ends when the peak has fallen by this share (default 0.8)")
                           ->type_name("G")
                           ->check(CLI::Range(1e-6, 1.0));
  app.add_option_function<std::string>(
         "-t,--threshold",
         [&options](const std::string& text) {
           try {
             options.settings.threshold_jy = parse_flux_or_adu(text, options.threshold_unit);
           } catch (const UsageError& error) {
             throw UsageError("--threshold: {}", error.what());
           }
         },
         "stop when the peak is not above, for example 5mJy, or 300adu of data in adu")
      ->type_name("FLUX");
  const CLI::Range sigmas(1e-6, 1e6);
  app.add_option("--auto-threshold", settings.auto_threshold_sigma,
                 "stop when the peak is not above S times the residual's noise")
      ->type_name("S")
      ->check(sigmas);
  app.add_option("--auto-mask", settings.auto_mask_sigma,
                 "below S times the noise components lie only where some are already")
      ->type_name("S")
      ->check(sigmas);
  app.add_option("--local-rms", settings.local_rms_beams,
                 "measure the noise around each pixel, in a box of this many beams")
      ->type_name("BEAMS")
      ->check(CLI::Range(1.0, 1e6));
  tool.add_file(
      "--mask", options.mask,
      "put components only where this FITS image is not 0, or in the regions of this CASA or DS9 text");
  options.border = app.add_option("--clean-border", settings.border_percent,
                                  "no components nearer to an edge than P percent of width and height")
                       ->type_name("P")
                       ->check(CLI::Range(0.0, 49.9));
  app.add_flag("--no-negative", options.no_negative, "no negative components");
  app.add_flag("--stop-negative", options.stop_negative, "stop at the first negative component");
}

void declare_algorithms(Tool& tool, DeconvolutionOptions& options) {
  CLI::App& app = tool.app();
  DeconvolutionSettings& settings = options.settings;
  app.add_option("--algorithm", options.algorithm, "hogbom, clark or multiscale (default clark)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"hogbom", "clark", "multiscale"}));
  tool.heading("Multi-scale");
  app.add_option("--scales", options.scales,
                 "multiscale: widths in pixels, for example 0,5,10,20 (default 0 and 4, 8, 16 ... beams)")
      ->type_name("PIXELS")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1e5));
  app.add_option("--max-scales", settings.max_scales, "multiscale: this many automatic scales at most")
      ->type_name("N");
  app.add_option("--scale-bias", settings.scale_bias, "multiscale: lower prefers larger scales (default 0.6)")
      ->type_name("B")
      ->check(CLI::Range(0.01, 1.0));
  tool.heading("Joined channels and polarisations");
  app.add_flag("--join-channels", settings.join_channels,
               "find components in the mean of all channel groups");
  app.add_flag("--join-polarizations", settings.join_polarizations,
               "find components in the root of the polarisations' summed squares");
  app.add_option("--fit-spectral-pol", options.spectral_pol,
                 "joined channels: components have a polynomial spectrum of K terms")
      ->type_name("K")
      ->check(CLI::Range(1, 10));
  app.add_option("--fit-spectral-log-pol", options.spectral_log_pol,
                 "joined channels: a polynomial of K terms of the logarithms")
      ->type_name("K")
      ->check(CLI::Range(1, 10));
  app.add_option("--deconvolution-channels", settings.n_deconvolution_channels,
                 "joined channels: average to N while looking for components")
      ->type_name("N");
}

void declare_parallel(Tool& tool, DeconvolutionOptions& options) {
  tool.heading(headings::kCompute);
  tool.app()
      .add_option("--parallel-deconvolution", options.settings.sub_image_pixels,
                  "clark, multiscale: clean sub-images of about N x N pixels at the same time")
      ->type_name("N")
      ->check(CLI::Range(64, 1000000));
}

void declare_restoring(Tool& tool, DeconvolutionOptions& options) {
  CLI::App& app = tool.app();
  tool.heading("Restored image");
  app.add_option("--beam-size", options.beam_size,
                 "restoring beam instead of the fitted one: FWHM, or MAJOR,MINOR,ANGLE, or none")
      ->type_name("ANGLE");
  app.add_flag("--circular-beam", options.circular_beam, "restore with a circle of the fitted major axis");
  tool.add_file(
      "--primary-beam", options.primary_beam,
      "images: also write -image-pb, over this FITS image (default NAME-beam.fits if there is one); sets: "
      "correct for the beam, auto or a model of apsyn-aterms(5)");
  tool.heading(headings::kInputOutput);
  app.add_flag("--save-source-list", options.source_list, "write the components to NAME-sources.txt");
  app.add_flag("--continue", options.resume,
               "go on from NAME-model.fits and NAME-residual.fits, replacing them");
}

}  // namespace

void declare_deconvolution(Tool& tool, DeconvolutionOptions& options) {
  declare_stops(tool, options);
  declare_algorithms(tool, options);
  declare_parallel(tool, options);
  declare_restoring(tool, options);
}

void check_deconvolution(const Tool& tool, DeconvolutionOptions& options) {
  DeconvolutionSettings& settings = options.settings;
  if (options.no_negative && options.stop_negative)
    throw UsageError("--no-negative with --stop-negative: give one of them");
  if (options.no_negative) settings.negative = NegativeComponents::skip;
  if (options.stop_negative) settings.negative = NegativeComponents::stop;
  if (settings.threshold_jy < 0)
    throw UsageError("--threshold: {} {}: a threshold is not negative", settings.threshold_jy,
                     name_of(options.threshold_unit));
  if (options.n_iter->count() == 0 && settings.threshold_jy == 0 && settings.auto_threshold_sigma == 0)
    throw UsageError("nothing says when to stop: give --niter, --threshold or --auto-threshold");
  if (settings.auto_mask_sigma > 0 && settings.auto_mask_sigma < settings.auto_threshold_sigma)
    throw UsageError("--auto-mask {} below --auto-threshold {}: the mask is made first, at the higher one",
                     settings.auto_mask_sigma, settings.auto_threshold_sigma);
  const bool multiscale = options.algorithm == "multiscale";
  if (multiscale) settings.algorithm = CleanAlgorithm::multiscale;
  if (options.algorithm == "hogbom") settings.algorithm = CleanAlgorithm::hogbom;
  if (!multiscale && (!options.scales.empty() || settings.max_scales > 0))
    throw UsageError("--scales and --max-scales need --algorithm multiscale");
  if (options.algorithm == "hogbom" && settings.sub_image_pixels > 0)
    throw UsageError("--parallel-deconvolution with --algorithm hogbom: sub-images need clark or multiscale");
  settings.scales_pixels = options.scales;
  if (options.spectral_pol > 0 && options.spectral_log_pol > 0)
    throw UsageError("--fit-spectral-pol with --fit-spectral-log-pol: give one of them");
  settings.n_spectral_terms = std::max(options.spectral_pol, options.spectral_log_pol);
  if (options.spectral_pol > 0) settings.spectral_fit = SpectralFit::polynomial;
  if (options.spectral_log_pol > 0) settings.spectral_fit = SpectralFit::logarithmic;
  if (!settings.join_channels && (settings.n_spectral_terms > 0 || settings.n_deconvolution_channels > 0))
    throw UsageError("spectra are fitted, and channels averaged, only when joined: give --join-channels too");
  if (options.circular_beam && !options.beam_size.empty())
    throw UsageError("--circular-beam with --beam-size: give one of them");
  if (options.source_list && options.resume)
    throw UsageError(
        "--save-source-list with --continue: the list would lack the components of the earlier run");
  settings.n_threads = tool.common().threads;
}

void warn_of_threshold_unit(const DeconvolutionOptions& options, FluxUnit images) {
  if (options.settings.threshold_jy == 0 || options.threshold_unit == images) return;
  log_warning("--threshold {:g}{}: the images are in {}: it is taken as {:g} {}, write it so",
              options.settings.threshold_jy, name_of(options.threshold_unit), name_of(images),
              options.settings.threshold_jy, name_of(images));
}

bool border_given(const DeconvolutionOptions& options) {
  return options.border->count() > 0;
}

void warn_of_sub_images(const DeconvolutionOptions& options, const Device& device) {
  if (device.kind == Device::Kind::cuda && options.settings.sub_image_pixels > 0)
    log_warning("--parallel-deconvolution {}: a GPU cleans the image as one: --device cpu divides it",
                options.settings.sub_image_pixels);
}

std::optional<RestoringBeam> given_beam(const DeconvolutionOptions& options) {
  if (options.beam_size.empty() || !options.restores()) return std::nullopt;
  return parse_restoring_beam(options.beam_size);
}

}  // namespace apsyn::clean
