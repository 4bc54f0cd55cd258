// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/clean_image.h"

#include <algorithm>
#include <cmath>

#include "libcore/core/error.h"
#include "libcore/core/log.h"

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

std::string describe_stop(const PlaneReport& report) {
  switch (report.stop) {
    case CleanStop::iterations:
      return "number of iterations reached";
    case CleanStop::threshold:
      return fmt::format("threshold of {:.4g} Jy reached", report.threshold_jy);
    case CleanStop::noise:
      return fmt::format("noise threshold of {:.4g} Jy reached", report.threshold_jy);
    case CleanStop::negative:
      return "the peak is negative";
    case CleanStop::divergence:
      return "diverging: the peak has doubled";
    case CleanStop::nothing_left:
      break;
  }
  return "nothing left to clean";
}

void prepare_psf(Image& psf, const std::string& name) {
  for (double& value : psf.pixels)
    if (!std::isfinite(value)) value = 0;
  const std::size_t cy = psf.pixels.extent(2) / 2, cx = psf.pixels.extent(3) / 2;
  for (std::size_t stokes = 0; stokes < psf.pixels.extent(0); ++stokes)
    for (std::size_t freq = 0; freq < psf.pixels.extent(1); ++freq) {
      const View<double, 2> plane = plane_of(psf, stokes, freq);
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

void check_has_data(const Image& image, const std::string& image_name) {
  if (std::none_of(image.pixels.begin(), image.pixels.end(),
                   [](double value) { return std::isfinite(value); }))
    throw FailureError("{}: no usable data: every pixel is blank", image_name);
}

Image empty_model(const Image& image) {
  Image model;
  model.info = image.info;
  model.info.unit = "JY/PIXEL";
  model.info.beam.reset();
  model.pixels.resize(image.pixels.shape());
  return model;
}

std::vector<PlaneReport> clean_planes(Image& residual, Image& model, const Image& psf, const Image* mask,
                                      const CleanOptions& options) {
  std::vector<PlaneReport> reports;
  const auto& shape = residual.pixels.shape();
  Buffer<std::uint8_t, 2> searchable({shape[2], shape[3]});
  for (std::size_t stokes = 0; stokes < shape[0]; ++stokes)
    for (std::size_t freq = 0; freq < shape[1]; ++freq) {
      searchable.fill(1);
      if (mask != nullptr) {
        const View<const double, 2> allowed = plane_of(*mask, stokes, freq);
        for (std::size_t i = 0; i < allowed.size(); ++i)
          searchable.data()[i] = std::isfinite(allowed.data()[i]) && allowed.data()[i] != 0;
      }
      const View<double, 2> plane = plane_of(residual, stokes, freq),
                            components = plane_of(model, stokes, freq);
      CleanResult result = clean_hogbom(plane, plane_of(psf, stokes, freq), searchable, options);
      for (const CleanComponent& component : result.components)
        components(component.y, component.x) += component.flux_jy;
      PlaneReport report;
      report.label = residual.info.stokes[stokes];
      if (shape[1] > 1) report.label += fmt::format(", channel {}", freq);
      report.n_components = result.components.size();
      report.stop = result.stop;
      report.peak_jy = result.peak_jy;
      report.threshold_jy = result.threshold_jy;
      report.noise_jy = robust_sigma(plane);
      for (const double flux : components)
        if (std::isfinite(flux)) report.model_flux_jy += flux;
      reports.push_back(report);
    }
  return reports;
}

RestoringBeam fit_largest_beam(const Image& psf) {
  RestoringBeam largest;
  for (std::size_t stokes = 0; stokes < psf.pixels.extent(0); ++stokes)
    for (std::size_t freq = 0; freq < psf.pixels.extent(1); ++freq) {
      const RestoringBeam beam = fit_beam(plane_of(psf, stokes, freq), cell_of(psf));
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
  residual.info.unit = "JY/BEAM";
}

}  // namespace apsyn
