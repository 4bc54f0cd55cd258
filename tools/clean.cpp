// SPDX-License-Identifier: GPL-3.0-or-later
// clean: deconvolve a dirty image with its PSF.
#include <numeric>
#include <optional>

#include "kernels/clean/clean_image.h"
#include "libcore/cli/tool.h"
#include "libcore/core/constants.h"
#include "libcore/core/output.h"
#include "libcore/io/fits_image.h"
#include "libcore/io/image_set.h"

using namespace apsyn;

namespace {

struct Options {
  std::vector<std::string> inputs;
  CleanOptions clean;
  std::string algorithm = "hogbom", mask, beam_size;
  bool no_negative = false, stop_negative = false, go_on = false;
  CLI::Option *n_iter = nullptr, *cycle_gain = nullptr;
};

void declare(Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  CleanOptions& clean = options.clean;
  clean.max_iterations = 1000000;
  tool.add_inputs(options.inputs, "NAME-dirty.fits NAME-psf.fits, or NAME alone", 2);
  options.n_iter =
      app.add_option("-n,--niter", clean.max_iterations, "components per plane at most (default 1000000)")
          ->type_name("N");
  app.add_option("--gain", clean.gain, "share of the peak that a component takes (default 0.1)")
      ->type_name("G")
      ->check(CLI::Range(1e-6, 1.0));
  options.cycle_gain = app.add_option("--mgain", clean.cycle_gain,
                                      "with --auto-threshold: measure the noise again each time the peak has "
                                      "fallen by this share (default 0.8)")
                           ->type_name("G")
                           ->check(CLI::Range(1e-6, 1.0));
  tool.add_flux("-t,--threshold", clean.threshold_jy, "stop when the peak is not above, for example 5mJy");
  app.add_option("--auto-threshold", clean.threshold_sigma,
                 "stop when the peak is not above S times the residual's noise")
      ->type_name("S")
      ->check(CLI::Range(1e-6, 1e6));
  app.add_option("--mask", options.mask, "put components only where this FITS image is not 0")
      ->type_name("PATH");
  app.add_option("--algorithm", options.algorithm, "hogbom")
      ->type_name("NAME")
      ->check(CLI::IsMember({"hogbom"}));
  app.add_flag("--no-negative", options.no_negative, "no negative components");
  app.add_flag("--stop-negative", options.stop_negative, "stop at the first negative component");
  app.add_option("--beam-size", options.beam_size,
                 "restoring beam instead of the fitted one: FWHM, or MAJOR,MINOR,ANGLE")
      ->type_name("ANGLE");
  app.add_flag("--continue", options.go_on,
               "go on from NAME-model.fits and NAME-residual.fits, replacing them");
}

void check(Options& options) {
  CleanOptions& clean = options.clean;
  if (options.no_negative && options.stop_negative)
    throw UsageError("--no-negative with --stop-negative: give one of them");
  if (options.no_negative) clean.negative = NegativeComponents::skip;
  if (options.stop_negative) clean.negative = NegativeComponents::stop;
  if (clean.threshold_jy < 0)
    throw UsageError("--threshold: {} Jy: a threshold is not negative", clean.threshold_jy);
  if (options.n_iter->count() == 0 && clean.threshold_jy == 0 && clean.threshold_sigma == 0)
    throw UsageError("nothing says when to stop: give --niter, --threshold or --auto-threshold");
  if (options.cycle_gain->count() != 0 && clean.threshold_sigma == 0)
    throw UsageError("--mgain: on images it says when to measure the noise again: give --auto-threshold too");
}

struct Plan {
  ImageSet files;
  std::string start;  ///< the image that cleaning begins with
  std::optional<RestoringBeam> beam;
  bool overwrite = false;
};

std::string shape_text(const std::string& path, std::uint64_t& n_pixels) {
  if (path == "-") return "of unknown size";
  const std::vector<std::size_t> shape = read_fits_shape(path);
  n_pixels = std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
  return fmt::format("{} pixels", fmt::join(shape, " x "));
}

Plan make_plan(Tool& tool, const Options& options) {
  Plan plan;
  if (!options.beam_size.empty()) plan.beam = parse_restoring_beam(options.beam_size);
  plan.files = find_image_set(options.inputs, tool.common().output);
  plan.start = options.go_on ? plan.files.residual : plan.files.dirty;
  plan.overwrite = tool.common().overwrite || options.go_on;
  for (const std::string& path : {plan.files.model, plan.files.residual, plan.files.image})
    check_output(path, plan.overwrite);
  std::uint64_t n_image = 0, n_psf = 0;
  const std::string image_shape = shape_text(plan.start, n_image);
  const std::string psf_shape = shape_text(plan.files.psf, n_psf);
  // Residual, model, mask and a copy in float64 each, the file being read, and a byte per pixel of mask.
  const std::uint64_t needed_bytes = 41 * n_image + 16 * n_psf;
  if (tool.common().dry_run) {
    tool.print(fmt::format("image: {}, {}\npsf: {}, {}", plan.start, image_shape, plan.files.psf, psf_shape));
    tool.print(fmt::format("outputs: {} {} {}", plan.files.model, plan.files.residual, plan.files.image));
    tool.print(fmt::format("{} with gain {}, {} components per plane at most", options.algorithm,
                           options.clean.gain, options.clean.max_iterations));
    tool.print(fmt::format("memory: {}", format_bytes(static_cast<double>(needed_bytes))));
  } else if (needed_bytes > tool.common().max_memory_bytes) {
    throw FailureError("{}: needs {} of memory, {} are allowed: raise --max-memory", plan.start,
                       format_bytes(static_cast<double>(needed_bytes)),
                       format_bytes(static_cast<double>(tool.common().max_memory_bytes)));
  }
  return plan;
}

void report(const PlaneReport& plane) {
  log_info(
      "{}: {} components; stopped: {}; peak residual {:.4g} Jy, noise {:.4g} Jy, flux in model {:.6g} Jy",
      plane.label, plane.n_components, describe_stop(plane), plane.peak_jy, plane.noise_jy,
      plane.model_flux_jy);
  if (plane.stop == CleanStop::divergence)
    log_warning(
        "{}: CLEAN diverged: use a PSF of twice the image's size, a mask, a lower --gain or fewer iterations",
        plane.label);
}

void run(Tool& tool, Options& options) {
  check(options);
  Plan plan = make_plan(tool, options);
  if (tool.common().dry_run) return;
  tool.device(CudaSupport::none);
  options.clean.n_threads = tool.common().threads;

  tool.stage("read");
  Image residual = read_fits_image(plan.start), psf = read_fits_image(plan.files.psf);
  check_has_data(residual, plan.start);
  check_psf_fits(residual, plan.start, psf, plan.files.psf);
  prepare_psf(psf, plan.files.psf);
  std::optional<Image> mask;
  if (!options.mask.empty()) {
    mask = read_fits_image(options.mask);
    check_same_sky(residual, plan.start, *mask, options.mask);
  }
  Image model = options.go_on ? read_fits_image(plan.files.model) : empty_model(residual);
  if (options.go_on) check_same_sky(residual, plan.start, model, plan.files.model);
  for (const std::string& line : tool.provenance()) {
    residual.info.history.push_back(line);
    model.info.history.push_back(line);
  }

  tool.stage("beam");
  if (!plan.beam) plan.beam = fit_largest_beam(psf);
  log_info("{} beam: {} x {}, position angle {:.2f} deg", options.beam_size.empty() ? "fitted" : "given",
           format_angle(plan.beam->major_rad), format_angle(plan.beam->minor_rad),
           plan.beam->position_angle_rad / kRadPerDeg);

  tool.stage("clean");
  const double n_planes = static_cast<double>(residual.pixels.extent(0) * residual.pixels.extent(1));
  Progress progress(tool, "clean", static_cast<double>(options.clean.max_iterations) * n_planes,
                    "components");
  options.clean.progress = [&](std::size_t n) { progress.update(static_cast<double>(n)); };
  std::size_t n_components = 0;
  for (const PlaneReport& plane :
       clean_planes(residual, model, psf, mask ? &*mask : nullptr, options.clean)) {
    report(plane);
    n_components += plane.n_components;
  }
  tool.report_rate(static_cast<double>(n_components), "components");

  tool.stage("write");
  residual.info.beam = plan.beam;
  write_fits_image(plan.files.model, model, FitsPixel::float32, plan.overwrite);
  write_fits_image(plan.files.residual, residual, FitsPixel::float32, plan.overwrite);
  tool.stage("restore");
  restore_planes(residual, model, *plan.beam, tool.common().threads);
  tool.stage("write");
  write_fits_image(plan.files.image, residual, FitsPixel::float32, plan.overwrite);
  log_info("wrote {} {} {}", plan.files.model, plan.files.residual, plan.files.image);
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("clean", "deconvolve a dirty image with its point spread function");
  Options options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
