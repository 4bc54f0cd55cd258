// SPDX-License-Identifier: GPL-3.0-or-later
// What the host's run through component_terms.h and the GPU both have to pass.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <functional>
#include <vector>

#include "libcore/base/view.h"
#include "tests/support/component_cases.h"

namespace apsyn::test {

/// Overwrites data [row][chan][plane].
using SumComponents = std::function<void(const ComponentCase&, View<std::complex<float>, 3>)>;

/// The largest error over the sum of the components' fluxes.
inline double largest_error(const ComponentCase& of, const SumComponents& sum) {
  const std::size_t n_rows = of.uvw_m.extent(0);
  Buffer<std::complex<float>, 3> data({n_rows, of.hz.size(), of.n_planes()});
  data.fill({NAN, NAN});
  sum(of, data);
  double worst = 0, total_jy = 0;
  for (const SkyComponent& component : of.sky.components) total_jy += component.stokes_jy[0];
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t chan = 0; chan < of.hz.size(); ++chan) {
      const auto expected = expected_sum(of, row, chan);
      for (std::size_t plane = 0; plane < of.n_planes(); ++plane) {
        const double error = std::abs(std::complex<double>(data(row, chan, plane)) - expected[plane]);
        BOOST_TEST_REQUIRE(std::isfinite(error));
        worst = std::max(worst, error);
      }
    }
  BOOST_TEST_MESSAGE("largest error: " << worst / total_jy);
  return worst / total_jy;
}

/// Rows whose coordinates are no numbers are NaN, and leave the others alone.
inline void check_rows_without_coordinates(ComponentCase of, const SumComponents& sum) {
  const std::vector<std::size_t> shape{of.uvw_m.extent(0), of.hz.size(), of.n_planes()};
  Buffer<std::complex<float>, 3> whole({shape[0], shape[1], shape[2]}), holed(whole.shape());
  whole.fill({NAN, NAN});
  sum(of, whole);
  of.uvw_m(1, 2) = NAN;
  of.path_m(3) = INFINITY;
  sum(of, holed);
  for (std::size_t row = 0; row < shape[0]; ++row)
    for (std::size_t i = 0; i < shape[1] * shape[2]; ++i) {
      const std::complex<float> value = holed.data()[row * shape[1] * shape[2] + i];
      if (row == 1 || row == 3)
        BOOST_TEST_REQUIRE((std::isnan(value.real()) && std::isnan(value.imag())));
      else
        BOOST_TEST_REQUIRE(value == whole.data()[row * shape[1] * shape[2] + i]);
    }
}

/// All cases of sums that every station sees alike. 1e-5 is what is promised; the errors beside are the
/// host's.
inline void check_sums(const SumComponents& sum) {
  const auto error = [&](const ComponentCaseSettings& settings) {
    return largest_error(make_component_case(settings), sum);
  };
  BOOST_TEST(error({}) < 1e-5);                                                        // 3.1e-7
  BOOST_TEST(error({.gaussians = true}) < 1e-5);                                       // 2.5e-7
  BOOST_TEST(error({.polarised = true, .gaussians = true}) < 1e-5);                    // 1.9e-7
  BOOST_TEST(error({.n_components = 3, .radius_rad = 0.4, .longest_m = 1e5}) < 1e-5);  // 4.7e-7
  ComponentCase narrow = make_component_case({});
  narrow.hz.resize(1);
  narrow.path_m = {};
  BOOST_TEST(largest_error(narrow, sum) < 1e-5);  // 8e-8
  check_rows_without_coordinates(make_component_case({}), sum);
}

/// A row has the same sum, to the last bit, whatever other rows come with it.
inline void check_rows_by_themselves(const ComponentCase& of, const SumComponents& sum) {
  constexpr std::size_t kStep = 29;
  const ComponentCase few = thinned(of, kStep);
  const std::size_t n_values = of.hz.size() * of.n_planes();
  Buffer<std::complex<float>, 3> whole({of.uvw_m.extent(0), of.hz.size(), of.n_planes()}),
      part({few.uvw_m.extent(0), of.hz.size(), of.n_planes()});
  whole.fill({NAN, NAN}), part.fill({NAN, NAN});
  sum(of, whole), sum(few, part);
  for (std::size_t row = 0; row < part.extent(0); ++row)
    for (std::size_t i = 0; i < n_values; ++i)
      BOOST_TEST_REQUIRE(part.data()[row * n_values + i] == whole.data()[row * kStep * n_values + i]);
}

/// All cases of sums through matrices of stations.
inline void check_sums_through(const SumComponents& sum) {
  ComponentCase beams = make_component_case({.n_stations = 37, .polarised = true, .gaussians = true});
  BOOST_TEST(largest_error(beams, sum) < 1e-5);  // 1.4e-7
  beams.slot = 3;
  BOOST_TEST(largest_error(beams, sum) < 1e-5);  // 1.4e-7
  beams.hz.resize(3);
  BOOST_TEST(largest_error(beams, sum) < 1e-5);  // 1e-7
  check_rows_without_coordinates(make_component_case({.n_stations = 5}), sum);
  // Three tiles of stations to a side, the last of them not full, in runs of eight channels and of four; a
  // single tile, which has room for more stations.
  ComponentCase array =
      make_array_case({.n_components = 7, .n_stations = 45, .polarised = true, .gaussians = true}, 3);
  array.hz.resize(11);
  BOOST_TEST(largest_error(array, sum) < 1e-5);  // 1.1e-7
  check_rows_by_themselves(array, sum);
  check_rows_without_coordinates(std::move(array), sum);
  array = make_array_case({.n_components = 7, .n_stations = 45, .polarised = true, .gaussians = true}, 1);
  array.hz.resize(3);
  BOOST_TEST(largest_error(array, sum) < 1e-5);                                                      // 8e-8
  BOOST_TEST(largest_error(make_array_case({.n_components = 3, .n_stations = 13}, 2), sum) < 1e-5);  // 1.3e-7
}

}  // namespace apsyn::test
