// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/clean/products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "kernels/clean/beam.h"
#include "kernels/clean/clean_image.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/image.h"
#include "libcore/sky/projection.h"
#include "libcore/system/parallel.h"
#include "libcore/visibility/stokes.h"
#include "tools/clean/image_mode.h"
#include "tools/imaging/images.h"
#include "tools/imaging/options.h"

namespace apsyn::clean {
namespace {

/// Row y of the mean of groups over their weights, `factors` of a plane's.
void mean_row(const Buffer<float, 4>& from, std::size_t first_group, std::span<const double> factors,
              std::size_t plane, std::size_t y, std::size_t x, std::span<double> row) {
  std::fill(row.begin(), row.end(), 0.0);
  for (std::size_t g = 0; g < factors.size(); ++g) {
    const float* in = &from(first_group + g, plane, y, x);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += factors[g] * static_cast<double>(in[i]);
  }
}

/// [plane][group] of a part: its share of the weight.
Buffer<double, 2> shares_of(const FieldImages& field, const Part& part, std::size_t n_planes) {
  Buffer<double, 2> shares({n_planes, part.n});
  for (std::size_t plane = 0; plane < n_planes; ++plane) {
    double weights = 0;
    for (std::size_t g = 0; g < part.n; ++g) weights += field.weight(part.first + g, plane);
    for (std::size_t g = 0; g < part.n; ++g) shares(plane, g) = field.weight(part.first + g, plane) / weights;
  }
  return shares;
}

/// The products of a field. Those that are means over groups are made while they are written, several files
/// at a time, since a file system takes one writer at a time for each; the others one after the other, in
/// memory that serves all of them.
class ProductWriter {
 public:
  ProductWriter(const Products& products, const Field& field, const FieldImages& images)
      : products_(products), imager_(products.imager), field_(field), images_(images) {
    for (const PlaneRecipe& plane : imager_.planes) planes_.push_back(plane.name);
  }

  void write(const std::vector<Part>& parts) {
    imager_.tool.stage("write");
    write_means(parts);
    for (const Part& part : parts) write_others(part);
  }

 private:
  static View<const double, 3> planes_of(const Image& image) {
    return {image.pixels.data(), {image.pixels.extent(0), image.pixels.extent(2), image.pixels.extent(3)}};
  }

  void write_means(const std::vector<Part>& parts) {
    struct Mean {
      const Part& part;
      const char* kind;
      const Buffer<float, 4>& from;
      std::vector<std::string> stokes;
    };
    std::vector<Mean> means;
    for (const Part& part : parts) {
      if (!products_.resume) {
        means.push_back({part, "dirty", images_.dirty, planes_});
        means.push_back({part, "psf", images_.psf, {planes_[0]}});
      }
      means.push_back({part, "model", images_.model, planes_});
      means.push_back({part, "residual", images_.residual, planes_});
    }
    parallel_for(std::min(imager_.threads(), kFilesTogether), means.size(), [&](std::size_t i, unsigned) {
      const Mean& mean = means[i];
      const Buffer<double, 2> shares = shares_of(images_, mean.part, mean.stokes.size());
      const std::size_t n_x = images_.n_x(), n_y = images_.n_y();
      const auto source = [&](std::size_t first, std::span<double> pixels) {
        for (std::size_t done = 0; done < pixels.size();) {
          const std::size_t at = first + done, x = at % n_x, y = at / n_x % n_y, plane = at / n_x / n_y;
          const std::size_t n = std::min(n_x - x, pixels.size() - done);
          mean_row(mean.from, mean.part.first, {&shares(plane, 0), mean.part.n}, plane, y, x,
                   pixels.subspan(done, n));
          done += n;
        }
      };
      write_fits_image(path_of(mean.part, mean.kind), info_of_product(mean.part, mean.kind, mean.stokes),
                       {mean.stokes.size(), 1, n_y, n_x}, source, FitsPixel::float32, products_.overwrite,
                       imager_.threads());
    });
  }

