// SPDX-License-Identifier: GPL-3.0-or-later
// Residuals of visibilities that stay on a GPU: against direct sums in float64, against what a gridder and a
// degridder make of the same blocks when these travel, and from one model to the next.
#include "kernels/idg/residual_imager.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "libcore/system/device.h"
#include "tests/reference/dft_image.h"
#include "tests/support/array_rows.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(residual_imager)

namespace {

constexpr double kCell = 2e-4;

double l_of(std::size_t x, std::size_t n_x) {
  return (static_cast<double>(n_x / 2) - static_cast<double>(x)) * kCell;
}
double m_of(std::size_t y, std::size_t n_y) {
  return (static_cast<double>(y) - static_cast<double>(n_y / 2)) * kCell;
}

struct Sizes {
  std::size_t n_station = 12, n_time = 40, n_chan = 16, n_plane = 2, n_x = 400, n_y = 384;
  bool with_path = false;
  Precision precision = Precision::single;
};

/// Noise with weights of its own in every plane, in blocks.
struct Observation {
  Sizes sizes;
  ArrayRows rows;
  Buffer<std::complex<float>, 3> data;
  Buffer<float, 3> weight;
  Buffer<double, 1> path_m;
  std::vector<double> weight_sum;
  IdgPlan plan;
  const Device device{Device::Kind::cuda, 0, "cuda:0"};

  explicit Observation(const Sizes& wanted)
      : sizes(wanted), rows(observe_array(wanted.n_station, wanted.n_time, wanted.n_chan)) {
    const std::size_t n_row = rows.uvw_m.extent(0);
    data.resize({n_row, sizes.n_chan, sizes.n_plane});
    weight.resize(data.shape());
    weight_sum.assign(sizes.n_plane, 0);
    std::mt19937_64 random(11);
    std::normal_distribution<float> normal;
    for (auto& value : data) value = {normal(random), normal(random)};
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const std::size_t plane = i % sizes.n_plane;
      const float own = rows.weight.data()[i / sizes.n_plane];
      weight.data()[i] = own * (1 + static_cast<float>(plane) / 2);
      weight_sum[plane] += static_cast<double>(weight.data()[i]);
    }
    if (sizes.with_path) {
      path_m.resize({n_row});
      for (double& path : path_m) path = static_cast<double>(normal(random));
    }
    plan = make_idg_plan({sizes.n_x, sizes.n_y, kCell}, {.kernel_padding = 12, .precision = sizes.precision},
                         longest_w(rows), 1e5);
  }

  GridBlock block(std::size_t part, std::size_t n_parts) const {
    GridBlock all = rows.block(false);
    all.data = data;
    all.weight = weight;
    all.path_m = path_m;
    const std::size_t n_row = rows.uvw_m.extent(0), first = n_row * part / n_parts;
    return rows_of(all, first, n_row * (part + 1) / n_parts - first);
  }

  std::unique_ptr<ResidualImager> imager(std::size_t n_parts) const {
    auto result = make_residual_imager(device, plan, sizes.n_plane, 2);
    for (std::size_t part = 0; part < n_parts; ++part) result->add(block(part, n_parts));
    result->reserve();
    return result;
  }
  Buffer<float, 3> residual(ResidualImager& of, const Buffer<float, 3>& model) const {
    Buffer<float, 3> image({sizes.n_plane, sizes.n_y, sizes.n_x});
    image.fill(-1e30f);
    of.make(model, weight_sum, image);
    return image;
  }

  Buffer<float, 3> model(unsigned seed) const {
    Buffer<float, 3> pixels({sizes.n_plane, sizes.n_y, sizes.n_x});
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    for (std::size_t plane = 0; plane < sizes.n_plane; ++plane)
      for (int i = 0; i < 30; ++i) pixels(plane, random() % sizes.n_y, random() % sizes.n_x) = normal(random);
    pixels(0, 3, 5) = NAN;
    return pixels;
  }

  /// Of some pixels of a plane, by the definition.
  std::vector<double> truth(const Buffer<float, 3>& model, std::size_t plane,
                            const std::vector<reference::DftPixel>& pixels) const {
    std::vector<reference::DftSource> sources;
    for (std::size_t y = 0; y < sizes.n_y; ++y)
      for (std::size_t x = 0; x < sizes.n_x; ++x)
        if (const double flux = model(plane, y, x); flux != 0 && !std::isnan(flux))
          sources.push_back({l_of(x, sizes.n_x), m_of(y, sizes.n_y), flux});
    std::vector<reference::DftVisibility> left;
    for (std::size_t row = 0; row < rows.uvw_m.extent(0); ++row)
      for (std::size_t c = 0; c < sizes.n_chan; ++c) {
        const double k = rows.wavenumber(c), own = weight(row, c, plane);
        if (own == 0) continue;
        const double u = rows.uvw_m(row, 0) * k, v = rows.uvw_m(row, 1) * k, w = rows.uvw_m(row, 2) * k;
        const double turn = 2 * M_PI * (path_m.size() == 0 ? 0 : path_m(row) * k);
        const std::complex<double> measured(data(row, c, plane));
        left.push_back(
            {u, v, w,
             own * (measured * std::polar(1.0, -turn) - reference::dft_visibility(sources, u, v, w))});
      }
    std::vector<double> image = reference::dft_image(left, pixels);
    for (double& pixel : image) pixel /= weight_sum[plane];
    return image;
  }
};

