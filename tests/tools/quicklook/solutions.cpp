// SPDX-License-Identifier: GPL-3.0-or-later
// What is said of solutions: where and when they hold, and each antenna's medians, phases and flags.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "tests/reference/scratch.h"
#include "tests/support/some_solutions.h"
#include "tools/quicklook/quicklook.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(solutions)

namespace {

using some_solutions::Shape;

Json stats_of_file(const Solutions& solutions, const std::string& soltabs = "",
                   const std::string& direction = "", bool picture = false) {
  const reference::Scratch scratch;
  Tool tool("quicklook", "");
  QuicklookOptions options;
  options.inputs = {scratch.path("cal.h5")};
  options.picture = picture;
  options.soltabs = soltabs;
  options.direction = direction;
  write_h5parm(options.inputs[0], solutions);
  return look_at_solutions(tool, options).stats;
}

/// Of an odd number of values.
double median(std::vector<double> values) {
  BOOST_TEST_REQUIRE(values.size() % 2 == 1);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

BOOST_AUTO_TEST_CASE(antennas_have_the_median_amplitude_and_the_mean_phase_of_what_is_good) {
  SolutionTable table = some_solutions::table(SolutionType::gain, {3, 4, 5, 2}, 1);
  some_solutions::flag(table, 1, 2, 3, 0, SolutionFlag::low_snr);
  std::vector<double> sizes;
  std::complex<double> sum = 0;
  for (std::size_t time = 0; time < 3; ++time)
    for (std::size_t chan = 0; chan < 5; ++chan)
      for (std::size_t pol = 0; pol < 2; ++pol) {
        if (time == 1 && chan == 3 && pol == 0) continue;
        const std::complex<double> g = table.values(time, 0, 2, chan, pol);
        sizes.push_back(std::abs(g));
        sum += g / std::abs(g);
      }
  const Json stats = stats_of_file(some_solutions::solutions(std::move(table)));
  BOOST_TEST(stats["kind"] == "solutions");
  BOOST_TEST(stats["antennas"] == 4u);
  BOOST_TEST(stats["receptors"] == "linear");
  const Json& gains = stats["gains"][2];
  BOOST_TEST(gains["antenna"] == "ant2");
  BOOST_TEST(std::abs(gains["flagged_fraction"].get<double>() - 1.0 / 30) < 1e-12);
  BOOST_TEST(std::abs(gains["median_amplitude"].get<double>() - median(sizes)) < 1e-6);
  BOOST_TEST(std::abs(gains["phase_of_mean_deg"].get<double>() - std::arg(sum) / kRadPerDeg) < 1e-4);
  BOOST_TEST(std::abs(gains["phase_coherence"].get<double>() - std::abs(sum) / 29) < 1e-6);
  BOOST_TEST(stats["gains"][0]["flagged_fraction"] == 0);
  const Json& one = stats["tables"][0];
  BOOST_TEST(one["type"] == "gain");
  BOOST_TEST(one["times"] == 3u);
  BOOST_TEST(one["channels"] == 5u);
  BOOST_TEST(one["polarisations"] == 2u);
  BOOST_TEST(one["interval_s"] == 8);
  BOOST_TEST(one["first_hz"] == some_solutions::kFirst_hz);
  BOOST_TEST(one["last_hz"] == some_solutions::kFirst_hz + 4 * some_solutions::kWidth_hz);
  // Slots of 8 s about 5e9, 5e9 + 8 and 5e9 + 16 s.
  BOOST_TEST(one["start_utc"] == format_fits_utc(from_mjd_seconds(5e9 - 4)));
  BOOST_TEST(one["end_utc"] == format_fits_utc(from_mjd_seconds(5e9 + 20)));
  BOOST_TEST(std::abs(one["flagged_fraction"].get<double>() - 1.0 / 120) < 1e-9);
}

// Of matrices the diagonal counts for amplitudes and phases, and all elements for flags.
BOOST_AUTO_TEST_CASE(matrices_are_summarised_by_their_diagonal) {
  SolutionTable table = some_solutions::table(SolutionType::gain, {2, 3, 2, 4}, 1);
  some_solutions::flag(table, 1, 1, 1, 3, SolutionFlag::outlier);
  some_solutions::flag(table, 0, 1, 1, 2, SolutionFlag::outlier);
  std::vector<double> sizes;
  for (std::size_t time = 0; time < 2; ++time)
    for (std::size_t chan = 0; chan < 2; ++chan)
      for (const std::size_t pol : {0, 3})
        if (time + chan + pol < 5) sizes.push_back(std::abs(table.values(time, 0, 1, chan, pol)));
  const Json stats = stats_of_file(some_solutions::solutions(std::move(table)));
  BOOST_TEST(std::abs(stats["gains"][1]["flagged_fraction"].get<double>() - 2.0 / 16) < 1e-12);
  BOOST_TEST(stats["tables"][0]["polarisations"] == 4u);
  BOOST_TEST(std::abs(stats["gains"][1]["median_amplitude"].get<double>() - median(sizes)) < 1e-6);
}

// Of several tables the one with the most values is shown; a constant of all times and frequencies has no
// date.
BOOST_AUTO_TEST_CASE(the_largest_table_is_shown_unless_others_are_chosen) {
  const auto make = [] {
    return some_solutions::solutions(some_solutions::table(SolutionType::delay_s, {1, 4, 1, 2}, 1),
                                     some_solutions::table(SolutionType::gain, {3, 4, 2, 2}, 2),
                                     some_solutions::table(SolutionType::phase, {3, 4, 2, 2}, 3));
  };
  Json stats = stats_of_file(make());
  BOOST_TEST(stats["tables"].size() == 3u);
  BOOST_TEST(stats["shown_term"] == stats["tables"][1]["term"]);  // the first of two as large
  const Json& constant = stats["tables"][0];
  for (const char* none : {"start_utc", "end_utc", "interval_s"})
    BOOST_TEST((constant[none].is_number() && std::isnan(constant[none].get<double>())), none);
}

BOOST_AUTO_TEST_CASE(delays_have_medians_in_seconds_and_patches_their_names) {
  Solutions solutions =
      some_solutions::solutions(some_solutions::table(SolutionType::tec_tecu, {3, 4, 1, 1, {0, 1}}, 1));
  solutions.tables[0].weight(2, 1, 3, 0, 0) = 0;
  solutions.tables[0].flag(2, 1, 3, 0, 0) = SolutionFlag::low_snr;
  std::vector<double> tec;
  for (std::size_t time = 0; time < 3; ++time)
    for (std::size_t dir = 0; dir < 2; ++dir)
      if (time + dir < 3) tec.push_back(solutions.tables[0].values(time, dir, 3, 0, 0).real());
  const Json stats = stats_of_file(solutions);
  BOOST_TEST(std::abs(stats["gains"][3]["median_tec_tecu"].get<double>() - median(tec)) < 1e-9);
  BOOST_TEST(!stats["gains"][3].contains("median_amplitude"));
  BOOST_TEST_REQUIRE(stats["directions"].size() == 2u);
  BOOST_TEST(stats["directions"][0]["direction"] == "east");
  BOOST_TEST(std::abs(stats["directions"][1]["ra_deg"].get<double>() - 0.28 / kRadPerDeg) < 1e-4);
  BOOST_TEST(std::abs(stats["directions"][1]["dec_deg"].get<double>() + 0.5 / kRadPerDeg) < 1e-4);
  BOOST_CHECK_NO_THROW(stats_of_file(solutions, "", "west", true));
  BOOST_CHECK_THROW(stats_of_file(solutions, "", "north", true), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
