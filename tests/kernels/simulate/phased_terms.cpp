// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of stations as a GPU's threads sum them, run through by the host, against one direction at a time in
// float64.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "kernels/simulate/phased_tables.h"
#include "tests/support/phased_case.h"

using namespace apsyn;
using namespace apsyn::simulate;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(phased_terms)

namespace {

/// The largest error over the largest element.
double worst_error(StationKind kind, BeamPart part) {
  const PhasedCase of(kind, part);
  const std::optional<PhasedBeams> beams = phased_beams(of.array, part, false);
  BOOST_TEST_REQUIRE(beams.has_value());
  const PhasedTables tables = make_phased_tables(*beams);
  const PhasedTable table{tables.positions_m.data(), tables.fields.data(), tables.first_field.data(),
                          static_cast<std::uint32_t>(of.array.stations.size())};
  const std::size_t n = of.sky.extent(0);
  const PhasedLayout layout(n, beams->frames.size(), of.array.stations.size());
  const Buffer<std::byte, 1> memory({layout.size});
  std::byte* const at = const_cast<std::byte*>(memory.data());
  PhasedChannel channel;
  of.fill(*beams, channel, {reinterpret_cast<double*>(at), {n, 3}},
          {reinterpret_cast<std::complex<float>*>(at + layout.elements), {beams->frames.size(), n, 4}});
  pack_phased(channel, layout, at);
  double worst = 0, largest = 0;
  for (std::uint32_t station = 0; station < of.array.stations.size(); ++station)
    for (std::uint32_t i = 0; i < n; ++i) {
      const TermMatrix found = phased_matrix(table, phased_terms_at(at, layout, n), station, i);
      const Jones expected = of.expected(station, i);
      for (std::size_t e = 0; e < 4; ++e) {
        BOOST_TEST_REQUIRE(std::isfinite(found.of[e].re + found.of[e].im));
        worst = std::max(worst, std::abs(test::Complex(found.of[e].re, found.of[e].im) - expected[e]));
        largest = std::max(largest, std::abs(expected[e]));
      }
    }
  BOOST_TEST_MESSAGE("largest error: " << worst / largest);
  return worst / largest;
}

}  // namespace

BOOST_AUTO_TEST_CASE(stations_of_lofar_agree_with_one_direction_at_a_time) {
  BOOST_TEST(worst_error(StationKind::lofar, BeamPart::full) < 2e-6);          // measured 3.4e-7
  BOOST_TEST(worst_error(StationKind::lofar, BeamPart::array_factor) < 2e-6);  // measured 1.8e-7
}

BOOST_AUTO_TEST_CASE(stations_of_oskar_agree_with_one_direction_at_a_time) {
  BOOST_TEST(worst_error(StationKind::oskar, BeamPart::full) < 2e-6);          // measured 1.3e-7
  BOOST_TEST(worst_error(StationKind::oskar, BeamPart::array_factor) < 2e-6);  // measured 1.3e-7
}

BOOST_AUTO_TEST_CASE(elements_alone_have_no_phases) {
  const PhasedCase of(StationKind::oskar, BeamPart::element);
  BOOST_TEST(!phased_beams(of.array, BeamPart::element, false).has_value());
  BOOST_TEST(!phased_beams(of.array, BeamPart::full, true).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