  void write_others(const Part& part) {
    const bool has_beam = images_.beam.size() > 0;
    if (has_beam || products_.restores)
      take_mean(images_, images_.model, part, imager_.threads(), model_.pixels);
    if (has_beam) {
      beam_ = mean_beam(images_, part);
      write_pixels(part, "model-pb", planes_, model_over_beam(planes_of(model_), beam_));
    }
    if (products_.restores) write_restored(part);
    if (!has_beam) return;
    Buffer<double, 3> beam_plane({1, beam_.extent(0), beam_.extent(1)});
    std::copy(beam_.begin(), beam_.end(), beam_plane.begin());
    write_pixels(part, "beam", {"I"}, std::move(beam_plane));
  }

  void write_restored(const Part& part) {
    imager_.tool.stage("restore");
    take_mean(images_, images_.residual, part, imager_.threads(), image_.pixels);
    const CellSize cell{imager_.options.imaging.cell_rad, imager_.options.imaging.cell_rad};
    for (std::size_t p = 0; p < planes_.size(); ++p)
      restore(image_.pixels.view()[p][0], std::as_const(model_.pixels).view()[p][0], part.beam, cell,
              imager_.threads());
    imager_.tool.stage("write");
    write_file(part, "image", planes_, image_);
    if (beam_.size() > 0) write_pixels(part, "image-pb", planes_, over_beam(planes_of(image_), beam_));
  }

  void write_pixels(const Part& part, const std::string& kind, const std::vector<std::string>& stokes,
                    Buffer<double, 3>&& pixels) {
    Image image;
    image.pixels.resize_for_overwrite({pixels.extent(0), 1, pixels.extent(1), pixels.extent(2)});
    std::copy(pixels.begin(), pixels.end(), image.pixels.begin());
    write_file(part, kind, stokes, image);
  }

  void write_file(const Part& part, const std::string& kind, const std::vector<std::string>& stokes,
                  Image& image) {
    image.info = info_of_product(part, kind, stokes);
    write_fits_image(path_of(part, kind), image, FitsPixel::float32, products_.overwrite, imager_.threads());
  }

  std::string path_of(const Part& part, const std::string& kind) const {
    return products_.path(field_, part.name, kind);
  }

  ImageInfo info_of_product(const Part& part, const std::string& kind,
                            const std::vector<std::string>& stokes) const {
    ImageInfo info = info_of(imager_, field_, part.group, stokes);
    const bool model = kind.starts_with("model");
    const FluxUnit unit = imager_.source.info().flux_unit;
    info.unit = kind == "beam" ? "" : model ? per_pixel(unit) : per_beam(unit);
    if (kind != "beam" && !model && kind != "dirty" && products_.restores) info.beam = part.beam;
    info.keywords.emplace_back("WSCIMGWG", weight_of(images_, part));
    if (kind.ends_with("-pb")) info.keywords.emplace_back("PBCOR", 1);
    return info;
  }

