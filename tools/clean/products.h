// SPDX-License-Identifier: GPL-3.0-or-later
// The images that the Measurement Set mode leaves, with WSClean's names: NAME-dirty.fits, -psf, -model,
// -residual and -image; with several channel groups NAME-0000-dirty.fits ... and NAME-MFS-dirty.fits, the
// mean over the groups; with A-terms also -beam, -image-pb and -model-pb, over the beam.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "kernels/clean/beam.h"
#include "libcore/core/output.h"
#include "libcore/io/fits_image.h"
#include "tools/clean/major_cycles.h"
#include "tools/clean/primary_beam.h"
#include "tools/clean/restoring_beams.h"

namespace apsyn::clean {

/// What the output files of one run share.
struct Products {
  Imager& imager;
  std::string name;    ///< -o
  bool go_on = false;  ///< --continue: dirty image and PSF are those of the earlier run
  bool overwrite = false;
  bool restores = true, circular = false;   ///< --beam-size none, --circular-beam
  std::optional<RestoringBeam> given_beam;  ///< rather than the fitted one
  bool source_list = false;

  std::vector<std::string> kinds() const {
    std::vector<std::string> all{"model", "residual"};
    if (restores) all.push_back("image");
    if (!go_on) all.insert(all.begin(), {"dirty", "psf"});
    if (imager.aterms()) all.insert(all.end(), {"beam", "model-pb"});
    if (imager.aterms() && restores) all.push_back("image-pb");
    return all;
  }
  std::string path(const Field& field, const std::string& part, const std::string& kind) const {
    return name + field.suffix + part + "-" + kind + ".fits";
  }
  std::string source_list_path(const Field& field) const { return name + field.suffix + "-sources.txt"; }
};

/// Fails before any long work when an output cannot be written.
inline void check_products(const Products& products, const std::vector<Field>& fields, std::size_t n_groups) {
  for (const Field& field : fields) {
    if (products.source_list) check_output(products.source_list_path(field), products.overwrite);
    for (std::size_t g = 0; g < n_groups + (n_groups > 1 ? 1 : 0); ++g)
      for (const std::string& kind : products.kinds())
        check_output(products.path(field, g == n_groups ? "-MFS" : part_name(g, n_groups), kind),
                     products.overwrite);
  }
}

/// The planes of one part of the band, in float64.
struct Part {
  Buffer<double, 3> psf, dirty, residual, model;  ///< [plane][y][x]
  Buffer<double, 2> beam;
  double weight = 0;  ///< of plane 0
};

inline RestoringBeam restoring_beam(const Products& products, View<const double, 2> psf) {
  if (products.given_beam) return *products.given_beam;
  const double cell_rad = products.imager.options.imaging.cell_rad;
  const RestoringBeam beam = fit_beam(psf, {cell_rad, cell_rad});
  return products.circular ? circular(beam) : beam;
}

/// to += the mean of a plane over groups [first, first + n), by the plane's weights.
inline void add_mean(const FieldImages& field, const Buffer<float, 4>& from, std::size_t plane,
                     std::size_t first, std::size_t n, View<double, 2> to) {
  double weights = 0;
  for (std::size_t g = first; g < first + n; ++g) weights += field.weight(g, plane);
  for (std::size_t g = first; g < first + n; ++g) {
    const double factor = field.weight(g, plane) / weights;
    const float* in = &from(g, plane, 0, 0);
    for (std::size_t i = 0; i < to.size(); ++i) to.data()[i] += factor * static_cast<double>(in[i]);
  }
}

inline Buffer<double, 2> mean_psf(const FieldImages& field, std::size_t first, std::size_t n) {
  Buffer<double, 2> mean({field.n_y(), field.n_x()});
  add_mean(field, field.psf, 0, first, n, mean);
  return mean;
}

/// The mean over groups [first, first + n), by their weights.
inline Part mean_of_groups(const FieldImages& field, std::size_t first, std::size_t n) {
  Part part;
  const std::size_t n_plane = field.n_planes(), n_y = field.n_y(), n_x = field.n_x();
  part.psf.resize({1, n_y, n_x});
  for (auto* image : {&part.dirty, &part.residual, &part.model}) image->resize({n_plane, n_y, n_x});
  if (field.beam.size() > 0) part.beam.resize({n_y, n_x});
  add_mean(field, field.psf, 0, first, n, part.psf.view()[0]);
  for (std::size_t p = 0; p < n_plane; ++p) {
    add_mean(field, field.dirty, p, first, n, part.dirty.view()[p]);
    add_mean(field, field.residual, p, first, n, part.residual.view()[p]);
    add_mean(field, field.model, p, first, n, part.model.view()[p]);
  }
  for (std::size_t g = first; g < first + n; ++g) part.weight += field.weight(g, 0);
  if (part.beam.size() > 0)
    for (std::size_t g = first; g < first + n; ++g)
      for (std::size_t i = 0; i < n_y * n_x; ++i)
        part.beam.data()[i] += field.weight(g, 0) / part.weight * (&field.beam(g, 0, 0))[i];
  return part;
}

/// What the images of each field will be restored with, and says so. FailureError when no group has a PSF
/// that a beam can be fitted to, before long work.
inline std::vector<BandBeams> find_beams(const Products& products, const Sky& sky) {
  auto name_of = [&](std::size_t g) {
    return sky.groups.size() == 1 ? "" : fmt::format("group {}", sky.group_numbers[g]);
  };
  std::vector<BandBeams> beams;
  for (const FieldImages& field : sky.images) {
    auto fit = [&](std::size_t g) {
      const std::size_t n = sky.groups.size();
      return restoring_beam(products, g == n ? mean_psf(field, 0, n) : mean_psf(field, g, 1));
    };
    beams.push_back(fit_band(sky.groups.size(), fit, name_of));
    for (std::size_t g = 0; g < sky.groups.size(); ++g)
      report_beam(name_of(g), beams.back().parts[g], products.given_beam.has_value());
  }
  return beams;
}

inline void write_part(const Products& products, const Field& field, const std::string& name,
                       const ChannelGroup& group, const RestoringBeam& beam, Part&& part) {
  const Imager& imager = products.imager;
  std::vector<std::string> planes;
  for (const PlaneRecipe& plane : imager.planes) planes.push_back(plane.name);
  const CellSize cell{imager.options.imaging.cell_rad, imager.options.imaging.cell_rad};
  auto write = [&](const std::string& kind, const std::string& unit, const std::vector<std::string>& stokes,
                   const Buffer<double, 3>& pixels) {
    Image image{info_of(imager, field, group, stokes), {}};
    image.info.unit = unit;
    if (unit == "JY/BEAM" && kind != "dirty" && products.restores) image.info.beam = beam;
    image.info.keywords.emplace_back("WSCIMGWG", part.weight);
    if (kind.ends_with("-pb")) image.info.keywords.emplace_back("PBCOR", 1);
    image.pixels.resize({pixels.extent(0), 1, pixels.extent(1), pixels.extent(2)});
    std::copy(pixels.begin(), pixels.end(), image.pixels.begin());
    write_fits_image(products.path(field, name, kind), image, FitsPixel::float32, products.overwrite);
  };
  imager.tool.stage("write");
  if (!products.go_on) {
    write("dirty", "JY/BEAM", planes, part.dirty);
    write("psf", "JY/BEAM", {planes[0]}, part.psf);
  }
  write("model", "JY/PIXEL", planes, part.model);
  write("residual", "JY/BEAM", planes, part.residual);
  if (products.restores) {
    imager.tool.stage("restore");
    for (std::size_t p = 0; p < planes.size(); ++p)
      restore(part.residual.view()[p], std::as_const(part.model).view()[p], beam, cell, imager.threads());
    imager.tool.stage("write");
    write("image", "JY/BEAM", planes, part.residual);
    if (part.beam.size() > 0) write("image-pb", "JY/BEAM", planes, over_beam(part.residual, part.beam));
  }
  if (part.beam.size() == 0) return;
  Buffer<double, 3> beam_plane({1, part.beam.extent(0), part.beam.extent(1)});
  std::copy(part.beam.begin(), part.beam.end(), beam_plane.begin());
  write("beam", "", {"I"}, beam_plane);
  write("model-pb", "JY/PIXEL", planes, model_over_beam(part.model, part.beam));
}

/// `beams` [field], or empty when nothing is restored.
inline void write_products(const Products& products, const Sky& sky, const std::vector<BandBeams>& beams,
                           const std::vector<ChannelGroup>& groups, const ChannelGroup& whole_band) {
  for (std::size_t f = 0; f < sky.fields.size(); ++f) {
    const BandBeams of_field = beams.empty() ? BandBeams{} : beams[f];
    for (std::size_t g = 0; g < sky.groups.size(); ++g) {
      const std::size_t number = sky.group_numbers[g];
      write_part(products, sky.fields[f], part_name(number, groups.size()), groups[number],
                 beams.empty() ? RestoringBeam{} : of_field.parts[g], mean_of_groups(sky.images[f], g, 1));
    }
    if (groups.size() > 1)
      write_part(products, sky.fields[f], "-MFS", whole_band, of_field.mean,
                 mean_of_groups(sky.images[f], 0, sky.groups.size()));
  }
}

/// The model of an earlier run as a degridder takes it: of the true sky.
inline Buffer<double, 3> read_true_model(const Products& products, const Field& field,
                                         const std::string& part) {
  const Imager& imager = products.imager;
  const ImagingOptions& wanted = imager.options.imaging;
  const std::string path = products.path(field, part, imager.aterms() ? "model-pb" : "model");
  const Image image = read_fits_image(path);
  if (image.pixels.shape() != std::array{imager.planes.size(), std::size_t{1}, wanted.n_y, wanted.n_x})
    throw UsageError("{}: has another size, or other planes, than --size and --pol ask for", path);
  if (std::abs(image.info.cell_rad / wanted.cell_rad - 1) > 1e-6)
    throw UsageError("{}: its pixels are of {}, those of --scale of {}", path,
                     format_angle(image.info.cell_rad), format_angle(wanted.cell_rad));
  if (separation_rad(image.info.centre, field.centre) > wanted.cell_rad / 100)
    throw UsageError("{}: is about another centre: give --shift as before", path);
  Buffer<double, 3> model({imager.planes.size(), wanted.n_y, wanted.n_x});
  std::transform(image.pixels.begin(), image.pixels.end(), model.begin(),
                 [](double flux) { return std::isfinite(flux) ? flux : 0; });
  return model;
}

}  // namespace apsyn::clean
