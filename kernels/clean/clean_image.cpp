// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/clean_image.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"

namespace apsyn {
namespace {

CellSize cell_of(const Image& image) {
  return {image.info.cell_rad, image.info.cell_y_rad != 0 ? image.info.cell_y_rad : image.info.cell_rad};
}

bool same(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::abs(a);
}

/// The plane of `image` that belongs to (stokes, freq): axes of length 1 serve all.
template <class AnyImage>
auto plane_of(AnyImage& image, std::size_t stokes, std::size_t freq) {
  return image.pixels
      .view()[std::min(stokes, image.pixels.extent(0) - 1)][std::min(freq, image.pixels.extent(1) - 1)];
}

void check_planes(const Image& image, const std::string& image_name, const Image& other,
                  const std::string& other_name) {
  constexpr const char* kAxes[] = {"Stokes", "frequency"};
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (const std::size_t n = other.pixels.extent(axis); n != 1 && n != image.pixels.extent(axis))
      throw DataError("{}: {} {} planes: {} has {}", other_name, n, kAxes[axis], image_name,
                      image.pixels.extent(axis));
  const CellSize a = cell_of(image), b = cell_of(other);
  if (!same(a.x_rad, b.x_rad) || !same(a.y_rad, b.y_rad))
    throw DataError("{}: cells of {:.6g} x {:.6g} rad: {} has {:.6g} x {:.6g}", other_name, b.x_rad, b.y_rad,
                    image_name, a.x_rad, a.y_rad);
}

}  // namespace

bool has_data(const Image& image, std::size_t freq) {
  for (std::size_t stokes = 0; stokes < image.pixels.extent(0); ++stokes) {
    const View<const double, 2> plane = plane_of(image, stokes, freq);
    if (std::any_of(plane.begin(), plane.end(), [](double value) { return std::isfinite(value); }))
      return true;
  }
  return false;
}

void prepare_psf(Image& psf, const std::string& name, const Image& image) {
  for (double& value : psf.pixels)
    if (!std::isfinite(value)) value = 0;
  const std::size_t cy = psf.pixels.extent(2) / 2, cx = psf.pixels.extent(3) / 2;
  for (std::size_t stokes = 0; stokes < psf.pixels.extent(0); ++stokes)
    for (std::size_t freq = 0; freq < psf.pixels.extent(1); ++freq) {
      const View<double, 2> plane = plane_of(psf, stokes, freq);
      if (psf.pixels.extent(1) > 1 && !has_data(image, freq)) {
        std::fill(plane.begin(), plane.end(), 0.0);
        continue;
      }
      const double center = plane(cy, cx), highest = *std::max_element(plane.begin(), plane.end());
      if (!(center > 0) || highest > center * (1 + 1e-5))
        throw DataError("{}: {:.6g} at pixel ({}, {}) and a maximum of {:.6g}: a PSF has its peak there",
                        name, center, cx + 1, cy + 1, highest);
      if (std::abs(center - 1) > 1e-3)
        log_warning("{}: a peak of {:.6g}: divided by it, so that fluxes are in units of the image", name,
                    center);
      for (double& value : plane) value /= center;
    }
}

void check_same_sky(const Image& image, const std::string& image_name, const Image& other,
                    const std::string& other_name) {
  if (image.pixels.extent(2) != other.pixels.extent(2) || image.pixels.extent(3) != other.pixels.extent(3))
    throw DataError("{}: {} x {} pixels: {} has {} x {}", other_name, other.pixels.extent(3),
                    other.pixels.extent(2), image_name, image.pixels.extent(3), image.pixels.extent(2));
  check_planes(image, image_name, other, other_name);
}

void check_psf_fits(const Image& image, const std::string& image_name, const Image& psf,
                    const std::string& psf_name) {
  check_planes(image, image_name, psf, psf_name);
}

Image empty_model(const Image& image) {
  Image model;
  model.info = image.info;
  model.info.unit = per_pixel(unit_of_image(image.info.unit));
  model.info.beam.reset();
  model.pixels.resize(image.pixels.shape());
  return model;
}

Buffer<float, 4> stack_planes(const std::vector<Image>& images, std::size_t n_freq) {
  const auto& shape = images[0].pixels.shape();
  Buffer<float, 4> stack;
  stack.resize_for_overwrite({images.size() * n_freq, shape[0], shape[2], shape[3]});
  for (std::size_t part = 0; part < images.size(); ++part)
    for (std::size_t freq = 0; freq < n_freq; ++freq)
      for (std::size_t stokes = 0; stokes < shape[0]; ++stokes) {
        const View<const double, 2> from = plane_of(images[part], stokes, freq);
        std::transform(from.begin(), from.end(), stack.view()[part * n_freq + freq][stokes].begin(),
                       [](double value) { return static_cast<float>(value); });
      }
  return stack;
}

void unstack_planes(View<const float, 4> stack, std::vector<Image>& images) {
  const std::size_t n_freq = stack.extent(0) / images.size();
  for (std::size_t part = 0; part < images.size(); ++part)
    for (std::size_t freq = 0; freq < n_freq; ++freq)
      for (std::size_t stokes = 0; stokes < stack.extent(1); ++stokes) {
        const View<const float, 2> from = stack[part * n_freq + freq][stokes];
        std::copy(from.begin(), from.end(), plane_of(images[part], stokes, freq).begin());
      }
}

std::vector<DeconvolutionGroup> groups_of(const std::vector<Image>& images) {
  std::vector<DeconvolutionGroup> groups;
  for (const Image& image : images) {
    double weight = 1;
    for (const auto& [key, value] : image.info.keywords)
      if (key == "WSCIMGWG") weight = value;
    for (std::size_t freq = 0; freq < image.pixels.extent(1); ++freq)
      groups.push_back({image.info.freq_hz + static_cast<double>(freq) * image.info.bandwidth_hz,
                        has_data(image, freq) ? weight : 0});
  }
  return groups;
}

Image mean_image(const std::vector<Image>& images, const std::vector<DeconvolutionGroup>& groups) {
  Image mean;
  mean.info = images[0].info;
  const auto& shape = images[0].pixels.shape();
  mean.pixels.resize({shape[0], 1, shape[2], shape[3]});
  const std::size_t n_freq = groups.size() / images.size();
  double weight = 0, low_hz = INFINITY, high_hz = -INFINITY;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Image& image = images[g / n_freq];
    if (groups[g].weight == 0) continue;
    const double half_hz = std::abs(image.info.bandwidth_hz) / 2;
    low_hz = std::min(low_hz, groups[g].freq_hz - half_hz);
    high_hz = std::max(high_hz, groups[g].freq_hz + half_hz);
    weight += groups[g].weight;
    for (std::size_t stokes = 0; stokes < shape[0]; ++stokes) {
      const View<const double, 2> from = plane_of(image, stokes, g % n_freq);
      double* to = &mean.pixels(stokes, 0, 0, 0);
      for (std::size_t i = 0; i < from.size(); ++i) to[i] += groups[g].weight * from.data()[i];
    }
  }
  for (double& value : mean.pixels) value /= weight;
  mean.info.freq_hz = (low_hz + high_hz) / 2;
  mean.info.bandwidth_hz = high_hz - low_hz;
  for (auto& [key, value] : mean.info.keywords)
    if (key == "WSCIMGWG") value = weight;
  return mean;
}

