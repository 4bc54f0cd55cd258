// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/model_images.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/fits/image.h"

namespace apsyn {
namespace {

/// WSClean 3.1 gives its mean models, NAME-MFS-model.fits, the unit of the images whose mean it takes.
bool is_mean_model_of_wsclean(const std::string& path, const ImageInfo& info) {
  return path.find("-MFS-") != path.npos &&
         (path.ends_with("-model.fits") || path.ends_with("-model-pb.fits")) && !info.history.empty() &&
         info.history.front().find("wsclean ") != std::string::npos;
}

FluxUnit unit_of_model(const std::string& path, const ImageInfo& info) {
  std::string upper;
  for (char c : info.unit)
    if (c != ' ') upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (upper == "JY/BEAM" && is_mean_model_of_wsclean(path, info))
    log_warning("{}: unit '{}', which WSClean gives its mean models: taken as JY/PIXEL", path, info.unit);
  else if (upper != "JY/PIXEL" && upper != "ADU/PIXEL")
    throw DataError(
        "{}: unit '{}': a model in JY/PIXEL or adu/pixel is needed, such as the NAME-model.fits of clean",
        path, info.unit);
  return unit_of_image(upper);
}

/// An axis of the image that has the reference pixel in its middle: the file's pixels begin at `skip`.
struct CentredAxis {
  std::size_t n = 0, skip = 0;
};
CentredAxis centred(const std::string& path, std::size_t n, double reference) {
  const double whole = std::round(reference);
  if (std::abs(reference - whole) > 1e-6)
    throw DataError("{}: reference pixel {}: it must be a whole pixel: regrid the image", path,
                    reference + 1);
  if (std::abs(whole) > 1e6)
    throw DataError("{}: reference pixel {}: too far from the image: regrid it", path, reference + 1);
  const auto at = static_cast<std::int64_t>(whole), size = static_cast<std::int64_t>(n);
  if (at == size / 2) return {n, 0};
  const std::int64_t half = std::max({at, size - at, std::int64_t{1}});
  return {static_cast<std::size_t>(2 * half), static_cast<std::size_t>(half - at)};
}

struct Placement {
  CentredAxis x, y;
};
Placement placement(const std::string& path, const Image& image) {
  const std::size_t n_y = image.pixels.extent(2), n_x = image.pixels.extent(3);
  const std::array<double, 2> reference = reference_pixel(image.info, n_x, n_y);
  return {centred(path, n_x, reference[0]), centred(path, n_y, reference[1])};
}

bool same_part_of_band(const ModelGroup& a, const ModelGroup& b) {
  return std::abs(a.freq_hz - b.freq_hz) <= 1e-9 * a.freq_hz &&
         std::abs(a.width_hz - b.width_hz) <= 1e-6 * a.width_hz;
}

/// One group per plane of the file's FREQ axis.
std::vector<ModelGroup> groups_of(const std::string& path) {
  const Image image = read_fits_image(path);
  const ImageInfo& info = image.info;
  const FluxUnit flux_unit = unit_of_model(path, info);
  if (info.cell_y_rad != 0 && std::abs(info.cell_y_rad - info.cell_rad) > 1e-9 * info.cell_rad)
    throw DataError("{}: cells of {} x {}: square ones are needed: regrid the image", path,
                    format_angle(info.cell_rad), format_angle(info.cell_y_rad));
  if (std::any_of(image.pixels.begin(), image.pixels.end(), [](double value) { return std::isinf(value); }))
    throw DataError("{}: a pixel is infinite: this is no model of the sky", path);
  const Placement at = placement(path, image);
  std::vector<ModelGroup> groups;
  for (std::size_t freq = 0; freq < image.pixels.extent(1); ++freq) {
    ModelGroup group;
    group.freq_hz = info.freq_hz + static_cast<double>(freq) * info.bandwidth_hz;
    group.width_hz = std::abs(info.bandwidth_hz);
    group.centre = info.centre;
    group.n_x = at.x.n;
    group.n_y = at.y.n;
    group.cell_rad = info.cell_rad;
    group.flux_unit = flux_unit;
    for (std::size_t stokes = 0; stokes < info.stokes.size(); ++stokes)
      group.planes.push_back({info.stokes[stokes], path, stokes, freq});
    groups.push_back(std::move(group));
  }
  return groups;
}

void check_same_unit(const ModelGroup& group, const ModelGroup& more) {
  if (group.flux_unit != more.flux_unit)
    throw DataError("{}: is in {}, and {} in {}: models of one unit are needed", more.planes[0].path,
                    name_of(more.flux_unit), group.planes[0].path, name_of(group.flux_unit));
}

void join(ModelGroup& group, const ModelGroup& more) {
  const std::string &path = more.planes[0].path, &other = group.planes[0].path;
  if (group.n_x != more.n_x || group.n_y != more.n_y ||
      std::abs(group.cell_rad - more.cell_rad) > 1e-9 * group.cell_rad ||
      std::abs(group.centre.ra_rad - more.centre.ra_rad) > 1e-12 ||
      std::abs(group.centre.dec_rad - more.centre.dec_rad) > 1e-12)
    throw DataError("{}: shows another field than {} of the same frequency", path, other);
  for (const ModelGroup::Plane& plane : more.planes) {
    for (const ModelGroup::Plane& known : group.planes)
      if (known.name == plane.name)
        throw DataError("{}: plane {} at {}: {} has it too: give one of them", path, plane.name,
                        format_frequency(more.freq_hz), known.path);
    group.planes.push_back(plane);
  }
}

}  // namespace

std::vector<std::string> ModelGroup::names() const {
  std::vector<std::string> result;
  for (const Plane& plane : planes) result.push_back(plane.name);
  return result;
}

std::vector<ModelGroup> find_models(const std::vector<std::string>& paths) {
  std::vector<ModelGroup> groups;
  for (const std::string& path : paths)
    for (ModelGroup& group : groups_of(path)) {
      if (!groups.empty()) check_same_unit(groups[0], group);
      const auto same = std::find_if(groups.begin(), groups.end(), [&](const ModelGroup& known) {
        return same_part_of_band(known, group);
      });
      same == groups.end() ? groups.push_back(std::move(group)) : join(*same, group);
    }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const ModelGroup& a, const ModelGroup& b) { return a.freq_hz < b.freq_hz; });
  if (groups.size() > 1)
    for (const ModelGroup& group : groups)
      if (!(group.freq_hz > 0))
        throw DataError("{}: no FREQ axis: several models are told apart by their frequencies",
                        group.planes[0].path);
  return groups;
}