  const Products& products_;
  Imager& imager_;
  const Field& field_;
  const FieldImages& images_;
  std::vector<std::string> planes_;
  Image image_, model_;     ///< what is being restored
  Buffer<double, 2> beam_;  ///< of the part at work, with A-terms
};

}  // namespace

std::vector<std::string> Products::kinds() const {
  std::vector<std::string> all{"model", "residual"};
  if (restores) all.push_back("image");
  if (!resume) all.insert(all.begin(), {"dirty", "psf"});
  if (imager.aterms()) all.insert(all.end(), {"beam", "model-pb"});
  if (imager.aterms() && restores) all.push_back("image-pb");
  return all;
}

void check_products(const Products& products, const std::vector<Field>& fields, std::size_t n_groups) {
  for (const Field& field : fields) {
    if (products.source_list) check_output(products.source_list_path(field), products.overwrite);
    for (std::size_t g = 0; g < n_groups + (n_groups > 1 ? 1 : 0); ++g)
      for (const std::string& kind : products.kinds())
        check_output(products.path(field, g == n_groups ? "-MFS" : part_name(g, n_groups), kind),
                     products.overwrite);
  }
}

RestoringBeam restoring_beam(const Products& products, View<const double, 2> psf) {
  if (products.given_beam) return *products.given_beam;
  const double cell_rad = products.imager.options.imaging.cell_rad;
  const RestoringBeam beam = fit_beam(psf, {cell_rad, cell_rad});
  return products.circular ? circular(beam) : beam;
}

void take_mean(const FieldImages& field, const Buffer<float, 4>& from, const Part& part, unsigned n_threads,
               Buffer<double, 4>& to) {
  const Buffer<double, 2> shares = shares_of(field, part, from.extent(1));
  to.resize_for_overwrite({from.extent(1), 1, field.n_y(), field.n_x()});
  for (std::size_t plane = 0; plane < from.extent(1); ++plane)
    parallel_for(n_threads, field.n_y(), [&](std::size_t y, unsigned) {
      mean_row(from, part.first, {&shares(plane, 0), part.n}, plane, y, 0,
               {&to(plane, 0, y, 0), field.n_x()});
    });
}

double weight_of(const FieldImages& field, const Part& part) {
  double weight = 0;
  for (std::size_t g = part.first; g < part.first + part.n; ++g) weight += field.weight(g, 0);
  return weight;
}

Buffer<double, 2> mean_beam(const FieldImages& field, const Part& part) {
  Buffer<double, 2> beam({field.n_y(), field.n_x()});
  const double weight = weight_of(field, part);
  for (std::size_t g = part.first; g < part.first + part.n; ++g)
    for (std::size_t i = 0; i < beam.size(); ++i)
      beam.data()[i] += field.weight(g, 0) / weight * (&field.beam(g, 0, 0))[i];
  return beam;
}

Buffer<double, 4> mean_psf(const FieldImages& field, std::size_t first, std::size_t n, unsigned n_threads) {
  Buffer<double, 4> mean;
  take_mean(field, field.psf, {"", {}, first, n, {}}, n_threads, mean);
  return mean;
}

std::vector<BandBeams> find_beams(const Products& products, const Sky& sky) {
  auto name_of = [&](std::size_t g) {
    return sky.groups.size() == 1 ? "" : fmt::format("group {}", sky.group_numbers[g]);
  };
  std::vector<BandBeams> beams;
  for (const FieldImages& field : sky.images) {
    auto fit = [&](std::size_t g) {
      const std::size_t n = sky.groups.size();
      const unsigned n_threads = products.imager.threads();
      return restoring_beam(
          products,
          (g == n ? mean_psf(field, 0, n, n_threads) : mean_psf(field, g, 1, n_threads)).view()[0][0]);
    };
    beams.push_back(fit_band(sky.groups.size(), fit, name_of));
    for (std::size_t g = 0; g < sky.groups.size(); ++g)
      report_beam(name_of(g), beams.back().parts[g], products.given_beam.has_value());
  }
  return beams;
}

void write_products(const Products& products, const Sky& sky, const std::vector<BandBeams>& beams,
                    const std::vector<ChannelGroup>& groups, const ChannelGroup& whole_band) {
  for (std::size_t f = 0; f < sky.fields.size(); ++f) {
    std::vector<Part> parts;
    for (std::size_t g = 0; g < sky.groups.size(); ++g) {
      const std::size_t number = sky.group_numbers[g];
      parts.push_back({part_name(number, groups.size()), groups[number], g, 1,
                       beams.empty() ? RestoringBeam{} : beams[f].parts[g]});
    }
    if (groups.size() > 1)
      parts.push_back(
          {"-MFS", whole_band, 0, sky.groups.size(), beams.empty() ? RestoringBeam{} : beams[f].mean});
    ProductWriter(products, sky.fields[f], sky.images[f]).write(parts);
  }
}

Buffer<double, 3> read_true_model(const Products& products, const Field& field, const std::string& part) {
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

std::size_t nearest_fitted(const std::vector<std::optional<RestoringBeam>>& beams, std::size_t part) {
  for (std::size_t step = 1; step < beams.size(); ++step) {
    if (part >= step && beams[part - step]) return part - step;
    if (part + step < beams.size() && beams[part + step]) return part + step;
  }
  return part;
}

void report_beam(const std::string& part, const RestoringBeam& beam, bool given) {
  log_info("{}{}{} beam: {} x {}, position angle {:.2f} deg", part, part.empty() ? "" : ": ",
           given ? "given" : "fitted", format_angle(beam.major_rad), format_angle(beam.minor_rad),
           beam.position_angle_rad / kRadPerDeg);
}

}  // namespace apsyn::clean
