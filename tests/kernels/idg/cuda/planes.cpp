// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of tests/kernels/idg/planes.cpp on a GPU, and images of rows that it keeps.
#include "tests/kernels/idg/planes.cpp"

#include "kernels/idg/kept_visibilities.h"

BOOST_AUTO_TEST_SUITE(planes)

namespace {

/// The GPU's copy of a snapshot, from which images of some of its rows are made.
class KeptSnapshot {
 public:
  explicit KeptSnapshot(const Snapshot& rows) {
    std::vector<double> wavelength_m;
    for (const double wavenumber : rows.wavenumber) wavelength_m.push_back(1 / wavenumber);
    constexpr std::uint64_t max_bytes = 1'000'000'000;
    kept_ = keep_visibilities(test_device(), rows.data.extent(2), max_bytes, 2);
    BOOST_REQUIRE(kept_->add(rows.block(), wavelength_m));
    kept_->sum_cells({4, 8, 1e-3, INFINITY, true});  // waits for what travels
  }
  Buffer<double, 3> image_of(Gridder& gridder, std::size_t first, std::size_t n, std::size_t n_pieces) const {
    gridder.begin_pass({0, 1});
    for (std::size_t i = 0; i < n_pieces; ++i) {
      const std::size_t begin = n * i / n_pieces, end = n * (i + 1) / n_pieces;
      gridder.grid_kept(*kept_, {0, first + begin, end - begin});
    }
    gridder.end_pass();
    return gridder.take_images();
  }

 private:
  std::unique_ptr<KeptVisibilities> kept_;
};

/// Rows [first, first + n) of a snapshot alone.
Snapshot part_of(const Snapshot& rows, const Shape& shape, std::size_t first, std::size_t n) {
  Shape own = shape;
  own.n_rows = n;
  Snapshot part(own);
  const auto copy = [&](const auto& from, auto& to) {
    if (from.size() > 0)
      std::copy_n(from.data() + first * (from.size() / shape.n_rows), to.size(), to.data());
  };
  copy(rows.uvw_m, part.uvw_m), copy(rows.data, part.data), copy(rows.weight, part.weight);
  copy(rows.path_m, part.path_m);
  return part;
}

}  // namespace

BOOST_AUTO_TEST_CASE(images_of_rows_that_stay_on_the_gpu_are_the_sums_of_their_definition) {
  Shape with_paths{{96, 80, 6 * kAmin}, 1200, 6, 2, 3};
  with_paths.has_paths = true;
  for (const Shape& shape :
       {Shape{{64, 64, 6 * kAmin}, 900, 4}, with_paths, Shape{{63, 50, 6 * kAmin}, 700, 1, 4, 20, 1.7},
        Shape{{128, 128, 2 * kAmin}, 600, 150, 1, 8, 0.45}, Shape{{64, 64, 0.04}, 600, 2, 3, 0.3}}) {
    const Snapshot rows(shape);
    const KeptSnapshot kept(rows);
    const auto gridder = make_planes_gridder(test_device(), plan_of(shape, rows), setup_of(shape));
    const std::size_t first = 123, n = 456;
    const Snapshot own = part_of(rows, shape, first, n);
    // An earlier image, and the memory of its pixels, leave nothing behind.
    Buffer<double, 3> earlier = kept.image_of(*gridder, 0, 50, 1);
    earlier.fill(NAN);
    gridder->recycle(std::move(earlier));
    const Buffer<double, 3> images = kept.image_of(*gridder, first, n, 1);
    BOOST_TEST(error_of(shape, own, images) < kAccuracy);
    std::vector<double> want(shape.n_planes, 0);
    for (std::size_t i = 0; i < own.weight.size(); ++i)
      want[i % shape.n_planes] += static_cast<double>(own.weight.data()[i]);
    const std::vector<double> sums = gridder->kept_weight_sums();
    for (std::size_t p = 0; p < shape.n_planes; ++p)
      BOOST_TEST(sums[p] == want[p], boost::test_tools::tolerance(1e-13));
    BOOST_TEST(same(kept.image_of(*gridder, first, n, 1), images));
    BOOST_TEST(error_of(shape, own, kept.image_of(*gridder, first, n, 3)) < kAccuracy);
  }
}

BOOST_AUTO_TEST_CASE(weights_that_are_alike_are_kept_once) {
  const Shape shape{{64, 48, 6 * kAmin}, 500, 4, 2, 2};
  Snapshot rows(shape);
  for (std::size_t i = 0; i < rows.weight.size(); i += 2) {
    rows.weight.data()[i + 1] = rows.weight.data()[i];
    if (rows.weight.data()[i] != 0 && std::isnan(rows.data.data()[i + 1].real()))
      rows.data.data()[i + 1] = {1, 2};
  }
  const KeptSnapshot kept(rows);
  const auto gridder = make_planes_gridder(test_device(), plan_of(shape, rows), setup_of(shape));
  BOOST_TEST(error_of(shape, rows, kept.image_of(*gridder, 0, shape.n_rows, 1)) < kAccuracy);
}

BOOST_AUTO_TEST_CASE(kept_coordinates_that_cannot_be_are_refused) {
  const Shape shape{{32, 32, 6 * kAmin}, 20, 2, 1, 1};
  for (const double bad : {double(NAN), double(INFINITY), 1e300})
    for (std::size_t axis = 0; axis < 3; ++axis) {
      Snapshot rows(shape);
      const PlanesPlan plan = plan_of(shape, rows);
      rows.uvw_m(3, axis) = bad;
      const KeptSnapshot kept(rows);
      const auto gridder = make_planes_gridder(test_device(), plan, setup_of(shape));
      BOOST_CHECK_THROW(kept.image_of(*gridder, 0, shape.n_rows, 1), DataError);
      BOOST_CHECK_NO_THROW(kept.image_of(*gridder, 4, shape.n_rows - 4, 1));
    }
}

BOOST_AUTO_TEST_SUITE_END()