Buffer<std::uint8_t, 2> allowed_by(const Image& mask) {
  Buffer<std::uint8_t, 2> allowed({mask.pixels.extent(2), mask.pixels.extent(3)});
  for (std::size_t i = 0; i < mask.pixels.size(); ++i)
    if (const double value = mask.pixels.data()[i]; std::isfinite(value) && value != 0)
      allowed.data()[i % allowed.size()] = 1;
  return allowed;
}

RestoringBeam circular(const RestoringBeam& beam) {
  return {beam.major_rad, beam.major_rad, 0};
}

RestoringBeam fit_largest_beam(const Image& psf) {
  RestoringBeam largest;
  for (std::size_t stokes = 0; stokes < psf.pixels.extent(0); ++stokes)
    for (std::size_t freq = 0; freq < psf.pixels.extent(1); ++freq) {
      const View<const double, 2> plane = plane_of(psf, stokes, freq);
      if (std::all_of(plane.begin(), plane.end(), [](double value) { return value == 0; })) continue;
      const RestoringBeam beam = fit_beam(plane, cell_of(psf));
      if (beam.major_rad * beam.minor_rad > largest.major_rad * largest.minor_rad) largest = beam;
    }
  return largest;
}

void restore_planes(Image& residual, const Image& model, const RestoringBeam& beam, unsigned n_threads) {
  for (std::size_t stokes = 0; stokes < residual.pixels.extent(0); ++stokes)
    for (std::size_t freq = 0; freq < residual.pixels.extent(1); ++freq)
      restore(plane_of(residual, stokes, freq), plane_of(model, stokes, freq), beam, cell_of(residual),
              n_threads);
  residual.info.beam = beam;
  residual.info.unit = per_beam(unit_of_image(residual.info.unit));
}

}  // namespace apsyn
