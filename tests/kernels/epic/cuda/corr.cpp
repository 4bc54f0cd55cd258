// SPDX-License-Identifier: GPL-3.0-or-later
// corr with CUDA against the sums of its definition in float64.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "kernels/correlate/pair_sums_cuda.h"
#include "kernels/epic/corr/corr_cuda.h"
#include "kernels/epic/corr/pair_orders.h"
#include "libcore/array/array_layout.h"
#include "tests/support/epic/comparison.h"
#include "tests/support/resident_spectra.cuh"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(corr)

namespace {

std::unique_ptr<DeviceImager> imager(EpicPlan plan, CorrMethod form, std::size_t table_bytes = 0) {
  return make_corr_imager_cuda(std::move(plan), make_device_pair_sums, 0, form, table_bytes);
}

/// Of 11 bits.
std::unique_ptr<DeviceImager> half(EpicPlan plan) {
  return make_corr_imager_cuda(std::move(plan), make_device_pair_sums, 0, CorrMethod::direct, 0,
                               EpicPrecision::half);
}

const Method kExact[] = {
    {"corr, cuda, directly", [](EpicPlan plan) { return imager(std::move(plan), CorrMethod::direct); }, true,
     false, true},
    {"corr, cuda, on a grid", [](EpicPlan plan) { return imager(std::move(plan), CorrMethod::grid); }, true,
     true, true}};

/// Measured on an H200: 6e-7, 4e-5 and 1.3e-6.
const DeviceMethod kDevice[] = {
    {"corr directly", [](EpicPlan plan) { return imager(std::move(plan), CorrMethod::direct); }, 3e-5},
    {"corr directly, half", [](EpicPlan plan) { return half(std::move(plan)); }, 1e-4},
    {"corr on a grid", [](EpicPlan plan) { return imager(std::move(plan), CorrMethod::grid); }, 3e-5}};

/// To the north, and half as much to the east.
void aim(EpicRecording& recording, double rad) {
  const double cosine = std::cos(rad), sine = std::sin(rad);
  const double along = std::cos(rad / 2), across = std::sin(rad / 2);
  recording.geometry.axes = {{{along, 0, -across},
                              {-sine * across, cosine, -sine * along},
                              {cosine * across, sine, cosine * along}}};
}

}  // namespace

#include "tests/support/epic/exact_cases.h"
#include "tests/support/epic/resident_cases.h"

// Forms in halves of arrays that fill two or four blocks of antennas, or part of the last.
BOOST_AUTO_TEST_CASE(forms_in_halves_err_by_their_rounding) {
  for (const std::size_t n_ant : {70, 200, 256})
    for (const bool gains : {false, true}) {
      EpicCase c;
      c.enu_m = random_array(n_ant, 30, 3, 0, 8);
      c.integers = true;
      c.gains = gains;
      c.n_chan = 2;
      c.n_spectra = 24;
      c.missing = gains ? 0.1 : 0;
      const EpicRecording recording(c);
      const auto plan = [&] {
        EpicPlan all = all_sky(recording, 24);
        all.autos = gains;
        return all;
      };
      const auto exact = imager(plan(), CorrMethod::direct), rounded = half(plan());
      recording.image(*exact, 24, 2, true);  // and once more with weights that stay
      const double error = compare(recording, plan(), recording.image(*exact, 24, 2, true), 41).error;
      const double of_half = compare(recording, plan(), recording.image(*rounded, 17, 2, true), 41).error;
      BOOST_TEST_MESSAGE("forms: " << n_ant << " antennas, gains " << gains << ": " << error << " and "
                                   << of_half << " of the peak");
      BOOST_TEST(error <= 1.5e-6);  // 9e-8 to 4e-7 on an H200
      BOOST_TEST(of_half <= 1e-4);  // 4e-6 to 1.3e-5
    }
}

