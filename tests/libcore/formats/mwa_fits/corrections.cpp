// SPDX-License-Identifier: GPL-3.0-or-later
// What is taken out of the data and what is flagged: each part by itself.
#include <boost/test/unit_test.hpp>

#include "libcore/base/error.h"
#include "tests/libcore/formats/mwa_fits/observed.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(corrections)

namespace {

constexpr double kRounding = 1.7e-7;  // as in correlator_files.cpp

double error_of(const Observed& observed, const MwaFitsOptions& options) {
  MwaFitsReader reader(observed.write_metafits(), {observed.write_mwax(150)}, options);
  return worst_error(observed, read_all(reader), reader.description());
}

/// The weights of one row, channel by channel, 1 where it is not flagged.
std::vector<int> kept(const std::vector<float>& weight) {
  std::vector<int> result;
  for (std::size_t cell = 0; cell < weight.size(); cell += 4) result.push_back(weight[cell] > 0);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_correction_can_be_left_out) {
  for (int bits = 0; bits < 8; ++bits) {
    Observed observed(6, {149, 150});
    observed.cables = bits & 1;
    observed.geometry = bits & 2;
    observed.gains = bits & 4;
    MwaFitsOptions options;
    options.cable_delays = observed.cables;
    options.geometric_delays = observed.geometry;
    options.digital_gains = observed.gains;
    BOOST_TEST(error_of(observed, options) < kRounding);
  }
}

BOOST_AUTO_TEST_CASE(each_correction_changes_the_data) {
  const Observed observed(6, {149, 150});
  for (int which = 0; which < 3; ++which) {
    MwaFitsOptions options;
    (which == 0   ? options.cable_delays
     : which == 1 ? options.geometric_delays
                  : options.digital_gains) = false;
    BOOST_TEST(error_of(observed, options) > 0.1);
  }
}

BOOST_AUTO_TEST_CASE(delays_that_the_correlator_has_taken_out_stay_out) {
  Observed observed(6, {149, 150});
  observed.cables = observed.geometry = false;
  observed.metafits.cards = {{"CABLEDEL", "1"}, {"GEODEL", "3"}};
  BOOST_TEST(error_of(observed, {}) < kRounding);
  // Another centre is for whoever moves the rows: here they stay where they were tracked.
  MwaFitsOptions elsewhere;
  elsewhere.phase_centre = SkyDirection{1, -0.5};
  BOOST_TEST(error_of(observed, elsewhere) < kRounding);
  MwaFitsOptions pointing;
  pointing.pointing_centre = true;
  BOOST_CHECK_THROW(error_of(observed, pointing), UsageError);
  observed.metafits.cards = {{"CABLEDEL", "1"}, {"GEODEL", "1"}};  // towards the zenith
  BOOST_CHECK_THROW(error_of(observed, {}), DataError);
  MwaFitsOptions as_they_are;
  as_they_are.geometric_delays = false;
  BOOST_TEST(error_of(observed, as_they_are) < kRounding);
}

BOOST_AUTO_TEST_CASE(the_phase_centre_can_be_chosen) {
  Observed observed(6, {149, 150});
  MwaFitsOptions options;
  options.pointing_centre = true;
  observed.centre = {50.8 * kRadPerDeg, -40.5 * kRadPerDeg};
  BOOST_TEST(error_of(observed, options) < kRounding);
  options = {};
  options.phase_centre = observed.centre = SkyDirection{1, -0.5};
  BOOST_TEST(error_of(observed, options) < kRounding);
}

BOOST_AUTO_TEST_CASE(edges_and_middles_of_coarse_channels_are_flagged) {
  using Kept = std::vector<int>;
  const auto flagged = [](const MwaFitsOptions& options, bool mwax) {
    Observed observed(mwax ? 2 : 128, {120, 121});
    observed.metafits.n_fine = 16;  // of 80 kHz
    observed.metafits.fine_khz = 80;
    const auto files =
        mwax ? std::vector<std::string>{observed.write_mwax(120), observed.write_mwax(121)}
             : std::vector<std::string>{observed.write_gpubox(1, 120), observed.write_gpubox(2, 121)};
    MwaFitsReader reader(observed.write_metafits(), files, options);
    const std::vector<ReadRow> rows = read_all(reader);
    const Kept first = kept(rows[0].weight);
    for (const ReadRow& row : rows) BOOST_REQUIRE(kept(row.weight) == first);
    BOOST_REQUIRE(first.size() == 32u);
    BOOST_TEST(Kept(first.begin(), first.begin() + 16) == Kept(first.begin() + 16, first.end()));
    return Kept(first.begin(), first.begin() + 16);
  };
  const Kept edges{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0},
      both{0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0},
      wide{0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0};
  BOOST_TEST(flagged({}, true) == edges);
  BOOST_TEST(flagged({}, false) == both);
  MwaFitsOptions options;
  options.flag_centre = true;
  BOOST_TEST(flagged(options, true) == both);
  options.flag_centre = false;
  BOOST_TEST(flagged(options, false) == edges);
  options.flag_edge_hz = 160e3;
  BOOST_TEST(flagged(options, true) == wide);
  options.flag_edge_hz = 0;
  BOOST_TEST(flagged(options, true) == Kept(16, 1));
  options.flag_edge_hz = 640e3;
  BOOST_CHECK_THROW(flagged(options, true), UsageError);
}

// Data that passed a filter are as if they had not, with weights of their variance: both correlators, whose
// channels are flagged as ever. Channels of the file come in any order.
BOOST_AUTO_TEST_CASE(the_passband_is_divided_out_and_weighs) {
  for (const bool mwax : {false, true}) {
    Observed observed(mwax ? 5 : 128, {120});
    const auto n_fine = static_cast<std::size_t>(observed.metafits.n_fine);
    std::vector<double> power;
    std::string csv = "# measured\nchannel, gain\n";
    for (std::size_t i = 0; i < n_fine; ++i) power.push_back(0.3 + 0.2 * static_cast<double>(i * i % 7));
    for (std::size_t i = n_fine; i-- > 0;) csv += fmt::format("{},{}\n", i, power[i]);
    auto made = observed.integrations(120, kBegin_ms, 1, mwax);
    MwaFitsOptions options;
    options.flag_edge_hz = 0;
    options.flag_centre = false;
    const auto read = [&] {
      const std::string file =
          mwax ? observed.folder.file(observed.mwax_name(120), mwa_mwax_bytes(observed.metafits, made))
               : observed.folder.file(observed.gpubox_name(1), mwa_gpubox_bytes(observed.metafits, made));
      MwaFitsReader reader(observed.write_metafits(), {file}, options);
      const std::vector<ReadRow> rows = read_all(reader);
      return std::pair(worst_error(observed, rows, reader.description()), rows);
    };
    const auto [flat_error, flat] = read();
    const auto signal = made[0].signal;
    made[0].signal = [=](std::size_t i, int p, std::size_t j, int q, int channel) {
      return signal(i, p, j, q, channel) * power[static_cast<std::size_t>(channel)];
    };
    options.passband = observed.folder.file("passband.csv", csv);
    const auto [error, rows] = read();
    BOOST_TEST(flat_error < kRounding);
    BOOST_TEST(error < kRounding);  // 8.7e-8
    BOOST_REQUIRE(rows.size() == flat.size());
    double worst_weight = 0;
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t cell = 0; cell < rows[r].weight.size(); ++cell) {
        const double expected = static_cast<double>(flat[r].weight[cell]) * power[cell / 4] * power[cell / 4];
        BOOST_REQUIRE(expected > 0);
        worst_weight = std::max(worst_weight, std::abs(rows[r].weight[cell] / expected - 1));
      }
    BOOST_TEST(worst_weight < 1.2e-7);  // two roundings of single precision
    options.passband.clear();
    BOOST_TEST(read().first > 0.1);
  }
}

