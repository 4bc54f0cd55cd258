// SPDX-License-Identifier: GPL-3.0-or-later
// Widths and ranges as the command line of search-transients gives them.
#include "tools/search-transients/plan.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(plans)

using Widths = std::vector<std::size_t>;

BOOST_AUTO_TEST_CASE(widths_are_samples_or_times_and_a_range_is_of_the_usual_ones) {
  const auto widths = [](const std::string& text) { return parse_widths(text, 2e-3); };
  BOOST_TEST(widths("3") == Widths({3}), boost::test_tools::per_element());
  BOOST_TEST(widths("8,2,8,5") == Widths({2, 5, 8}), boost::test_tools::per_element());
  BOOST_TEST(widths("10ms,1") == Widths({1, 5}), boost::test_tools::per_element());
  BOOST_TEST(widths("11.1ms") == Widths({6}), boost::test_tools::per_element());  // the nearest
  BOOST_TEST(widths("1:12") == Widths({1, 2, 3, 4, 6, 8, 12}), boost::test_tools::per_element());
  BOOST_TEST(widths("3:10") == Widths({3, 4, 6, 8}), boost::test_tools::per_element());
  BOOST_TEST(widths("4ms: 12ms") == Widths({2, 3, 4, 6}), boost::test_tools::per_element());
  BOOST_TEST(widths("5:5") == Widths({5}), boost::test_tools::per_element());  // between two usual ones
  BOOST_TEST(widths("1048576").size() == 1u);
  for (const char* bad : {"0", "1.5", "-1", "1048577", "0.5ms", "4:2", "", "1,", "x"})
    BOOST_CHECK_THROW(widths(bad), UsageError);
}

BOOST_AUTO_TEST_CASE(a_range_of_dispersion_measures_rises_from_zero_or_is_one) {
  BOOST_TEST(parse_dm_range("5:100").low == 5);
  BOOST_TEST(parse_dm_range("5:100").high == 100);
  BOOST_TEST(parse_dm_range("26.7").low == 26.7);
  BOOST_TEST(parse_dm_range("26.7").high == 26.7);
  BOOST_TEST(parse_dm_range("0:0").high == 0);
  BOOST_TEST(parse_dm_range("0:1000000").high == 1e6);
  for (const char* bad : {"-1:5", "5:4", "0:1000001", ":5", "5:", "a:b", "1:2:3", ""})
    BOOST_CHECK_THROW(parse_dm_range(bad), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
