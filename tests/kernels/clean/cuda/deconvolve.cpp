// SPDX-License-Identifier: GPL-3.0-or-later
// Minor cycles with CUDA: the CPU's components at the same places with the same fluxes, and what the model
// explains has left the residual, in float64.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <random>

#include "kernels/clean/deconvolve.h"
#include "libcore/system/device.h"
#include "tests/reference/hogbom.h"
#include "tests/reference/synthetic_array.h"

using namespace apsyn;
using apsyn::reference::PointSource;

BOOST_AUTO_TEST_SUITE(deconvolve)

namespace {

struct Field {
  Buffer<float, 4> dirty, psf;  ///< [group][pol][y][x], [group][1][y][x]
  std::vector<DeconvolutionGroup> groups;
  PlaneShape shape;
};

struct FieldSize {
  std::size_t nx = 200, ny = 160, psf_nx = 400, psf_ny = 320, n_group = 1, n_pol = 1;
  bool extended = false;
};

/// Sources on pixels, apart from each other, polarised and with spectra; an earlier scene's coverage grows
/// with frequency.
Field make_field(const FieldSize& size) {
  Field field;
  field.shape = {size.n_pol, size.ny, size.nx};
  field.dirty.resize({size.n_group, size.n_pol, size.ny, size.nx});
  field.psf.resize({size.n_group, 1, size.psf_ny, size.psf_nx});
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  std::vector<PointSource> sources;
  for (int i = 0; i < 12; ++i)
    sources.push_back({std::floor((0.1 + 0.2 * (i % 4)) * double(size.nx) + 9 * uniform(random)),
                       std::floor((0.15 + 0.3 * double(i / 4)) * double(size.ny) + 9 * uniform(random)),
                       0.2 + uniform(random)});
  sources.push_back({0, double(size.ny - 1), 0.9});  // its PSF leaves the image
  sources[3].flux *= -1;
  if (size.extended)
    for (int i = -12; i <= 12; ++i)
      for (int j = -12; j <= 12; ++j)
        sources.push_back({std::floor(0.72 * double(size.nx)) + i, std::floor(0.5 * double(size.ny)) + j,
                           0.02 * std::exp(-(i * i + j * j) / 50.0)});
  for (std::size_t g = 0; g < size.n_group; ++g) {
    const double x = double(g) / double(std::max<std::size_t>(1, size.n_group - 1));
    field.groups.push_back({1.4e8 + 1e7 * double(g), 1 + 0.3 * double(g)});
    auto coverage = reference::make_coverage(60, 11);
    for (auto& uv : coverage) uv.u *= 0.9 + 0.1 * x, uv.v *= 0.9 + 0.1 * x;
    const auto psf = reference::dirty_image(coverage, {{double(size.psf_nx / 2), double(size.psf_ny / 2), 1}},
                                            size.psf_nx, size.psf_ny);
    std::copy(psf.begin(), psf.end(), field.psf.view()[g][0].begin());
    for (std::size_t p = 0; p < size.n_pol; ++p) {
      auto seen = sources;
      for (std::size_t i = 0; i < seen.size(); ++i)
        seen[i].flux *= (1 + 0.2 * x * (i % 3)) * (p == 0 ? 1 : 0.3 * std::cos(double(i + p)));
      const auto image = reference::dirty_image(coverage, seen, size.nx, size.ny);
      for (std::size_t i = 0; i < image.size(); ++i)
        field.dirty.view()[g][p].data()[i] = static_cast<float>(image[i] + 0.002 * normal(random));
    }
  }
  // pixels without sky
  for (std::size_t g = 0; g < size.n_group; ++g)
    for (std::size_t p = 0; p < size.n_pol; ++p)
      for (std::size_t y = 0; y < 9; ++y)
        for (std::size_t i = 0; i < 11; ++i) field.dirty(g, p, y, size.nx - 1 - i) = NAN;
  return field;
}

struct Result {
  Buffer<float, 4> residual, model;
  std::vector<ModelComponent> components;
  std::vector<CycleReport> cycles;
  double seconds = 0;
};

Result clean(const Field& field, DeconvolutionSettings settings, const Device& device, bool masked) {
  settings.device = device;
  settings.n_threads = 2;
  Result result;
  result.residual.resize(field.dirty.shape());
  result.model.resize(field.dirty.shape());
  std::copy(field.dirty.begin(), field.dirty.end(), result.residual.begin());
  const auto begin = std::chrono::steady_clock::now();
  Deconvolver deconvolver(settings, field.psf, field.groups, field.shape, 4);
  if (masked) {
    Buffer<std::uint8_t, 2> mask({field.shape.ny, field.shape.nx});
    for (std::size_t y = 0; y < field.shape.ny; ++y)
      for (std::size_t x = 0; x < field.shape.nx; ++x) mask(y, x) = x < field.shape.nx * 2 / 3;
    deconvolver.set_mask(mask);
  }
  do result.cycles.push_back(deconvolver.minor_cycle(result.residual, result.model));
  while (result.cycles.back().unfinished && result.cycles.size() < 20);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.components = deconvolver.components();
  return result;
}

/// The largest difference of the residual from dirty image minus model (*) PSF, in float64.
double not_explained(const Field& field, const Result& result) {
  double worst = 0;
  const std::size_t ny = field.shape.ny, nx = field.shape.nx;
  for (std::size_t g = 0; g < field.groups.size(); ++g) {
    const auto psf_plane = field.psf.view()[g][0];
    const reference::HogbomImage psf{
        psf_plane.extent(1), psf_plane.extent(0), {psf_plane.begin(), psf_plane.end()}};
    for (std::size_t p = 0; p < field.shape.n_pol; ++p) {
      const auto dirty = field.dirty.view()[g][p];
      reference::HogbomImage explained{nx, ny, {dirty.begin(), dirty.end()}};
      for (std::size_t y = 0; y < ny; ++y)
        for (std::size_t x = 0; x < nx; ++x)
          if (const double flux = double(result.model(g, p, y, x)); flux != 0)
            reference::subtract(explained, psf, x, y, flux);
      for (std::size_t i = 0; i < explained.pixels.size(); ++i) {
        const auto left = double(result.residual.view()[g][p].data()[i]);
        BOOST_REQUIRE(std::isfinite(left) == std::isfinite(explained.pixels[i]));
        if (std::isfinite(left)) worst = std::max(worst, std::abs(left - explained.pixels[i]));
      }
    }
  }
  return worst;
}

void compare(const char* name, const Field& field, const DeconvolutionSettings& settings,
             bool masked = false) {
  const Result cpu = clean(field, settings, {}, masked),
               gpu = clean(field, settings, {Device::Kind::cuda, 0, "cuda:0"}, masked);
  std::size_t n_cpu = 0, n_gpu = 0;
  for (const CycleReport& cycle : cpu.cycles) n_cpu += cycle.n_components;
  for (const CycleReport& cycle : gpu.cycles) n_gpu += cycle.n_components;
  const auto place = [](const ModelComponent& c) { return std::tuple(c.scale_pixels, c.y, c.x); };
  double worst_flux = 0, highest = 0;
  std::size_t n_elsewhere = 0, i = 0, j = 0;
  while (i < cpu.components.size() || j < gpu.components.size()) {
    const bool take_i = i < cpu.components.size() &&
                        (j == gpu.components.size() || place(cpu.components[i]) <= place(gpu.components[j]));
    const bool take_j = j < gpu.components.size() &&
                        (i == cpu.components.size() || place(gpu.components[j]) <= place(cpu.components[i]));
    if (take_i && take_j) {
      for (std::size_t p = 0; p < cpu.components[i].flux_jy.size(); ++p) {
        highest = std::max(highest, std::abs(cpu.components[i].flux_jy[p]));
        worst_flux =
            std::max(worst_flux, std::abs(cpu.components[i].flux_jy[p] - gpu.components[j].flux_jy[p]));
      }
    } else if (n_elsewhere++ == 0) {
      const ModelComponent& c = take_i ? cpu.components[i] : gpu.components[j];
      BOOST_TEST_MESSAGE(name << ": only on the " << (take_i ? "CPU" : "GPU") << ": x " << c.x << " y " << c.y
                              << " scale " << c.scale_pixels << " flux " << c.flux_jy[0]);
    }
    i += take_i, j += take_j;
  }
  double worst_residual = 0;
  for (std::size_t k = 0; k < cpu.residual.size(); ++k)
    if (std::isfinite(cpu.residual.data()[k]))
      worst_residual =
          std::max(worst_residual, std::abs(double(cpu.residual.data()[k]) - double(gpu.residual.data()[k])));
  const double left = not_explained(field, gpu), left_cpu = not_explained(field, cpu);
  BOOST_TEST_MESSAGE(name << ": " << n_cpu << " and " << n_gpu << " components at " << cpu.components.size()
                          << " and " << gpu.components.size() << " places, " << n_elsewhere
                          << " at others, fluxes off by " << worst_flux << " of " << highest
                          << ", residuals by " << worst_residual << "; not explained " << left << " (CPU "
                          << left_cpu << "); " << cpu.seconds << " s and " << gpu.seconds << " s");
  BOOST_TEST(n_cpu > 2u, name);
  BOOST_TEST(n_gpu == n_cpu, name);
  BOOST_TEST(n_elsewhere == 0u, name);
  // measured: 3.2e-7 and 1.3e-6
  BOOST_TEST(worst_flux <= 1e-5 * highest, name);
  BOOST_TEST(worst_residual <= 1e-5 * highest, name);
  // beyond the image's edge, the model has nothing of wide components that the residual had
  BOOST_TEST(left <= left_cpu + 3e-6 * std::max(1.0, highest), name);
  BOOST_TEST(gpu.cycles.size() == cpu.cycles.size(), name);
  BOOST_TEST((gpu.cycles.back().sets.back().stop == cpu.cycles.back().sets.back().stop), name);
}

DeconvolutionSettings settings_of(CleanAlgorithm algorithm) {
  DeconvolutionSettings settings;
  settings.algorithm = algorithm;
  settings.max_iterations = 5000;
  settings.threshold_jy = 0.02;
  settings.join_channels = true;
  return settings;
}

}  // namespace