BOOST_AUTO_TEST_CASE(passbands_must_fit_the_files) {
  const Observed observed(2, {120});
  const std::string file = observed.write_mwax(120), metafits = observed.write_metafits();
  const auto n_fine = static_cast<std::size_t>(observed.metafits.n_fine);
  MwaFitsOptions options;
  options.flag_edge_hz = 0;
  const auto read_with = [&](const std::string& first_line, std::size_t n, const std::string& columns) {
    std::string csv = columns + "\n" + first_line + "\n";
    for (std::size_t i = 1; i < n; ++i) csv += fmt::format("{},1\n", i);
    options.passband = observed.folder.file("passband.csv", csv);
    MwaFitsReader reader(metafits, {file}, options);
    return kept(read_all(reader)[0].weight);
  };
  BOOST_TEST(read_with("0,0.5", n_fine, "channel,gain") == std::vector<int>(n_fine, 1));
  std::vector<int> all_but_one(n_fine, 1);
  all_but_one[0] = 0;
  BOOST_TEST(read_with("0,0", n_fine, "channel,gain") == all_but_one);
  for (const char* line : {"0,-1", "0,nan", "0,inf", "0,1e-7", "0,1e7", "0,x", "1,1", "-1,1", "99999,1"})
    BOOST_CHECK_THROW(read_with(line, n_fine, "channel,gain"), DataError);
  BOOST_CHECK_THROW(read_with("0,1", n_fine - 1, "channel,gain"), DataError);
  BOOST_CHECK_THROW(read_with("0,1", n_fine + 1, "channel,gain"), DataError);
  BOOST_CHECK_THROW(read_with("0,1", n_fine, "channel,amplitude"), DataError);
  options.passband = "/nowhere/passband.csv";
  BOOST_CHECK_THROW(MwaFitsReader(metafits, {file}, options), FailureError);
}

