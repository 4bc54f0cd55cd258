// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/idg-grid/outputs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/clean/beam.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/image.h"
#include "libcore/image/image.h"
#include "libcore/system/parallel.h"
#include "libcore/visibility/stokes.h"
#include "tools/imaging/images.h"
#include "tools/imaging/options.h"

namespace apsyn::idg_grid {
namespace {

/// Of the PSF's main lobe, where it has one in the middle of the image; none without a PSF.
std::optional<RestoringBeam> fitted_beam(const Imager& imager, const Field& field, const GroupImages& images,
                                         const ChannelGroup& group, unsigned n_threads) {
  if (imager.options.no_psf) return {};
  constexpr std::size_t kMiddle = 512;
  const Extent middle{std::min(imager.options.imaging.n_x, kMiddle),
                      std::min(imager.options.imaging.n_y, kMiddle)};
  const Image psf =
      whole_image(cut_image(imager, field, images, imager.n_data_planes(), {"I"}, group, middle), n_threads);
  const double cell_rad = imager.options.imaging.cell_rad;
  try {
    return fit_beam(psf.pixels.view()[0][0], {cell_rad, cell_rad});
  } catch (const FailureError& e) {
    log_verbose("no BMAJ: {}", e.what());
    return {};
  }
}

}  // namespace

OutputNames output_names(const Imager& imager, const std::string& part) {
  const std::string& name = imager.tool.common().output;
  if (name == "-") return {imager.options.psf_only ? "" : "-", imager.options.no_psf ? "" : "-", ""};
  return {imager.options.psf_only ? "" : name + part + "-dirty.fits",
          imager.options.no_psf ? "" : name + part + "-psf.fits",
          imager.aterms() ? name + part + "-beam.fits" : ""};
}

void write_images(const Imager& imager, const std::string& part, const Field& field,
                  const GroupImages& images, const ChannelGroup& group, unsigned n_threads) {
  const OutputNames names = output_names(imager, part);
  std::vector<std::string> planes;
  for (const PlaneRecipe& plane : imager.planes) planes.push_back(plane.name);
  const Options& options = imager.options;
  const Extent dirty{options.imaging.n_x, options.imaging.n_y};
  const Extent psf = options.psf_size == 0 ? dirty : Extent{options.psf_size, options.psf_size};
  const std::optional<RestoringBeam> beam = fitted_beam(imager, field, images, group, n_threads);
  const FitsPixel pixel = options.bitpix == -64 ? FitsPixel::float64 : FitsPixel::float32;
  const bool overwrite = imager.tool.common().overwrite;
  auto write_cut = [&](const std::string& path, ImageCut cut) {
    if (!cut.info.unit.empty()) cut.info.beam = beam;
    write_fits_image(path, cut.info, cut.shape(), cut.source(), pixel, overwrite, n_threads);
  };
  auto write_dirty = [&] {
    if (names.dirty.empty()) return;
    const ImageCut cut = cut_image(imager, field, images, 0, planes, group, dirty);
    if (!imager.aterms()) return write_cut(names.dirty, cut);
    Image image = whole_image(cut, n_threads);
    Image of_stations = take_beam_out(imager, field, images, group, image);
    for (auto* each : {&of_stations, &image}) {
      if (!each->info.unit.empty()) each->info.beam = beam;  // of all but the stations' beam
      write_fits_image(each == &image ? names.dirty : names.beam, *each, pixel, overwrite, n_threads);
    }
  };
  auto write_psf = [&] {
    if (!names.psf.empty())
      write_cut(names.psf, cut_image(imager, field, images, imager.n_data_planes(), {planes[0]}, group, psf));
  };
  // At the same time, since each file takes one writer at a time. Standard output takes one of them alone.
  parallel_for(std::min(2u, n_threads), 2,
               [&](std::size_t i, unsigned) { i == 0 ? write_dirty() : write_psf(); });
}

std::uint64_t writing_bytes(const Imager& imager, std::size_t n_fields) {
  const Options& options = imager.options;
  const std::uint64_t gridded = gridded_n_x(options) * gridded_n_y(options),
                      dirty = imager.n_data_planes() * options.imaging.n_x * options.imaging.n_y,
                      psf = options.psf_size == 0 ? options.imaging.n_x * options.imaging.n_y
                                                  : options.psf_size * options.psf_size,
                      beam = imager.aterms() ? options.imaging.n_x * options.imaging.n_y : 0;
  const std::uint64_t pixels = dirty + beam + (options.no_psf ? 0 : psf);
  // What malloc() keeps of the gridders', and the middle of the PSF that a beam is fitted to.
  const std::uint64_t kept = std::min<std::uint64_t>(20'000'000, gridded * imager.n_planes() * 2);
  return kept + n_fields * (imager.n_planes() + (imager.aterms() ? 1 : 0)) * gridded * sizeof(double) +
         (imager.aterms() ? (dirty + beam) * sizeof(double) : 0) +
         2 * fits_writing_bytes(pixels, options.bitpix == -64 ? 8 : 4, imager.threads());
}

void check_outputs(const Imager& imager, const std::vector<Field>& fields, std::size_t n_groups,
                   std::size_t n_intervals) {
  for (const Field& field : fields)
    for (std::size_t k = 0; k < n_intervals; ++k)
      for (std::size_t g = 0; g < n_groups + (n_groups > 1 ? 1 : 0); ++g) {
        const OutputNames names = output_names(imager, interval_name(k, n_intervals) + field.suffix +
                                                           (g == n_groups ? "-MFS" : part_name(g, n_groups)));
        for (const std::string& path : {names.dirty, names.psf, names.beam})
          if (!path.empty()) check_output(path, imager.tool.common().overwrite);
      }
}

}  // namespace apsyn::idg_grid
