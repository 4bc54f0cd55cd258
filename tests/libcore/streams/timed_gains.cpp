// SPDX-License-Identifier: GPL-3.0-or-later
// Gains of voltages from solutions: between times, of fine channels, where none are, and files that come
// later.
#include "libcore/streams/timed_gains.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <complex>
#include <filesystem>
#include <string>
#include <vector>

#include "libcore/array/gains.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "libcore/streams/open_voltages.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(timed_gains)

namespace {

constexpr double kInterval_s = 10, kWidth_hz = 1e5, kFirst_hz = 150e6;
const UtcTime kStart = from_mjd_seconds(5.2e9);

ArrayLayout three_antennas() {
  ArrayLayout layout = builtin_array("mwa-32t");
  layout.antennas.resize(3);
  return layout;
}

/// Amplitude 1 + time + antenna, phase 0.3 (time + 1) (polarisation + 1); two channels. The first interval
/// begins at kStart.
Solutions some_gains() {
  Solutions solutions;
  solutions.antennas = solution_antennas(three_antennas());
  SolutionTable table;
  table.term = "gain";
  for (int time = 0; time < 3; ++time) {
    table.time_mjd_s.push_back(kStart.mjd_seconds() + kInterval_s * (time + 0.5));
    table.interval_s.push_back(kInterval_s);
  }
  for (int chan = 0; chan < 2; ++chan) {
    table.freq_hz.push_back(kFirst_hz + kWidth_hz * chan);
    table.width_hz.push_back(kWidth_hz);
  }
  table.resize(3, 2);
  for (std::size_t time = 0; time < 3; ++time)
    for (std::size_t ant = 0; ant < 3; ++ant)
      for (std::size_t chan = 0; chan < 2; ++chan)
        for (std::size_t pol = 0; pol < 2; ++pol)
          table.values(time, 0, ant, chan, pol) =
              std::polar(1.0 + static_cast<double>(time + ant),
                         0.3 * static_cast<double>((time + 1) * (pol + 1)) + (chan == 1 ? 0.1 : 0.0));
  solutions.tables.push_back(std::move(table));
  return solutions;
}

const std::vector<double> kChannels{kFirst_hz, kFirst_hz + kWidth_hz};

bool refused(const Error& error) {
  BOOST_TEST_MESSAGE(error.what());
  return error.status() == ExitStatus::usage;
}

}  // namespace

BOOST_AUTO_TEST_CASE(gains_lie_between_the_solutions_of_two_times) {
  const Scratch scratch;
  write_h5parm(scratch.path("cal.h5"), some_gains());
  BOOST_TEST(holds_solutions(scratch.path("cal.h5")));
  TimedGains gains(scratch.path("cal.h5"), three_antennas(), 2, kChannels, kStart, false);
  // before the first centre that one is held
  BOOST_TEST(std::abs(gains.gains()(1, 1, 0) - std::polar(2.0, 0.6)) < 1e-12);
  BOOST_TEST(!gains.look(kInterval_s / 70));
  const auto expect = [&](double t_s, double amplitude, double phase) {
    BOOST_TEST(gains.look(t_s), "at " << t_s << " s");
    for (std::size_t ant = 0; ant < 3; ++ant)
      for (std::size_t pol = 0; pol < 2; ++pol)
        for (std::size_t chan = 0; chan < 2; ++chan) {
          const auto wanted = std::polar(amplitude + static_cast<double>(ant),
                                         phase * static_cast<double>(pol + 1) + (chan == 1 ? 0.1 : 0.0));
          BOOST_TEST(std::abs(gains.gains()(ant, pol, chan) - wanted) < 1e-6);
        }
  };
  expect(7.5, 1.25, 0.375);
  BOOST_TEST(!gains.look(7.5 + kInterval_s / 65));
  expect(7.5 + kInterval_s / 8, 1.375, 0.4125);
  expect(12, 1.7, 0.51);
  // after the last, however long ago
  expect(1e6, 3, 0.9);
  BOOST_TEST(!gains.look(2e6));
}

