// SPDX-License-Identifier: GPL-3.0-or-later
// idg-grid: Measurement Sets or a visibility stream -> NAME-dirty.fits and NAME-psf.fits.
#include "tools/idg-grid/outputs.h"

using namespace apsyn;
using namespace apsyn::idg_grid;

namespace {

void run(Tool& tool, const Options& options) {
  check_options(tool, options);
  tool.stage("open");
  auto source = open_imaging_source(options.inputs, selection_of(options.imaging));
  const auto groups = split_channels(source->info(), options.imaging.channels_out);
  Imager imager{tool, options, *source, tool.device(CudaSupport::available),
                std::clamp<std::uint64_t>(tool.common().max_memory_bytes / 8, 1'000'000, 512'000'000)};
  if (!tool.common().dry_run) check_outputs(imager, groups.size());

  GroupImages whole_band;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    GroupImages images = make_images(imager, groups[g]);
    if (tool.common().dry_run) continue;
    if (images.weight_sum.empty() || !(images.weight_sum[0] > 0)) {
      if (groups.size() > 1)
        log_warning("{}: no usable data: channel group {} at {} is left out", options.inputs[0], g,
                    format_frequency(groups[g].centre_hz()));
      continue;
    }
    tool.stage("write");
    write_images(imager, part_name(g, groups.size()), images, groups[g]);
    add_to(whole_band, images);
  }
  if (tool.common().dry_run) return;
  if (whole_band.weight_sum.empty())
    throw FailureError("{}: no usable data: everything is flagged or outside of the uv range",
                       options.inputs[0]);
  if (groups.size() > 1) write_images(imager, "-MFS", whole_band, split_channels(source->info(), 1)[0]);
  tool.report_rate(imager.n_gridded, "vis");
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("idg-grid", "make dirty images and point spread functions from visibilities");
  Options options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