// Images that cuFFT transforms, odd ones, and tables that are made anew for each channel.
BOOST_AUTO_TEST_CASE(large_and_odd_images_agree_with_float64) {
  EpicCase c;
  c.enu_m = random_array(12, 60, 5, 0.2, 9);
  c.n_chan = 3;
  c.step_hz = 4e6;
  c.n_spectra = 16;
  const EpicRecording recording(c);
  struct Size {
    std::size_t nx, ny, table_bytes;
  };
  for (const Size& size : {Size{200, 168, 0}, Size{200, 168, 1}, Size{45, 63, 0}, Size{45, 63, 1}}) {
    const auto plan = [&] {
      EpicPlan odd = all_sky(recording, size.nx);
      odd.ny = size.ny;
      return odd;
    };
    const auto grid = imager(plan(), CorrMethod::grid, size.table_bytes);
    const Comparison result = compare(recording, plan(), recording.image(*grid, 16, 3), 97);
    BOOST_TEST_MESSAGE(size.nx << " x " << size.ny << ": " << result.error << " of the peak, " << result.n
                               << " pixels");
    BOOST_TEST(result.error <= kWanted);
  }
}

// Large images that so many pairs share that cells have several, added up by tensor cores and transformed
// whole.
BOOST_AUTO_TEST_CASE(large_images_of_many_pairs_agree_with_float64) {
  EpicCase c;
  c.enu_m = random_array(40, 30, 0.3, 0.2, 9);
  c.n_chan = 64;
  c.step_hz = 2e4;
  c.n_spectra = 16;
  const EpicRecording recording(c);
  const auto plan = [&] {
    EpicPlan large = all_sky(recording, 168);
    large.n_average = 64;
    return large;
  };
  const auto grid = imager(plan(), CorrMethod::grid);
  const Comparison result = compare(recording, plan(), recording.image(*grid, 16, 64), 97);
  BOOST_TEST_MESSAGE("many pairs: " << result.error << " of the peak, " << result.n << " pixels");
  BOOST_TEST(result.error <= kWanted);
}

// Millions of pairs for one small image: each channel gets a grid of its own.
BOOST_AUTO_TEST_CASE(channels_of_one_small_image_agree_with_float64) {
  EpicCase c;
  c.enu_m = random_array(256, 40, 3, 0.2, 8);
  c.n_chan = 33;
  c.n_spectra = 8;
  c.integers = true;
  const EpicRecording recording(c);
  const auto plan = [&] {
    EpicPlan averaged = all_sky(recording, 24);
    averaged.n_average = 33;
    return averaged;
  };
  const auto grid = imager(plan(), CorrMethod::grid);
  const Comparison result = compare(recording, plan(), recording.image(*grid, 8, 33, true), 7);
  BOOST_TEST_MESSAGE("channels averaged: " << result.error << " of the peak, " << result.n << " pixels");
  BOOST_TEST(result.error <= kWanted);
}

// Fields that arrays see aslant, through a lattice of sites; level ones of another height and width. Tables
// for some images at a time, and for all.
BOOST_AUTO_TEST_CASE(small_fields_agree_with_float64) {
  EpicCase c;
  c.enu_m = random_array(30, 300, 2, 0.2, 9);
  c.n_chan = 3;
  c.step_hz = 1e6;
  c.n_spectra = 16;
  for (const double aslant_rad : {0.0, 0.7})
    for (const std::size_t table_bytes : {0, 1}) {
      EpicRecording recording(c);
      const double cosine = std::cos(aslant_rad), sine = std::sin(aslant_rad);
      recording.geometry.axes[1] = {0, cosine, sine};
      recording.geometry.axes[2] = {0, -sine, cosine};
      const auto plan = [&] {
        EpicPlan field = all_sky(recording, 201);
        field.ny = 170;
        field.cell = 0.1 / 201;
        return field;
      };
      const auto grid = imager(plan(), CorrMethod::grid, table_bytes);
      const Comparison result = compare(recording, plan(), recording.image(*grid, 16, 3), 97);
      BOOST_TEST_MESSAGE("a field " << aslant_rad << " from the zenith: " << result.error << " of the peak, "
                                    << result.n << " pixels");
      BOOST_TEST(result.error <= kWanted);
    }
}

