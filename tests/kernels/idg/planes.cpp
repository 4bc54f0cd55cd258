// SPDX-License-Identifier: GPL-3.0-or-later
// Images made on whole planes against the float64 sum of their definition.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/idg/planes.h"
#include "libcore/base/error.h"
#include "tests/reference/dft_image.h"
#include "tests/reference/statistics.h"
#include "tests/reference/test_device.h"
#include "tests/support/grid_rows.h"
#include "tests/support/image_pixels.h"

using namespace apsyn;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(planes)

namespace {

constexpr double kAccuracy = 2e-6;  // that of the plans; errors are 2.3e-7 to 5.6e-7 on CPU and GPU
constexpr double kSpeedOfLight_m_s = 299792458.0;

struct Shape {
  ImageGeometry image;
  std::size_t n_rows = 400, n_chan = 4, n_planes = 1;
  double max_w_m = 0;
  double reach = 0.5;  ///< largest |u| and |v| at 150 MHz, in cycles per pixel
  bool has_paths = false;
};

/// Random rows of random values, a tenth of them NaN under weights of 0.
struct Snapshot : support::GridRows {
  Buffer<double, 1> path_m;

  explicit Snapshot(const Shape& shape, unsigned seed = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> gauss;
    std::uniform_real_distribution<double> flat(-1, 1);
    uvw_m.resize({shape.n_rows, 3});
    wavenumber.resize({shape.n_chan});
    data.resize({shape.n_rows, shape.n_chan, shape.n_planes});
    weight.resize({shape.n_rows, shape.n_chan, std::max<std::size_t>(1, shape.n_planes)});
    if (shape.has_paths) path_m.resize({shape.n_rows});
    for (std::size_t c = 0; c < shape.n_chan; ++c)
      wavenumber(c) = (150e6 + 0.16e6 * static_cast<double>(c)) / kSpeedOfLight_m_s;
    const double longest_m = shape.reach / shape.image.cell_rad / wavenumber(0);
    for (std::size_t row = 0; row < shape.n_rows; ++row) {
      const double length = std::pow(std::abs(flat(random)), 1.5) * longest_m;
      uvw_m(row, 0) = length * flat(random);
      uvw_m(row, 1) = length * flat(random);
      uvw_m(row, 2) = shape.max_w_m * flat(random);
      if (shape.has_paths) path_m(row) = 3 * flat(random);
      max_w_lambda = std::max(max_w_lambda, std::abs(uvw_m(row, 2)) * wavenumber(shape.n_chan - 1));
      for (std::size_t c = 0; c < shape.n_chan; ++c)
        for (std::size_t p = 0; p < weight.extent(2); ++p) {
          const bool none = flat(random) > 0.8 || row % 50 == 7;
          weight(row, c, p) = none ? 0 : static_cast<float>(1.5 + flat(random));
          if (p < shape.n_planes)
            data(row, c, p) =
                none ? std::complex<float>(NAN, NAN)
                     : std::complex<float>(std::complex<double>(1 + gauss(random), gauss(random)));
        }
    }
  }
  GridBlock block() const {
    GridBlock rows = GridRows::block();
    rows.path_m = path_m;
    return rows;
  }
  /// Of the PSF, V = 1 at the weights of plane 0, for `plane` behind the last.
  std::vector<DftVisibility> flat(std::size_t plane) const {
    const bool psf = plane == data.extent(2);
    std::vector<DftVisibility> all;
    for (std::size_t r = 0; r < uvw_m.extent(0); ++r)
      for (std::size_t c = 0; c < wavenumber.size(); ++c) {
        const double k = wavenumber(c), own = weight(r, c, psf ? 0 : plane);
        if (own == 0) continue;
        std::complex<double> value = psf ? 1 : std::complex<double>(data(r, c, plane));
        if (!psf && path_m.size() > 0) value *= std::polar(1.0, -2 * std::acos(-1.0) * path_m(r) * k);
        all.push_back({uvw_m(r, 0) * k, uvw_m(r, 1) * k, uvw_m(r, 2) * k, own * value});
      }
    return all;
  }
};

PlanesPlan plan_of(const Shape& shape, const Snapshot& rows, double accuracy = kAccuracy) {
  const auto n_rows = static_cast<double>(shape.n_rows), n_chan = static_cast<double>(shape.n_chan);
  const auto plan = plan_planes(
      shape.image, accuracy,
      {{.max_w_lambda = rows.max_w_lambda, .n_visibilities = n_rows * n_chan, .n_planes = shape.n_planes},
       n_rows});
  BOOST_REQUIRE(plan.has_value());
  return *plan;
}

Buffer<double, 3> image_of(Gridder& gridder, const Snapshot& rows, std::size_t n_blocks = 1) {
  gridder.begin_pass({0, 1});
  const std::size_t n = rows.uvw_m.extent(0);
  for (std::size_t b = 0; b < n_blocks; ++b)
    gridder.grid(rows_of(rows.block(), n * b / n_blocks, n * (b + 1) / n_blocks - n * b / n_blocks));
  gridder.end_pass();
  return gridder.take_images();
}

IdgSetup setup_of(const Shape& shape, unsigned n_threads = 1) {
  return {.n_data_planes = shape.n_planes, .psf = PsfPlane::last, .n_threads = n_threads};
}

bool same(const Buffer<double, 3>& a, const Buffer<double, 3>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// Largest relative RMS of any plane over pixels spread over the image, its corners included.
double error_of(const Shape& shape, const Snapshot& rows, const Buffer<double, 3>& images) {
  const ImageGeometry& image = shape.image;
  std::vector<std::array<std::size_t, 2>> where{{0, 0},
                                                {0, image.n_x - 1},
                                                {image.n_y - 1, 0},
                                                {image.n_y - 1, image.n_x - 1},
                                                {image.n_y / 2, image.n_x / 2}};
  std::mt19937_64 random(9);
  while (where.size() < 600) where.push_back({random() % image.n_y, random() % image.n_x});
  double worst = 0;
  for (std::size_t plane = 0; plane < images.extent(0); ++plane) {
    std::vector<DftPixel> pixels;
    std::vector<double> got;
    for (const auto& [y, x] : where) {
      const double l = support::pixel_l(image, x), m = support::pixel_m(image, y);
      if (l * l + m * m >= 1) {
        BOOST_CHECK(std::isnan(images(plane, y, x)));
        continue;
      }
      pixels.push_back({l, m});
      got.push_back(images(plane, y, x));
    }
    worst = std::max(worst, relative_rms(got, dft_image(rows.flat(plane), pixels)));
  }
  std::printf("error %.2g\n", worst);
  return worst;
}

constexpr double kAmin = 2.908882e-4;

}  // namespace

BOOST_AUTO_TEST_CASE(images_and_psf_of_a_snapshot_are_the_sums_of_their_definition) {
  // Measured: 4.1e-7 to 4.5e-7.
  for (const Shape& shape :
       {Shape{{64, 64, 6 * kAmin}}, Shape{{63, 80, 6 * kAmin}, 300, 8, 2, 2},
        Shape{{256, 128, 3 * kAmin}, 900, 8, 1, 15}, Shape{{50, 51, 6 * kAmin}, 50, 1, 4, 20}}) {
    const Snapshot rows(shape);
    const PlanesPlan plan = plan_of(shape, rows);
    for (const std::string& line : plan.describe()) std::printf("%s\n", line.c_str());
    const auto gridder = make_planes_gridder(test_device(), plan, setup_of(shape));
    BOOST_TEST(error_of(shape, rows, image_of(*gridder, rows)) < kAccuracy);
  }
}

BOOST_AUTO_TEST_CASE(other_accuracies_are_kept) {
  const Shape shape{{128, 128, 6 * kAmin}, 500, 6, 1, 5};
  const Snapshot rows(shape);
  // Measured: 1.5e-3, 7.7e-6.
  for (const double accuracy : {1e-2, 1e-4}) {
    const auto gridder = make_planes_gridder(test_device(), plan_of(shape, rows, accuracy), setup_of(shape));
    BOOST_TEST(error_of(shape, rows, image_of(*gridder, rows)) < accuracy);
  }
}

BOOST_AUTO_TEST_CASE(many_channels_are_summed_at_nodes) {
  const Shape shape{{128, 128, 2 * kAmin}, 200, 150, 1, 8, 0.45};
  const Snapshot rows(shape);
  const auto gridder = make_planes_gridder(test_device(), plan_of(shape, rows), setup_of(shape));
  BOOST_TEST(error_of(shape, rows, image_of(*gridder, rows)) < kAccuracy);
}

BOOST_AUTO_TEST_CASE(paths_turn_visibilities_but_not_the_psf) {
  Shape shape{{96, 96, 6 * kAmin}, 300, 6, 2, 3};
  shape.has_paths = true;
  const Snapshot rows(shape);
  const auto gridder = make_planes_gridder(test_device(), plan_of(shape, rows), setup_of(shape));
  BOOST_TEST(error_of(shape, rows, image_of(*gridder, rows)) < kAccuracy);
}

BOOST_AUTO_TEST_CASE(the_uv_plane_repeats_beyond_its_edge) {
  const Shape shape{{64, 64, 6 * kAmin}, 400, 4, 1, 3, 1.7};
  const Snapshot rows(shape);
  const auto gridder = make_planes_gridder(test_device(), plan_of(shape, rows), setup_of(shape));
  BOOST_TEST(error_of(shape, rows, image_of(*gridder, rows)) < kAccuracy);
}

BOOST_AUTO_TEST_CASE(pixels_beyond_the_horizon_are_blank) {
  const Shape shape{{64, 64, 0.04}, 300, 2, 1, 0.3};
  const Snapshot rows(shape);
  const auto gridder = make_planes_gridder(test_device(), plan_of(shape, rows), setup_of(shape));
  BOOST_TEST(error_of(shape, rows, image_of(*gridder, rows)) < kAccuracy);
}

BOOST_AUTO_TEST_CASE(threads_blocks_and_earlier_images_change_no_bit) {
  // More places than are spread at a time.
  const Shape shape{{100, 90, 4 * kAmin}, 9000, 6, 2, 4};
  const Snapshot rows(shape), others(shape, 2);
  const PlanesPlan plan = plan_of(shape, rows);
  const auto alone = make_planes_gridder(test_device(), plan, setup_of(shape));
  const Buffer<double, 3> want = image_of(*alone, rows);
  for (unsigned n_threads : {2u, 7u}) {
    const auto gridder = make_planes_gridder(test_device(), plan, setup_of(shape, n_threads));
    BOOST_TEST(same(image_of(*gridder, rows), want));
    Buffer<double, 3> of_others = image_of(*gridder, others);
    BOOST_TEST(!same(of_others, want));
    of_others.fill(NAN);
    gridder->recycle(std::move(of_others));
    BOOST_TEST(same(image_of(*gridder, rows), want));
  }
  BOOST_TEST(error_of(shape, rows, image_of(*alone, rows, 3)) < kAccuracy);
}

BOOST_AUTO_TEST_CASE(nothing_makes_an_image_of_zeros) {
  const Shape shape{{32, 32, 6 * kAmin}, 20, 2, 1, 1};
  Snapshot rows(shape);
  rows.weight.fill(0);
  const auto gridder = make_planes_gridder(test_device(), plan_of(shape, rows), setup_of(shape));
  for (const double pixel : image_of(*gridder, rows)) BOOST_CHECK(pixel == 0);
}

BOOST_AUTO_TEST_CASE(coordinates_that_cannot_be_are_refused) {
  const Shape shape{{32, 32, 6 * kAmin}, 20, 2, 1, 1};
  for (const double bad : {double(NAN), double(INFINITY), 1e300}) {
    Snapshot rows(shape);
    const PlanesPlan plan = plan_of(shape, rows);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      rows.uvw_m(3, axis) = bad;
      const auto gridder = make_planes_gridder(test_device(), plan, setup_of(shape));
      BOOST_CHECK_THROW(image_of(*gridder, rows), DataError);
      rows.uvw_m(3, axis) = 0;
    }
    // Where there is no weight nothing is looked at.
    for (std::size_t axis = 0; axis < 3; ++axis) rows.uvw_m(7, axis) = bad;
    const auto gridder = make_planes_gridder(test_device(), plan, setup_of(shape));
    BOOST_CHECK_NO_THROW(image_of(*gridder, rows));
  }
}

