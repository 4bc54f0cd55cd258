// SPDX-License-Identifier: GPL-3.0-or-later
// clean: deconvolve dirty images with their PSFs.
#include <string>
#include <vector>

#include "libcore/cli/imaging_options.h"
#include "libcore/cli/tool.h"
#include "tools/clean/deconvolution_options.h"
#include "tools/clean/image_mode.h"
#include "tools/clean/visibilities.h"
#include "tools/clean/visibility_options.h"

using namespace apsyn;

namespace {

struct Options {
  std::vector<std::string> inputs;
  clean::DeconvolutionOptions deconvolution;
  clean::VisibilityOptions visibilities;
};

void declare(Tool& tool, Options& options) {
  tool.add_inputs(options.inputs, "NAME-dirty.fits NAME-psf.fits, or NAME alone, or Measurement Sets", 0);
  clean::declare_deconvolution(tool, options.deconvolution);
  clean::declare_visibilities(tool, options.visibilities, options.inputs);
}

void run(Tool& tool, Options& options) {
  clean::check_deconvolution(tool, options.deconvolution);
  if (clean::are_visibilities(options.inputs, options.visibilities)) {
    options.visibilities.imager.inputs = options.inputs;
    if (!options.deconvolution.primary_beam.empty())
      choose_primary_beam(options.visibilities.imager.imaging, options.deconvolution.primary_beam);
    clean::choose_weighting(options.visibilities, options.deconvolution.settings.join_channels);
    clean::clean_visibilities(tool, options.visibilities, options.deconvolution);
    return;
  }
  clean::refuse_visibility_options(options.visibilities);
  if (tool.works_alone()) clean::clean_images(tool, options.inputs, options.deconvolution);
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("clean", "deconvolve a dirty image with its point spread function");
  Options options;
  declare(tool, options);
  tool.use_ranks(Tool::RankUse::shared);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
