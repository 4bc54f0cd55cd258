// SPDX-License-Identifier: GPL-3.0-or-later
// Planes of images by name, as mixtures of the products XX, YY and the parts of XY (RR, LL and RL).
#include <boost/test/unit_test.hpp>

#include <complex>
#include <string>

#include "libcore/base/error.h"
#include "tools/epic-image/products.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(planes)

namespace {

std::complex<double> mixed(const OutputPlane& plane, const std::array<double, 4>& products) {
  std::complex<double> sum = 0;
  for (std::size_t i = 0; i < 4; ++i)
    sum += products[i] * std::complex<double>(plane.real[i], plane.imaginary[i]);
  return sum;
}

}  // namespace

// Of a wave with Stokes parameters 7, 2, -1, 0.5: XX = I + Q, XY = U + iV, RR = I + V, RL = Q + iU.
BOOST_AUTO_TEST_CASE(stokes_parameters_and_correlations_are_those_of_the_wave) {
  const std::complex<double> i(0, 1), xy = -1.0 + 0.5 * i, rl = 2.0 - i;
  const auto linear = parse_output_planes("XX,YY,XY,YX,IQUV", 2, false);
  const auto circular = parse_output_planes("RR,LL,RL,LR,IQUV", 2, true);
  const std::complex<double> of_linear[] = {9, 5, xy, std::conj(xy), 7, 2, -1, 0.5},
                             of_circular[] = {7.5, 6.5, rl, std::conj(rl), 7, 2, -1, 0.5};
  BOOST_TEST_REQUIRE(linear.size() == 8u);
  BOOST_TEST_REQUIRE(circular.size() == 8u);
  for (std::size_t k = 0; k < 8; ++k) {
    BOOST_TEST(std::abs(mixed(linear[k], {9, 5, -1, 0.5}) - of_linear[k]) < 1e-12, linear[k].name);
    BOOST_TEST(std::abs(mixed(circular[k], {7.5, 6.5, 2, -1}) - of_circular[k]) < 1e-12, circular[k].name);
  }
  BOOST_TEST(is_complex(linear));
  BOOST_TEST(!is_complex(parse_output_planes("IQUV", 2, false)));
  BOOST_TEST(needs(parse_output_planes("V", 2, false), 3));
  BOOST_TEST(!needs(parse_output_planes("V", 2, false), 2));
}

BOOST_AUTO_TEST_CASE(planes_that_a_stream_has_not_are_refused) {
  BOOST_TEST(parse_output_planes("", 2, true)[0].name == "I");
  BOOST_TEST(parse_output_planes("", 1, true)[0].name == "RR");
  BOOST_CHECK_THROW(parse_output_planes("RR", 2, false), UsageError);
  BOOST_CHECK_THROW(parse_output_planes("I", 1, false), UsageError);
  BOOST_CHECK_THROW(parse_output_planes("I,I", 2, false), UsageError);
  BOOST_CHECK_THROW(parse_output_planes("I,", 2, false), UsageError);
  BOOST_TEST(field_planes("", 2, false).size() == 2u);
  BOOST_TEST(field_planes("L", 2, true)[0].real[2] == 1);
  BOOST_CHECK_THROW(field_planes("Y", 1, false), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