BOOST_AUTO_TEST_CASE(large_w_is_left_to_subgrids) {
  const PlanesWorkload work{{.max_w_lambda = 1e5, .n_visibilities = 1000}, 100};
  BOOST_TEST(!plan_planes({256, 256, 3 * kAmin}, kAccuracy, work).has_value());
}

BOOST_AUTO_TEST_CASE(planes_stand_in_for_subgrids_only_in_short_intervals) {
  const ImageGeometry image{256, 256, 3 * kAmin};
  PlanesWorkload work{{.max_w_lambda = 5,
                       .max_u_lambda = 500,
                       .max_v_lambda = 500,
                       .n_visibilities = 65000,
                       .n_baselines = 8128,
                       .channel_track_lambda = 1,
                       .device = test_device().kind,
                       .is_interval = true},
                      8128};
  const IdgSettings asked;
  const auto chosen = [&](const IdgSettings& settings) {
    return planes_instead(make_idg_plan(image, settings, work.all), settings, work).has_value();
  };
  BOOST_TEST(chosen(asked));
  IdgSettings subgrid = asked, padding = asked, precise = asked;
  subgrid.subgrid = 32, padding.padding = 1.5, precise.precision = Precision::double_;
  for (const IdgSettings& each : {subgrid, padding, precise}) BOOST_TEST(!chosen(each));
  work.all.is_interval = false;
  BOOST_TEST(!chosen(asked));
}

BOOST_AUTO_TEST_SUITE_END()
