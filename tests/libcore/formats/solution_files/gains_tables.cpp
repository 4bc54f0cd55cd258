// SPDX-License-Identifier: GPL-3.0-or-later
// Gains as text, through the reader that correlate, beamform and epic-image use.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <string>

#include "libcore/array/gains.h"
#include "libcore/base/error.h"
#include "libcore/formats/solution_files/solution_files.h"
#include "tests/reference/scratch.h"
#include "tests/support/some_solutions.h"

using namespace apsyn;
using reference::Scratch;
using some_solutions::table;

BOOST_AUTO_TEST_SUITE(gains_tables)

namespace {

constexpr double kPolar = 1e-15;

ArrayLayout layout_of(const Solutions& solutions) {
  ArrayLayout layout;
  for (const SolutionAntenna& antenna : solutions.antennas)
    layout.antennas.emplace_back().name = antenna.name;
  return layout;
}

}  // namespace

BOOST_AUTO_TEST_CASE(gains_come_back_through_the_reader_of_the_tools) {
  const Scratch scratch;
  const Solutions written = some_solutions::solutions(table(SolutionType::gain, {1, 4, 3, 2, {}}, 1),
                                                      table(SolutionType::phase, {1, 4, 1, 1, {}}, 2));
  const SolutionWriteReport report = write_solutions(scratch.path("a.csv"), written);
  BOOST_TEST(report.flagged_antennas.empty());
  BOOST_TEST(report.warnings.empty());
  const auto gains = read_gains_csv(scratch.path("a.csv"), layout_of(written), 2, 3);
  for (std::size_t ant = 0; ant < 4; ++ant)
    for (std::size_t pol = 0; pol < 2; ++pol)
      for (std::size_t chan = 0; chan < 3; ++chan)
        BOOST_TEST(std::abs(gains(ant, pol, chan) - written.tables[0].values(0, 0, ant, chan, pol) *
                                                        written.tables[1].values(0, 0, ant, 0, 0)) < kPolar);
  SolutionReadOptions options;
  options.context = SolutionContext{{"ant0", "ant1", "ant2", "ant3"}, written.tables[0].freq_hz, 0, 0};
  const Solutions found = read_solutions(scratch.path("a.csv"), options);
  BOOST_TEST(std::abs(found.tables[0].values(0, 0, 2, 1, 1) - gains(2, 1, 1)) < kPolar);
}

// One solution for all channels, and for both polarisations, has no column for them.
BOOST_AUTO_TEST_CASE(columns_that_say_nothing_are_left_out) {
  const Scratch scratch;
  write_solutions(scratch.path("a.csv"),
                  some_solutions::solutions(table(SolutionType::gain, {1, 4, 1, 1, {}}, 1)));
  BOOST_TEST(scratch.read("a.csv").find("\nantenna,gain_amplitude,phase_rad\n") != std::string::npos);
  write_solutions(scratch.path("b.csv"),
                  some_solutions::solutions(table(SolutionType::gain, {1, 4, 1, 2, {}}, 1)));
  BOOST_TEST(scratch.read("b.csv").find("\nantenna,pol,gain_amplitude,phase_rad\n") != std::string::npos);
}

// No row would mean a gain of 1.
BOOST_AUTO_TEST_CASE(flagged_antennas_are_named_and_have_no_gain) {
  const Scratch scratch;
  Solutions written = some_solutions::solutions(table(SolutionType::gain, {1, 4, 3, 2, {}}, 1));
  for (const std::size_t chan : {0u, 1u, 2u})
    some_solutions::flag(written.tables[0], 0, 2, chan, 1, SolutionFlag::no_data);
  some_solutions::flag(written.tables[0], 0, 1, 0, 0, SolutionFlag::low_snr);
  const SolutionWriteReport report = write_solutions(scratch.path("a.csv"), written);
  BOOST_TEST(report.flagged_antennas == std::vector<std::string>{"ant2"});
  BOOST_TEST(report.warnings.size() == 1u);
  const std::string text = scratch.read("a.csv");
  BOOST_TEST(text.find("\nant2,,,nan,nan\n") != std::string::npos);
  const auto gains = read_gains_csv(scratch.path("a.csv"), layout_of(written), 2, 3);
  BOOST_TEST(antennas_without_gains(gains) == (std::vector<std::uint8_t>{0, 0, 1, 0}));
  SolutionReadOptions options;
  options.context = SolutionContext{{"ant0", "ant1", "ant2", "ant3"}, written.tables[0].freq_hz, 0, 0};
  const Solutions found = read_solutions(scratch.path("a.csv"), options);
  for (std::size_t ant = 0; ant < 4; ++ant)
    BOOST_TEST((found.tables[0].weight(0, 0, ant, 1, 1) == 0) == (ant == 2));
  BOOST_TEST(std::abs(gains(1, 0, 0) - written.tables[0].values(0, 0, 1, 1, 0)) <
             kPolar);  // of its neighbour
}

BOOST_AUTO_TEST_CASE(channels_are_cut_to_those_of_the_stream) {
  const Scratch scratch;
  const Solutions written = some_solutions::solutions(table(SolutionType::gain, {1, 4, 2, 1, {}}, 1));
  SolutionWriteOptions options;
  options.n_chan = 6;
  write_solutions(scratch.path("a.csv"), written, options);
  const auto gains = read_gains_csv(scratch.path("a.csv"), layout_of(written), 1, 6);
  for (std::size_t chan = 0; chan < 6; ++chan)
    BOOST_TEST(std::abs(gains(3, 0, chan) - written.tables[0].values(0, 0, 3, chan / 3, 0)) < kPolar);
}

BOOST_AUTO_TEST_CASE(what_the_text_cannot_hold_is_refused) {
  const Scratch scratch;
  const auto refused = [&](const Solutions& solutions) {
    BOOST_CHECK_THROW(write_solutions(scratch.path("a.csv"), solutions), UsageError);
    BOOST_TEST(!scratch.exists("a.csv"));
  };
  refused(some_solutions::solutions(table(SolutionType::gain, {2, 4, 1, 2, {}}, 1)));
  refused(some_solutions::solutions(table(SolutionType::gain, {1, 4, 1, 4, {}}, 1)));
  refused(some_solutions::solutions(table(SolutionType::delay_s, {1, 4, 1, 2, {}}, 1)));
  refused(some_solutions::solutions(table(SolutionType::gain, {1, 4, 1, 2, {0, 1}}, 1)));
  BOOST_CHECK_THROW(
      write_solutions(scratch.path("a.txt"), some_solutions::solutions(table(SolutionType::gain, {}, 1))),
      UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