BOOST_AUTO_TEST_CASE(flagged_solutions_leave_antennas_and_channels_out) {
  const Scratch scratch;
  Solutions solutions = some_gains();
  SolutionTable& table = solutions.tables[0];
  for (std::size_t time = 0; time < 3; ++time)
    for (std::size_t pol = 0; pol < 2; ++pol) {
      table.weight(time, 0, 2, 0, pol) = 0;
      for (std::size_t ant = 0; ant < 3; ++ant) table.weight(time, 0, ant, 1, pol) = 0;
    }
  write_h5parm(scratch.path("cal.h5"), solutions);
  TimedGains gains(scratch.path("cal.h5"), three_antennas(), 2, kChannels, kStart, false);
  BOOST_TEST(std::isnan(gains.gains()(2, 0, 0).real()));
  BOOST_TEST(antennas_without_gains(gains.gains()) == (std::vector<std::uint8_t>{0, 0, 1}));
  BOOST_TEST(channels_without_gains(gains.gains()) == (std::vector<std::uint8_t>{0, 1}));
  const auto inverse = inverse_gains(gains.gains(), 6);
  BOOST_TEST(std::abs(inverse(1, 0, 0) - std::polar(3.0, -0.3)) < 1e-6);
  BOOST_TEST(inverse(1, 0, 1) == 0.0);
}

// A delay turns fine channels by other phases than their input channel.
BOOST_AUTO_TEST_CASE(delays_become_gains_of_fine_channels) {
  const Scratch scratch;
  Solutions solutions = some_gains();
  SolutionTable delay;
  delay.type = SolutionType::delay_s;
  delay.term = "delay";
  delay.time_mjd_s = {kStart.mjd_seconds()};
  delay.interval_s = {0};
  delay.freq_hz = {kFirst_hz};
  delay.width_hz = {2 * kWidth_hz};
  delay.resize(3, 1);
  delay.values(0, 0, 1, 0, 0) = 3e-7;
  solutions.tables[0] = std::move(delay);
  write_h5parm(scratch.path("cal.h5"), solutions);
  TimedGains gains(scratch.path("cal.h5"), three_antennas(), 1, kChannels, kStart, false);
  std::vector<double> fine_hz;
  for (int i = 0; i < 16; ++i) fine_hz.push_back(kFirst_hz - 5e4 + 12.5e3 * i);
  gains.set_channels(fine_hz);
  BOOST_TEST_REQUIRE(gains.gains().extent(2) == 16U);
  for (std::size_t i = 0; i < 16; ++i) {
    BOOST_TEST(std::abs(gains.gains()(1, 0, i) - std::polar(1.0, kTwoPi * fine_hz[i] * 3e-7)) < 1e-7);
    BOOST_TEST(gains.gains()(0, 0, i) == 1.0);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_gain_of_a_voltage_is_refused) {
  const Scratch scratch;
  Solutions solutions = some_gains();
  SolutionTable leakage = std::move(some_gains().tables[0]);
  leakage.type = SolutionType::leakage;
  leakage.resize(3, 4);
  solutions.tables.push_back(std::move(leakage));
  write_h5parm(scratch.path("leakage.h5"), solutions);
  const auto open = [&](const char* name) {
    TimedGains(scratch.path(name), three_antennas(), 2, kChannels, kStart, false);
  };
  BOOST_CHECK_EXCEPTION(open("leakage.h5"), Error, refused);
  solutions = some_gains();
  solutions.directions = {{"north", {1, 0.5}}};
  solutions.tables[0].direction = {0};
  write_h5parm(scratch.path("patches.h5"), solutions);
  BOOST_CHECK_EXCEPTION(open("patches.h5"), Error, refused);
  solutions = some_gains();
  for (SolutionAntenna& antenna : solutions.antennas) antenna.name += "x";
  write_h5parm(scratch.path("others.h5"), solutions);
  BOOST_CHECK_THROW(open("others.h5"), DataError);
}

BOOST_AUTO_TEST_CASE(files_may_come_later_and_be_replaced) {
  const Scratch scratch;
  const std::string path = scratch.path("cal.h5");
  TimedGains gains(path, three_antennas(), 2, kChannels, kStart, true);
  BOOST_TEST(gains.gains()(2, 1, 1) == 1.0);
  BOOST_TEST(!gains.look(1));
  write_h5parm(path, some_gains());
  BOOST_TEST(gains.look(2));
  BOOST_TEST(std::abs(gains.gains()(1, 0, 0) - std::polar(2.0, 0.3)) < 1e-6);
  BOOST_TEST(!gains.look(2));
  scratch.file("other", "nonsense");
  std::filesystem::rename(scratch.path("other"), path);
  BOOST_TEST(!gains.look(2));
  BOOST_TEST(std::abs(gains.gains()(1, 0, 0) - std::polar(2.0, 0.3)) < 1e-6);
  Solutions twice = some_gains();
  for (auto& value : twice.tables[0].values) value *= 2;
  write_h5parm(scratch.path("next.h5"), twice);
  std::filesystem::rename(scratch.path("next.h5"), path);
  BOOST_TEST(gains.look(2));
  BOOST_TEST(std::abs(gains.gains()(1, 0, 0) - std::polar(4.0, 0.3)) < 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