/// RMS of the error over 60 pixels of each plane, relative to their RMS.
double error_against_truth(const Observation& of, const Buffer<float, 3>& model,
                           const Buffer<float, 3>& residual) {
  std::mt19937_64 random(3);
  double error = 0, power = 0;
  for (std::size_t plane = 0; plane < of.sizes.n_plane; ++plane) {
    std::vector<reference::DftPixel> pixels;
    std::vector<double> made;
    for (int i = 0; i < 60; ++i) {
      const std::size_t x = random() % of.sizes.n_x, y = random() % of.sizes.n_y;
      pixels.push_back({l_of(x, of.sizes.n_x), m_of(y, of.sizes.n_y)});
      made.push_back(static_cast<double>(residual(plane, y, x)));
    }
    const std::vector<double> wanted = of.truth(model, plane, pixels);
    for (std::size_t i = 0; i < made.size(); ++i) {
      error += (made[i] - wanted[i]) * (made[i] - wanted[i]);
      power += wanted[i] * wanted[i];
    }
  }
  return std::sqrt(error / power);
}

/// The same by a gridder and a degridder between which visibilities travel.
Buffer<float, 3> streamed(const Observation& of, const Buffer<float, 3>& model) {
  const IdgSetup setup{.n_data_planes = of.sizes.n_plane, .n_threads = 2};
  const LayerRange all{0, of.plan.n_layers};
  auto degridder = make_degridder(of.device, of.plan, setup);
  Buffer<double, 3> negative(model.shape());
  for (std::size_t i = 0; i < model.size(); ++i) negative.data()[i] = -static_cast<double>(model.data()[i]);
  degridder->set_model(negative);
  degridder->begin_pass(all);
  Buffer<std::complex<float>, 3> left(of.data.shape());
  std::copy(of.data.begin(), of.data.end(), left.begin());
  GridBlock block = of.block(0, 1);
  block.data = {};
  degridder->degrid(block, left.view());
  auto gridder = make_gridder(of.device, of.plan, setup);
  gridder->begin_pass(all);
  block.data = left;
  gridder->grid(block);
  gridder->end_pass();
  const Buffer<double, 3> sums = gridder->take_images();
  Buffer<float, 3> image(model.shape());
  const std::size_t n_pixel = of.sizes.n_y * of.sizes.n_x;
  for (std::size_t i = 0; i < image.size(); ++i)
    image.data()[i] = static_cast<float>(sums.data()[i] / of.weight_sum[i / n_pixel]);
  return image;
}

double relative_difference(const Buffer<float, 3>& a, const Buffer<float, 3>& b) {
  double difference = 0, power = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a.data()[i], y = b.data()[i];
    difference += (x - y) * (x - y);
    power += y * y;
  }
  return std::sqrt(difference / power);
}