Buffer<double, 3> read_model(const ModelGroup& group) {
  Buffer<double, 3> pixels({group.planes.size(), group.n_y, group.n_x});
  std::string path;
  Image image;
  for (std::size_t p = 0; p < group.planes.size(); ++p) {
    const ModelGroup::Plane& plane = group.planes[p];
    if (plane.path != path) image = read_fits_image(path = plane.path);
    const Placement at = placement(path, image);
    if (at.x.n != group.n_x || at.y.n != group.n_y || plane.stokes >= image.pixels.extent(0) ||
        plane.freq >= image.pixels.extent(1))
      throw DataError("{}: changed while it was in use", path);
    for (std::size_t y = 0; y < image.pixels.extent(2); ++y)
      for (std::size_t x = 0; x < image.pixels.extent(3); ++x)
        pixels(p, y + at.y.skip, x + at.x.skip) = image.pixels(plane.stokes, plane.freq, y, x);
  }
  return pixels;
}

ModelChoice choose_model(const std::vector<ModelGroup>& groups, double freq_hz) {
  if (groups.size() == 1) return {};
  // Channels lie half their width from the edge of their group, so rounding there does no harm.
  const auto outside_hz = [&](const ModelGroup& group) {
    return std::max(0.0, std::abs(freq_hz - group.freq_hz) - group.width_hz / 2);
  };
  const auto best =
      std::min_element(groups.begin(), groups.end(), [&](const ModelGroup& a, const ModelGroup& b) {
        const double outside_a = outside_hz(a), outside_b = outside_hz(b);
        if (outside_a != outside_b) return outside_a < outside_b;
        if (a.width_hz != b.width_hz) return a.width_hz < b.width_hz;
        return std::abs(freq_hz - a.freq_hz) < std::abs(freq_hz - b.freq_hz);
      });
  return {static_cast<std::size_t>(best - groups.begin()), outside_hz(*best) == 0};
}

}  // namespace apsyn