// Fields that arrays see aslant, of which pixels are interpolated from a lattice: with orders that add up at
// its sites, and, where that would lose too much, with each order for itself; and once more when they have
// moved on.
BOOST_AUTO_TEST_CASE(fields_through_a_lattice_agree_with_float64) {
  for (const bool add_up : {true, false}) {
    EpicCase c;
    c.enu_m = random_array(60, add_up ? 600 : 1000, 8, 0.2, 9);
    c.n_chan = 2;
    c.step_hz = 1e6;
    c.n_spectra = 16;
    EpicRecording recording(c);
    const auto aim = [&](double aslant_rad) {
      const double cosine = std::cos(aslant_rad), sine = std::sin(aslant_rad);
      recording.geometry.axes[1] = {0, cosine, -sine};
      recording.geometry.axes[2] = {0, sine, cosine};
    };
    const auto plan = [&] {
      EpicPlan field = all_sky(recording, 301);
      field.ny = 170;
      field.cell = 0.3 / 301;
      field.n_average = 2;
      return field;
    };
    aim(0.7);
    const SkyPixels pixels = sky_pixels(plan(), recording.geometry);
    const PairOrders orders = plan_pair_orders(plan(), recording.geometry, pixels);
    BOOST_TEST_REQUIRE(orders.shape.coarse);
    BOOST_TEST_REQUIRE(orders.shape.lattice.has_value());
    BOOST_TEST_REQUIRE(orders.shape.n_order > 2u);
    const double loss =
        loss_at_sites(plan(), recording.geometry, pixels, *orders.shape.lattice, orders.kernel);
    BOOST_TEST_REQUIRE((loss <= PairOrders::kCoarseSiteError) == add_up);
    const auto grid = imager(plan(), CorrMethod::grid);
    for (const double aslant_rad : {0.7, 0.7001}) {
      aim(aslant_rad);
      const Comparison result = compare(recording, plan(), recording.image(*grid, 16, 2), 97);
      BOOST_TEST_MESSAGE("a lattice, orders added up " << add_up << ", " << aslant_rad
                                                       << " from the zenith: " << result.error
                                                       << " of the peak, " << result.n << " pixels");
      // What the kernel of large images and the orders leave out of a pair, as if all pairs erred alike.
      // Measured on an H100: 4.0e-5 with orders added up, 1.07e-4 with each for itself.
      BOOST_TEST(result.error <= 1.3e-4 + PairOrders::kCoarseError);
    }
  }
}

// Large images of many pairs, whose kernels hold w: level, of channels for themselves and averaged, and
// through a lattice of sites; and once more when the field has moved on.
BOOST_AUTO_TEST_CASE(kernels_that_hold_w_agree_with_float64) {
  for (const double aslant_rad : {0.0, 0.7})
    for (const std::size_t n_average : {1, 2}) {
      EpicCase c;
      c.enu_m = random_array(60, 600, 3, aslant_rad > 0 ? 0.2 : 0, 9);
      c.n_chan = 2;
      c.step_hz = 1e6;
      c.n_spectra = 16;
      EpicRecording recording(c);
      const auto plan = [&] {
        EpicPlan field = all_sky(recording, 301);
        field.ny = 171;
        field.cell = 0.3 / 301;
        field.n_average = n_average;
        return field;
      };
      aim(recording, aslant_rad);
      const SkyPixels pixels = sky_pixels(plan(), recording.geometry);
      const PairOrders orders = plan_pair_orders(plan(), recording.geometry, pixels, DepthBy::kernels);
      BOOST_TEST_REQUIRE(orders.depth_kernels.has_value());
      BOOST_TEST_REQUIRE(orders.shape.lattice.has_value() == (aslant_rad > 0));
      BOOST_TEST_REQUIRE(orders.depth_kernels->n_term() == (aslant_rad > 0 ? 3 : 2));
      const auto grid = imager(plan(), CorrMethod::grid, n_average == 1 ? 1 : 0);
      for (const double turn_rad : {0.0, 1e-4}) {
        aim(recording, aslant_rad + turn_rad);
        const Comparison result = compare(recording, plan(), recording.image(*grid, 16, 2), 97);
        BOOST_TEST_MESSAGE("kernels that hold w, " << aslant_rad + turn_rad << " from the zenith, "
                                                   << n_average << " channels: " << result.error
                                                   << " of the peak, " << result.n << " pixels");
        BOOST_TEST(result.error <= PairOrders::kDepthError);  // 8e-6 to 6.1e-5
      }
    }
}

