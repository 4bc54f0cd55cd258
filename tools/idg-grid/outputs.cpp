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

std::vector<std::string> plane_names(const Imager& imager) {
  std::vector<std::string> names;
  for (const PlaneRecipe& plane : imager.planes) names.push_back(plane.name);
  return names;
}

OutputNames output_names(const Imager& imager, const std::string& part) {
  const std::string& name = imager.tool.common().output;
  if (name == "-") return {imager.options.psf_only ? "" : "-", imager.options.no_psf ? "" : "-", ""};
  return {imager.options.psf_only ? "" : name + part + "-dirty.fits",
          imager.options.no_psf ? "" : name + part + "-psf.fits",
          imager.aterms() ? name + part + "-beam.fits" : ""};
}

void make_products(const Imager& imager, const Field& field, const GroupImages& images,
                   const ChannelGroup& group, unsigned n_threads, const PutProduct& put) {
  const Options& options = imager.options;
  const std::vector<std::string> planes = plane_names(imager);
  const Extent dirty{options.imaging.n_x, options.imaging.n_y};
  const Extent psf = options.psf_size == 0 ? dirty : Extent{options.psf_size, options.psf_size};
  auto make_dirty = [&] {
    if (options.psf_only) return;
    const ImageCut cut = cut_image(imager, field, images, 0, planes, group, dirty);
    if (!imager.aterms()) return put(Product::dirty, cut.info, cut.shape(), cut.source());
    Image image = whole_image(cut, n_threads);
    const Image of_stations = take_beam_out(imager, field, images, group, n_threads, image);
    for (const Image* each : {&of_stations, &std::as_const(image)})
      put(each == &image ? Product::dirty : Product::beam, each->info, each->pixels.shape(),
          [each](std::size_t first, std::span<double> pixels) {
            std::copy_n(each->pixels.data() + first, pixels.size(), pixels.begin());
          });
  };
  auto make_psf = [&] {
    if (options.no_psf) return;
    const ImageCut cut = cut_image(imager, field, images, imager.n_data_planes(), {planes[0]}, group, psf);
    put(Product::psf, cut.info, cut.shape(), cut.source());
  };
  // At the same time, since each file takes one writer at a time. Standard output takes one of them alone.
  parallel_for(std::min(2u, n_threads), 2,
               [&](std::size_t i, unsigned) { i == 0 ? make_dirty() : make_psf(); });
}

void write_images(const Imager& imager, const std::string& part, const Field& field,
                  const GroupImages& images, const ChannelGroup& group, unsigned n_threads) {
  const OutputNames names = output_names(imager, part);
  const std::optional<RestoringBeam> beam = fitted_beam(imager, field, images, group, n_threads);
  const FitsPixel pixel = imager.options.bitpix == -64 ? FitsPixel::float64 : FitsPixel::float32;
  make_products(imager, field, images, group, n_threads,
                [&](Product product, ImageInfo info, const Buffer<double, 4>::Shape& shape,
                    const FitsPixelSource& source) {
                  if (!info.unit.empty()) info.beam = beam;  // of all but the stations' beam
                  write_fits_image(names.of(product), info, shape, source, pixel,
                                   imager.tool.common().overwrite, n_threads);
                });
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
    for (std::size_t k = 0; k < (imager.options.time_cube ? 1 : n_intervals); ++k)
      for (std::size_t g = 0; g < n_groups + (n_groups > 1 ? 1 : 0); ++g) {
        const OutputNames names =
            output_names(imager, interval_name(k, imager.options.time_cube ? 1 : n_intervals) + field.suffix +
                                     (g == n_groups ? "-MFS" : part_name(g, n_groups)));
        for (const std::string& path : {names.dirty, names.psf, names.beam})
          if (!path.empty()) check_output(path, imager.tool.common().overwrite);
      }
}

}  // namespace apsyn::idg_grid
