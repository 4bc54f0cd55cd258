// SPDX-License-Identifier: GPL-3.0-or-later
// What the tests of degridding have in common.
#pragma once

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "kernels/idg/idg.h"
#include "tests/kernels/idg/grid_place.h"
#include "tests/reference/dft_image.h"
#include "tests/reference/test_device.h"
#include "tests/support/image_pixels.h"

namespace apsyn::reference {

using support::pixel_l, support::pixel_m;
using Complex = std::complex<double>;
constexpr double pi = 3.14159265358979323846;
constexpr double asec = 4.84813681109536e-6;

/// An array of random stations on rolling ground, observed low in the sky so
/// that w is large.
struct Coverage {
  Buffer<double, 2> uvw_m;
  Buffer<double, 1> wavenumber;
  double max_w_lambda = 0;

  std::size_t n_row() const { return uvw_m.extent(0); }
  std::size_t n_chan() const { return wavenumber.size(); }
  GridBlock block() const { return {uvw_m, {}, wavenumber, {}, {}, {}, {}}; }
};

inline Coverage cover(std::size_t n_row, std::size_t n_chan, double radius_m, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> flat(0, 1);
  Coverage c;
  c.uvw_m.resize({n_row, 3});
  c.wavenumber.resize({n_chan});
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    c.wavenumber(chan) = (150e6 + 0.32e6 * static_cast<double>(chan)) / 299792458.0;
  for (std::size_t r = 0; r < n_row; ++r) {
    const double length = radius_m * std::pow(flat(random), 2), angle = 2 * pi * flat(random);
    const double east = length * std::cos(angle), north = length * std::sin(angle), up = 2 * gauss(random);
    c.uvw_m(r, 0) = east;
    c.uvw_m(r, 1) = north * std::cos(0.9) - up * std::sin(0.9);
    c.uvw_m(r, 2) = north * std::sin(0.9) + up * std::cos(0.9);
    c.max_w_lambda = std::max(c.max_w_lambda, std::abs(c.uvw_m(r, 2) * c.wavenumber(n_chan - 1)));
  }
  return c;
}

/// Pixels of random flux over the whole image, in its corners too; NaN beyond
/// the horizon.
inline Buffer<double, 3> model_image(const ImageGeometry& g, std::size_t n_planes, std::size_t n_pixels,
                                     unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> flux(-1, 1);
  Buffer<double, 3> image({n_planes, g.n_y, g.n_x});
  for (std::size_t plane = 0; plane < n_planes; ++plane) {
    for (std::size_t i = 0; i < n_pixels; ++i)
      image(plane, random() % g.n_y, random() % g.n_x) = flux(random);
    for (std::size_t y : {std::size_t{0}, g.n_y - 1})
      for (std::size_t x : {std::size_t{0}, g.n_x - 1}) image(plane, y, x) = flux(random);
    for (std::size_t y = 0; y < g.n_y; ++y)
      for (std::size_t x = 0; x < g.n_x; ++x)
        if (std::hypot(pixel_l(g, x), pixel_m(g, y)) >= 1) image(plane, y, x) = NAN;
  }
  return image;
}

inline std::vector<DftSource> sources_of(const View<const double, 2>& image, const ImageGeometry& g) {
  std::vector<DftSource> sources;
  for (std::size_t y = 0; y < g.n_y; ++y)
    for (std::size_t x = 0; x < g.n_x; ++x)
      if (std::isfinite(image(y, x)) && image(y, x) != 0)
        sources.push_back({pixel_l(g, x), pixel_m(g, y), image(y, x)});
  return sources;
}

template <class Out>
Buffer<std::complex<Out>, 3> predict(const Coverage& c, const IdgPlan& plan, const Buffer<double, 3>& model,
                                     unsigned threads, std::size_t layers_per_pass = 1u << 20) {
  auto degridder = make_degridder(
      test_device(), plan,
      {.n_data_planes = model.extent(0), .n_threads = threads, .grid_memory = test_grid_memory()});
  degridder->set_model(model);
  Buffer<std::complex<Out>, 3> data({c.n_row(), c.n_chan(), model.extent(0)});
  for (std::size_t first = 0; first < plan.n_layers; first += layers_per_pass) {
    degridder->begin_pass({first, std::min(layers_per_pass, plan.n_layers - first)});
    degridder->degrid(c.block(), data);
  }
  return data;
}

/// Visibilities that have nothing to do with a model.
inline Buffer<std::complex<float>, 3> noise_for(const Coverage& c, std::size_t n_planes, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> gauss;
  Buffer<std::complex<float>, 3> y({c.n_row(), c.n_chan(), n_planes});
  for (auto& value : y) value = {gauss(random), gauss(random)};
  return y;
}

/// A^H y by the CPU's gridder, all weights being 1.
inline Buffer<double, 3> adjoint_images(const IdgPlan& plan, GridBlock block,
                                        const Buffer<std::complex<float>, 3>& y,
                                        const IdgSetup& setup = {.n_threads = 2}) {
  Buffer<float, 3> weight(y.shape());
  weight.fill(1);
  block.data = y;
  block.weight = weight;
  const auto gridder = make_gridder({}, plan, setup);
  gridder->begin_pass({0, plan.n_layers});
  gridder->grid(block);
  gridder->end_pass();
  return gridder->take_images();
}

/// |<A x, y> - <x, A^H y>| / (|A x| |y|): at most how far A and A^H are from the exact ones, relative to
/// these, and much less, as errors of many visibilities cancel.
inline double adjoint_difference(const Buffer<double, 3>& x, const Buffer<Complex, 3>& ax,
                                 const Buffer<std::complex<float>, 3>& y, const Buffer<double, 3>& ahy) {
  double left = 0, right = 0, norm_ax = 0, norm_y = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    left += std::real(ax.data()[i] * std::conj(Complex(y.data()[i])));
    norm_ax += std::norm(ax.data()[i]);
    norm_y += std::norm(Complex(y.data()[i]));
  }
  for (std::size_t i = 0; i < x.size(); ++i) right += x.data()[i] * ahy.data()[i];
  return std::abs(left - right) / std::sqrt(norm_ax * norm_y);
}

}  // namespace apsyn::reference