// The same of arrays so high that orders are needed: of pixels, and of the sites of a lattice.
BOOST_AUTO_TEST_CASE(large_images_by_orders_agree_with_float64) {
  for (const bool lattice : {false, true}) {
    EpicCase c;
    c.enu_m = random_array(60, 600, lattice ? 20 : 40, lattice ? 0.2 : 0, 9);
    c.n_spectra = 16;
    EpicRecording recording(c);
    aim(recording, lattice ? 0.7 : 0);
    const auto plan = [&] {
      EpicPlan field = all_sky(recording, 301);
      field.ny = 170;
      field.cell = 0.3 / 301;
      return field;
    };
    const SkyPixels pixels = sky_pixels(plan(), recording.geometry);
    const PairOrders orders = plan_pair_orders(plan(), recording.geometry, pixels, DepthBy::kernels);
    BOOST_TEST_REQUIRE(!orders.depth_kernels.has_value());
    BOOST_TEST_REQUIRE(orders.shape.lattice.has_value() == lattice);
    BOOST_TEST_REQUIRE(orders.shape.n_order > 2u);
    const auto grid = imager(plan(), CorrMethod::grid);
    const Comparison result = compare(recording, plan(), recording.image(*grid, 16, 1), 97);
    BOOST_TEST_MESSAGE(orders.shape.n_order << " orders, a lattice " << lattice << ": " << result.error
                                            << " of the peak, " << result.n << " pixels");
    BOOST_TEST(result.error <= 1.3e-4 + PairOrders::kCoarseError);  // 7.7e-5 and 1.8e-5
  }
}

// Antennas so far from one plane that most pairs need few of the hundreds of orders that some need.
BOOST_AUTO_TEST_CASE(antennas_far_off_the_plane_agree_with_float64) {
  EpicCase c;
  c.enu_m = random_array(12, 60, 5, 0.2, 9);
  for (std::size_t ant = 0; ant < 3; ++ant) c.enu_m[ant][2] += 120.0 * static_cast<double>(ant);
  c.n_spectra = 16;
  const EpicRecording recording(c);
  const auto plan = [&] { return all_sky(recording, 40); };
  const auto grid = imager(plan(), CorrMethod::grid);
  const Comparison result = compare(recording, plan(), recording.image(*grid, 16, 1), 7);
  BOOST_TEST_MESSAGE("hundreds of orders: " << result.error << " of the peak, " << result.n << " pixels");
  BOOST_TEST(result.error <= kWanted);
}

// One antenna far above all others, which stands apart from the grid; spectra of all channels, and of some.
BOOST_AUTO_TEST_CASE(an_outrigger_and_overlapping_batches_agree_with_float64) {
  EpicCase c;
  c.enu_m = random_array(24, 30, 0.3, 0.02, 5);
  c.enu_m[7] = {-140, 60, 13};
  c.n_chan = 3;
  c.step_hz = 2e6;
  c.n_spectra = 24;
  c.integers = true;
  c.gains = c.delays = true;
  const EpicRecording recording(c);
  for (const std::size_t size : {40, 168}) {
    const auto grid = imager(all_sky(recording, size), CorrMethod::grid);
    EpicImages images;
    for (int turn = 0; turn < 2; ++turn) {
      grid->start(recording.geometry);
      grid->add(recording.block(0, 8, 0, 3));
      grid->add(recording.block(8, 16, 0, 2));
      if (turn == 0) continue;  // nobody takes it
      grid->add(recording.block(8, 16, 2, 1));
      grid->take(images);
    }
    const Comparison result = compare(recording, all_sky(recording, size), images, 97);
    BOOST_TEST_MESSAGE("an outrigger, " << size << " pixels: " << result.error << " of the peak");
    BOOST_TEST(result.error <= kWanted);
  }
}