// Every kernel once, little of each: what a sanitizer can follow in seconds.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  FieldSize size;
  size.nx = 72, size.ny = 60, size.psf_nx = 144, size.psf_ny = 120;
  auto settings = [](CleanAlgorithm algorithm) {
    DeconvolutionSettings few = settings_of(algorithm);
    few.max_iterations = 24;
    return few;
  };
  const Field one = make_field(size);
  compare("small, hogbom", one, settings(CleanAlgorithm::hogbom));
  compare("small, clark, masked", one, settings(CleanAlgorithm::clark), true);
  size.n_group = 2, size.n_pol = 2;
  const Field joined = make_field(size);
  DeconvolutionSettings several = settings(CleanAlgorithm::clark);
  several.join_polarizations = true;
  several.spectral_fit = SpectralFit::polynomial, several.n_spectral_terms = 2;
  compare("small, joined", joined, several);
  several = settings(CleanAlgorithm::multiscale);
  several.scales_pixels = {0, 8};
  several.spectral_fit = SpectralFit::logarithmic, several.n_spectral_terms = 2;
  compare("small, multi-scale", joined, several);
}

BOOST_AUTO_TEST_CASE(one_plane_has_the_components_of_the_cpu) {
  const Field field = make_field({});
  compare("hogbom", field, settings_of(CleanAlgorithm::hogbom));
  compare("clark", field, settings_of(CleanAlgorithm::clark));
  compare("clark, masked", field, settings_of(CleanAlgorithm::clark), true);
  DeconvolutionSettings settings = settings_of(CleanAlgorithm::hogbom);
  settings.negative = NegativeComponents::skip;
  compare("hogbom, positive", field, settings);
  settings.negative = NegativeComponents::stop;
  compare("hogbom, until negative", field, settings);
  settings = settings_of(CleanAlgorithm::clark);
  settings.local_rms_beams = 12, settings.threshold_jy = 0.05;
  compare("clark, weighted by noise", field, settings);
  settings.max_iterations = 77;
  compare("clark, 77 iterations", field, settings);
  settings = settings_of(CleanAlgorithm::clark);
  settings.cycle_gain = 0.7;
  compare("clark, in cycles", field, settings);
}

