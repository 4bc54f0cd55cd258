// SPDX-License-Identifier: GPL-3.0-or-later
// The rows that the host makes: those of many values and few nodes.
#include "kernels/idg/plan/cost.h"

#include <boost/test/unit_test.hpp>

using namespace apsyn::idg_degrid;

BOOST_AUTO_TEST_SUITE(degrid_rows)

namespace {

/// Tracks of 200 rows.
RowCounts counts(std::size_t n_chan, std::size_t n_planes, std::uint64_t n_nodes) {
  constexpr std::uint64_t n_tracks = 2000, n_runs = 200 * n_tracks;
  return {n_runs * n_chan, n_runs, n_tracks, n_tracks * n_nodes, n_tracks * n_nodes * n_chan, n_planes};
}

}  // namespace

BOOST_AUTO_TEST_CASE(many_values_of_few_nodes_are_left_to_the_host) {
  BOOST_CHECK(leaves_rows(counts(16, 4, 14)));
  BOOST_CHECK(leaves_rows(counts(64, 4, 24)));
  BOOST_CHECK(leaves_rows(counts(64, 1, 14)));
  BOOST_CHECK(!leaves_rows(counts(1, 4, 14)));
  BOOST_CHECK(!leaves_rows(counts(4, 1, 14)));
  BOOST_CHECK(!leaves_rows(counts(16, 4, 100)));
  BOOST_CHECK(!leaves_rows({}));
}

BOOST_AUTO_TEST_SUITE_END()
