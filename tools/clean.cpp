// SPDX-License-Identifier: GPL-3.0-or-later
// clean: deconvolve dirty images with their PSFs.
#include "libcore/cli/tool.h"
#include "tools/clean/deconvolution_options.h"
#include "tools/clean/image_mode.h"

using namespace apsyn;

namespace {

struct Options {
  std::vector<std::string> inputs;
  clean::DeconvolutionOptions deconvolution;
};

void declare(Tool& tool, Options& options) {
  tool.add_inputs(options.inputs, "NAME-dirty.fits NAME-psf.fits, or NAME alone", 2);
  clean::declare_deconvolution(tool, options.deconvolution);
}

void run(Tool& tool, Options& options) {
  clean::check_deconvolution(tool, options.deconvolution);
  clean::clean_images(tool, options.inputs, options.deconvolution);
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("clean", "deconvolve a dirty image with its point spread function");
  Options options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