BOOST_AUTO_TEST_CASE(integrations_before_data_are_good_are_flagged) {
  const auto n_kept = [](const char* good_time, double flag_begin_s) {
    Observed observed(2, {120});
    observed.metafits.cards = {{"GOODTIME", good_time}};
    MwaFitsOptions options;
    options.flag_begin_s = flag_begin_s;
    MwaFitsReader reader(observed.write_metafits(), {observed.write_mwax(120, kBegin_ms, 4)}, options);
    std::vector<int> result;
    for (const ReadRow& row : read_all(reader)) result.push_back(row.weight[0] > 0);
    BOOST_REQUIRE(result.size() == 12u);
    return std::count(result.begin(), result.end(), 1) / 3 *
           (std::is_sorted(result.begin(), result.end()) ? 1 : -1);
  };
  BOOST_TEST(n_kept("0", -1) == 4);
  BOOST_TEST(n_kept("1512140080.0", -1) == 4);
  BOOST_TEST(n_kept("1512140080.5", -1) == 3);
  BOOST_TEST(n_kept("1512140080.6", -1) == 2);
  BOOST_TEST(n_kept("1512140099", -1) == 0);
  BOOST_TEST(n_kept("1512140099", 0) == 4);
  BOOST_TEST(n_kept("0", 1) == 2);
}

BOOST_AUTO_TEST_CASE(flagged_tiles_are_flagged_unless_they_are_wanted) {
  Observed observed(5, {120});
  observed.metafits.tiles[1].flag = 1;
  const int bad = observed.metafits.tiles[1].antenna;
  for (const bool flag : {true, false}) {
    MwaFitsOptions options;
    options.flag_tiles = flag;
    MwaFitsReader reader(observed.write_metafits(), {observed.write_mwax(120)}, options);
    BOOST_TEST(reader.description().layout.antennas[static_cast<std::size_t>(bad)].flagged == flag);
    for (const ReadRow& row : read_all(reader))
      BOOST_TEST((row.weight[0] > 0) == !(flag && (row.pair.ant1 == bad || row.pair.ant2 == bad)));
  }
}

BOOST_AUTO_TEST_CASE(values_that_are_no_numbers_and_gains_of_0_have_no_weight) {
  Observed observed(3, {120});
  observed.metafits.tiles[0].gains[1] = {0};
  const int dead = observed.metafits.tiles[0].antenna;
  auto made = observed.integrations(120, kBegin_ms, 1, true);
  const auto signal = made[0].signal;
  made[0].signal = [=](std::size_t i, int p, std::size_t j, int q, int channel) {
    return channel == 1 && i == 1 && j == 1 && p == 0 && q == 0 ? std::complex<double>(NAN, 0)
                                                                : signal(i, p, j, q, channel);
  };
  const std::string file =
      observed.folder.file(observed.mwax_name(120), mwa_mwax_bytes(observed.metafits, made));
  MwaFitsOptions options;
  options.flag_edge_hz = 0;
  MwaFitsReader reader(observed.write_metafits(), {file}, options);
  for (const ReadRow& row : read_all(reader))
    for (std::size_t cell = 0; cell < row.weight.size(); ++cell) {
      const bool without_gain =
          (row.pair.ant1 == dead && cell % 4 >= 2) || (row.pair.ant2 == dead && cell % 2 == 1);
      const int nan_tile = observed.metafits.tiles[1].antenna;
      const bool no_number = row.pair.ant1 == nan_tile && row.pair.ant2 == nan_tile && cell == 4;
      BOOST_TEST((row.weight[cell] > 0) == !(without_gain || no_number));
      BOOST_TEST(std::isfinite(row.data[cell].real()));
    }
}

BOOST_AUTO_TEST_SUITE_END()