bool same_bytes(const Buffer<float, 3>& a, const Buffer<float, 3>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(residuals_are_direct_sums_of_what_the_model_leaves) {
  for (const bool with_path : {false, true})
    for (const std::size_t n_plane : {1u, 2u, 4u, 5u}) {
      Sizes sizes;
      sizes.n_plane = n_plane;
      sizes.with_path = with_path;
      const Observation of(sizes);
      BOOST_REQUIRE_GT(of.plan.n_layers, 1u);
      const auto imager = of.imager(3);
      const auto model = of.model(1);
      const double error = error_against_truth(of, model, of.residual(*imager, model));
      BOOST_TEST_MESSAGE(n_plane << " planes" << (with_path ? ", with paths" : "") << ": error " << error);
      BOOST_CHECK_LT(error, 3e-6);  // measured 4.9e-7 to 1.0e-6 on an H100
    }
}

BOOST_AUTO_TEST_CASE(residuals_in_double_precision_are_good_to_the_rounding_of_visibilities) {
  Sizes sizes;
  sizes.precision = Precision::double_;
  const Observation of(sizes);
  const auto imager = of.imager(2);
  const auto model = of.model(1);
  const double error = error_against_truth(of, model, of.residual(*imager, model));
  BOOST_TEST_MESSAGE("error " << error);
  BOOST_CHECK_LT(error, 1e-7);  // measured 3.3e-8
}

BOOST_AUTO_TEST_CASE(visibilities_that_stay_make_the_residuals_of_those_that_travel) {
  const Observation of({});
  const auto imager = of.imager(3);
  for (const unsigned seed : {1u, 2u}) {
    const auto model = of.model(seed);
    const double difference = relative_difference(of.residual(*imager, model), streamed(of, model));
    BOOST_TEST_MESSAGE("difference " << difference);
    BOOST_CHECK_LT(difference, 3e-6);  // measured 7.6e-7 and 8.3e-7
  }
}

// Whatever was subtracted before: rounding errors of cycles do not add up.
BOOST_AUTO_TEST_CASE(a_residual_depends_on_its_own_model_alone) {
  const Observation of({});
  const auto imager = of.imager(3), fresh = of.imager(3);
  const auto first = of.residual(*imager, of.model(1));
  BOOST_CHECK(!same_bytes(first, of.residual(*imager, of.model(2))));
  BOOST_CHECK(same_bytes(first, of.residual(*imager, of.model(1))));
  BOOST_CHECK(same_bytes(first, of.residual(*fresh, of.model(1))));
}

BOOST_AUTO_TEST_CASE(an_empty_model_leaves_the_dirty_image_and_no_visibilities_none) {
  Sizes sizes;
  const Observation of(sizes);
  const auto imager = of.imager(1);
  const Buffer<float, 3> nothing({sizes.n_plane, sizes.n_y, sizes.n_x});
  BOOST_CHECK_LT(error_against_truth(of, nothing, of.residual(*imager, nothing)), 1e-5);
  const auto without = make_residual_imager(of.device, of.plan, sizes.n_plane, 2);
  without->reserve();
  for (const float pixel : of.residual(*without, of.model(1))) BOOST_REQUIRE_EQUAL(pixel, 0);
}

BOOST_AUTO_TEST_CASE(the_psf_is_the_image_of_ones_with_the_weights_of_the_first_plane) {
  for (const bool with_path : {false, true}) {
    Sizes sizes;
    sizes.with_path = with_path;  // turns data, not the PSF
    Observation of(sizes);
    const auto imager = of.imager(3);
    of.residual(*imager, of.model(1));  // leaves nothing behind
    Buffer<float, 2> psf({sizes.n_y, sizes.n_x});
    psf.fill(-1e30f);
    imager->make_psf(psf.view());
    BOOST_CHECK_EQUAL(psf(sizes.n_y / 2, sizes.n_x / 2), 1);
    for (auto& value : of.data) value = 1;
    of.path_m = {};
    Buffer<float, 3> as_planes({sizes.n_plane, sizes.n_y, sizes.n_x});
    for (std::size_t i = 0; i < as_planes.size(); ++i)
      as_planes.data()[i] = psf.data()[i % psf.size()];  // weights of planes differ by factors
    const double error = error_against_truth(of, Buffer<float, 3>(as_planes.shape()), as_planes);
    BOOST_TEST_MESSAGE("error " << error);
    BOOST_CHECK_LT(error, 3e-6);  // measured 9.2e-7
  }
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_together_is_refused) {
  const Observation of({});
  const auto imager = make_residual_imager(of.device, of.plan, 2, 2);
  GridBlock without_data = of.block(0, 1);
  without_data.data = {};
  BOOST_CHECK_THROW(imager->add(without_data), std::invalid_argument);
  Buffer<float, 3> image({1, of.sizes.n_y, of.sizes.n_x});
  const std::vector<double> sums{1};
  BOOST_CHECK_THROW(imager->make(image, sums, image.view()), std::invalid_argument);
}

// What is kept is within what plans count. They count ranges of subgrids as large as a GPU's memory allows,
// which few visibilities do not fill: here 4.8 GB, of which 1.9 GB were taken.
BOOST_AUTO_TEST_CASE(memory_is_within_what_is_counted) {
  Sizes sizes;
  sizes.n_station = 40, sizes.n_time = 100, sizes.n_plane = 4;
  const Observation of(sizes);
  const DeviceRoom before = device_room(of.device);
  const auto imager = of.imager(4);
  of.residual(*imager, of.model(1));
  const DeviceRoom after = device_room(of.device);
  const auto n_rows = static_cast<double>(of.rows.uvw_m.extent(0)), n = n_rows * double(sizes.n_chan);
  const std::uint64_t counted = residual_imager_bytes(of.plan, 4, {n_rows, n, n_rows / 4, n / 4},
                                                      before.total_bytes),
                      taken = before.free_bytes - after.free_bytes;
  BOOST_TEST_MESSAGE("counted " << counted << ", taken " << taken);
  BOOST_CHECK_LE(taken, counted);
  BOOST_CHECK_GE(4 * taken, counted);
}

BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  for (const std::size_t n_plane : {1u, 4u}) {
    Sizes sizes{.n_station = 5, .n_time = 6, .n_chan = 4, .n_plane = n_plane, .n_x = 64, .n_y = 64};
    const Observation of(sizes);
    const auto imager = of.imager(2);
    for (const unsigned seed : {1u, 2u}) {
      const auto model = of.model(seed);
      BOOST_CHECK_LT(error_against_truth(of, model, of.residual(*imager, model)), 1e-4);
    }
    Buffer<float, 2> psf({sizes.n_y, sizes.n_x});
    imager->make_psf(psf.view());
    BOOST_CHECK_EQUAL(psf(sizes.n_y / 2, sizes.n_x / 2), 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()