// The PSF as small as the image, or smaller than it, or of odd size.
BOOST_AUTO_TEST_CASE(psfs_of_any_size_give_the_components_of_the_cpu) {
  for (const auto& [psf_nx, psf_ny] : {std::array<std::size_t, 2>{200, 160}, {61, 45}, {399, 900}})
    for (const CleanAlgorithm algorithm : {CleanAlgorithm::hogbom, CleanAlgorithm::clark}) {
      FieldSize size;
      size.psf_nx = psf_nx, size.psf_ny = psf_ny;
      DeconvolutionSettings settings = settings_of(algorithm);
      settings.threshold_jy = 0.1;  // a small PSF leaves sidelobes
      compare("PSF size", make_field(size), settings);
    }
}

BOOST_AUTO_TEST_CASE(joined_planes_have_the_components_of_the_cpu) {
  FieldSize size;
  size.n_group = 3;
  Field field = make_field(size);
  DeconvolutionSettings settings = settings_of(CleanAlgorithm::clark);
  compare("three groups", field, settings);
  settings.spectral_fit = SpectralFit::polynomial, settings.n_spectral_terms = 2;
  compare("three groups, polynomial", field, settings);
  settings.algorithm = CleanAlgorithm::hogbom;
  compare("three groups, polynomial, hogbom", field, settings);
  settings.algorithm = CleanAlgorithm::clark;
  settings.spectral_fit = SpectralFit::logarithmic;
  settings.threshold_jy = 0.1;
  compare("three groups, logarithmic", field, settings);
  settings = settings_of(CleanAlgorithm::clark);
  settings.n_deconvolution_channels = 2;
  compare("three groups in two", field, settings);
  size.n_group = 2, size.n_pol = 4;
  field = make_field(size);
  settings = settings_of(CleanAlgorithm::clark);
  settings.join_polarizations = true;
  compare("two groups of four polarisations", field, settings);
  settings.join_polarizations = false, settings.join_channels = false, settings.threshold_jy = 0.05;
  compare("eight planes one by one", field, settings);
}

BOOST_AUTO_TEST_CASE(scales_give_the_components_of_the_cpu) {
  FieldSize size;
  size.extended = true;
  Field field = make_field(size);
  DeconvolutionSettings settings = settings_of(CleanAlgorithm::multiscale);
  settings.scales_pixels = {0, 10, 20};
  settings.threshold_jy = 0.05;
  compare("multi-scale", field, settings);
  compare("multi-scale, masked", field, settings, true);
  settings.threshold_jy = 0, settings.auto_threshold_sigma = 5, settings.auto_mask_sigma = 15;
  compare("multi-scale, automatic mask", field, settings);
  size.n_group = 2;
  field = make_field(size);
  settings = settings_of(CleanAlgorithm::multiscale);
  settings.scales_pixels = {0, 10, 20};
  settings.threshold_jy = 0.05;
  settings.spectral_fit = SpectralFit::polynomial, settings.n_spectral_terms = 2;
  compare("multi-scale, two groups", field, settings);
}

BOOST_AUTO_TEST_SUITE_END()