// Regions that are measured on the device, of images of sums (small) and without (large), which are not
// stored then.
BOOST_AUTO_TEST_CASE(regions_are_those_of_the_images) {
  EpicCase c;
  c.enu_m = random_array(30, 60, 3, 0.1, 9);
  c.n_chan = 4;
  c.step_hz = 1e6;
  c.n_spectra = 16;
  const EpicRecording recording(c);
  for (const std::size_t size : {40, 200}) {
    const auto plan = [&] {
      EpicPlan some = all_sky(recording, size);
      some.n_average = 2;
      some.cross = false;
      return some;
    };
    std::vector<std::vector<std::uint32_t>> regions(3);  // one has no pixel, one some below the horizon
    for (std::uint32_t pixel = 0; pixel < size * size; ++pixel) {
      if (pixel % 7 == 0) regions[0].push_back(pixel);
      if (pixel / size == size / 2) regions[2].push_back(pixel);
    }
    const auto stores = imager(plan(), CorrMethod::grid), measures = imager(plan(), CorrMethod::grid);
    BOOST_TEST_REQUIRE(measures->measure(regions));
    const EpicImages images = recording.image(*stores, 16, 4), measured = recording.image(*measures, 16, 4);
    BOOST_TEST_REQUIRE(measured.regions.shape() == (std::array<std::size_t, 3>{2, 2, 3}));
    for (std::size_t image = 0; image < 2; ++image)
      for (std::size_t plane = 0; plane < 2; ++plane)
        for (std::size_t region = 0; region < 3; ++region) {
          double n = 0, sum = 0, largest = -INFINITY;
          for (const std::uint32_t pixel : regions[region]) {
            const auto value = double(images.planes(image, plane, pixel / size, pixel % size));
            if (std::isnan(value)) continue;
            ++n;
            sum += value;
            largest = std::max(largest, value);
          }
          const EpicRegion& got = measured.regions(image, plane, region);
          BOOST_TEST(got.n == n);
          BOOST_TEST(std::isnan(got.mean) == (n == 0));
          if (n == 0) continue;
          BOOST_TEST(got.mean == sum / n, boost::test_tools::tolerance(1e-9));
          BOOST_TEST(got.largest == largest);
        }
  }
}

// Images that are settled when the next ones have begun, of a field that turns.
BOOST_AUTO_TEST_CASE(images_taken_later_belong_to_their_geometry) {
  EpicCase c;
  c.enu_m = random_array(14, 40, 5, 0.2, 9);
  c.n_spectra = 24;
  EpicRecording recording(c);
  const auto corr = imager(all_sky(recording, 40), CorrMethod::grid);
  EpicImages images[3];
  EpicGeometry geometries[3];
  for (int i = 0; i < 3; ++i) {
    const double angle = 0.3 * i;
    geometries[i] = recording.geometry;
    geometries[i].axes[0] = {std::cos(angle), std::sin(angle), 0};
    geometries[i].axes[1] = {-std::sin(angle), std::cos(angle), 0};
    corr->start(geometries[i]);
    for (std::size_t first = 0; first < c.n_spectra; first += 12) corr->add(recording.block(first, 12, 0, 1));
    corr->settle();
    BOOST_TEST(corr->take_later(images[i]));
  }
  corr->settle();
  for (int i = 0; i < 3; ++i) {
    recording.geometry = geometries[i];
    BOOST_TEST(compare(recording, all_sky(recording, 40), images[i], 7).error <= kWanted);
  }
}

BOOST_AUTO_TEST_SUITE_END()
