// SPDX-License-Identifier: GPL-3.0-or-later
// Sets that are copied, averaged, moved and joined, against loops in float64 over what they were made of.
#include <casacore/casa/Arrays/Array.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>
#include <tuple>

#include "libcore/cli/tool.h"
#include "libcore/measures/coordinates.h"
#include "tests/libcore/formats/ms/ms_observation.h"
#include "tests/libcore/formats/ms/set_columns.h"
#include "tools/transform/joined_sets.h"
#include "tools/transform/open_sources.h"
#include "tools/transform/row_sink.h"
#include "tools/transform/set_pass.h"

using namespace apsyn;
using namespace apsyn::support;
using namespace apsyn::test;
using namespace apsyn::transform;

BOOST_AUTO_TEST_SUITE(sets)

namespace {

/// Transforms as the program does it. Returns the rows of the output.
std::int64_t transform_sets(const Options& options, const std::string& output, unsigned n_threads = 2) {
  Tool tool("transform", "");
  tool.common().threads = n_threads;
  tool.common().max_memory_bytes = 1'000'000'000;
  tool.common().quiet = true;
  tool.common().progress = "off";
  JoinedSets joined(options, open_sources(options));
  const UvwCheck uvw = options.centre ? joined.check_uvw() : UvwCheck{};
  const SetPlan plan = plan_sets(tool, options, joined, uvw);
  const auto sink = make_set_sink(output, joined.describe(options), false, plan.n_rows, options.inputs,
                                  options.selection.column);
  run_sets(tool, options, joined, plan, uvw, *sink);
  sink->commit();
  return plan.n_rows;
}

template <class T>
void check_same(const std::vector<T>& a, const std::vector<T>& b, const std::string& what) {
  BOOST_TEST_CONTEXT(what) {
    BOOST_TEST_REQUIRE(a.size() == b.size());
    std::size_t n_different = 0;
    for (std::size_t i = 0; i < a.size(); ++i) n_different += a[i] != b[i];
    BOOST_TEST(n_different == 0);
  }
}

/// A third of the cells without weight, and of one baseline all at first.
Observation observation(std::size_t times) {
  Observation made(ms_description(), times);
  std::size_t i = 0;
  for (float& weight : made.weight)
    if (++i % 3 == 0) weight = 0;
  for (std::size_t t = 0; t < std::min<std::size_t>(times, 3); ++t)
    for (std::size_t chan = 0; chan < 4; ++chan)
      for (std::size_t p = 0; p < 4; ++p) made.weight(t, 1, chan, p) = 0;
  return made;
}

constexpr double kRounding = std::numeric_limits<float>::epsilon();

}  // namespace

BOOST_AUTO_TEST_CASE(a_copy_has_the_same_cells_and_scalars) {
  ScratchFolder folder;
  observation(5).write(folder / "in.ms");
  Options options;
  options.inputs = {folder / "in.ms"};
  BOOST_TEST(transform_sets(options, folder / "out.ms") == 30);
  for (const char* name : {"DATA"})
    check_same(cells<casacore::Complex>(folder / "in.ms", name),
               cells<casacore::Complex>(folder / "out.ms", name), name);
  for (const char* name : {"WEIGHT_SPECTRUM", "WEIGHT", "SIGMA"})
    check_same(cells<float>(folder / "in.ms", name), cells<float>(folder / "out.ms", name), name);
  check_same(cells<bool>(folder / "in.ms", "FLAG"), cells<bool>(folder / "out.ms", "FLAG"), "FLAG");
  check_same(cells<double>(folder / "in.ms", "UVW"), cells<double>(folder / "out.ms", "UVW"), "UVW");
  for (const char* name : {"TIME", "TIME_CENTROID", "INTERVAL", "EXPOSURE"})
    check_same(scalars<double>(folder / "in.ms", name), scalars<double>(folder / "out.ms", name), name);
  for (const char* name : {"ANTENNA1", "ANTENNA2", "FIELD_ID", "DATA_DESC_ID", "SCAN_NUMBER"})
    check_same(scalars<int>(folder / "in.ms", name), scalars<int>(folder / "out.ms", name), name);
  check_same(scalars<bool>(folder / "in.ms", "FLAG_ROW"), scalars<bool>(folder / "out.ms", "FLAG_ROW"),
             "FLAG_ROW");
}

BOOST_AUTO_TEST_CASE(means_are_those_of_a_loop) {
  ScratchFolder folder;
  const Observation made = observation(7);
  made.write(folder / "in.ms");
  for (const unsigned n_threads : {1u, 3u}) {
    const std::string out = folder / ("out" + std::to_string(n_threads) + ".ms");
    Options options;
    options.inputs = {folder / "in.ms"};
    options.average_time_s = 6;    // 3 integrations, 1 at the end
    options.average_channels = 3;  // of 4
    const std::size_t n_baselines = made.baselines.size();
    BOOST_TEST_REQUIRE(transform_sets(options, out, n_threads) == static_cast<std::int64_t>(3 * n_baselines));
    const auto data = cells<casacore::Complex>(out, "DATA");
    const auto weight = cells<float>(out, "WEIGHT_SPECTRUM");
    const auto flag = cells<bool>(out, "FLAG");
    const auto uvw = cells<double>(out, "UVW");
    const auto time = scalars<double>(out, "TIME"), centroid = scalars<double>(out, "TIME_CENTROID"),
               interval = scalars<double>(out, "INTERVAL"), exposure = scalars<double>(out, "EXPOSURE");
    for (std::size_t row = 0; row < time.size(); ++row) {
      const std::size_t b = row % n_baselines, first = row / n_baselines * 3,
                        end = std::min<std::size_t>(7, first + 3);
      BOOST_TEST(interval[row] == 2.0 * static_cast<double>(end - first));
      BOOST_TEST(time[row] == (made.time_s(first) + made.time_s(end - 1)) / 2);
      double all = 0, at_s = 0, exposed = 0;
      std::array<double, 3> at{};
      for (std::size_t t = first; t < end; ++t) {
        double of_row = 0;
        for (std::size_t i = 0; i < 16; ++i) of_row += static_cast<double>(made.weight(t, b, i / 4, i % 4));
        all += of_row;
        at_s += of_row * static_cast<double>(t - first) * 2;
        if (of_row > 0) exposed += 1.9;
        for (std::size_t k = 0; k < 3; ++k) at[k] += of_row * made.uvw_m(t, b, k);
      }
      if (all > 0) {
        BOOST_TEST(std::abs(exposure[row] - exposed) <= 1e-9);
        BOOST_TEST(std::abs(centroid[row] - made.time_s(first) - at_s / all) <= 2e-6);  // of MJD in seconds
        for (std::size_t k = 0; k < 3; ++k) BOOST_TEST(std::abs(uvw[3 * row + k] - at[k] / all) <= 1e-9);
      } else {  // without any weight all count the same
        const auto n = static_cast<double>(end - first);
        BOOST_TEST(std::abs(exposure[row] - 1.9 * n) <= 1e-9);
        BOOST_TEST(std::abs(centroid[row] - time[row]) <= 2e-6);
        for (std::size_t k = 0; k < 3; ++k) {
          double sum = 0;
          for (std::size_t t = first; t < end; ++t) sum += made.uvw_m(t, b, k);
          BOOST_TEST(std::abs(uvw[3 * row + k] - sum / n) <= 1e-9);
        }
      }
      for (std::size_t group = 0; group < 2; ++group)
        for (std::size_t p = 0; p < 4; ++p) {
          std::complex<double> sum = 0;
          double total = 0, scale = 0;
          for (std::size_t t = first; t < end; ++t)
            for (std::size_t chan = 3 * group; chan < std::min<std::size_t>(4, 3 * group + 3); ++chan) {
              const double w = static_cast<double>(made.weight(t, b, chan, p));
              sum += w * std::complex<double>(made.data(t, b, chan, p));
              total += w;
              scale = std::max(scale, std::abs(std::complex<double>(made.data(t, b, chan, p))));
            }
          const std::size_t i = (row * 2 + group) * 4 + p;
          BOOST_TEST(flag[i] == (total == 0));
          BOOST_TEST(std::abs(static_cast<double>(weight[i]) - total) <= 2 * kRounding * total);
          if (total > 0)
            BOOST_TEST(std::abs(std::complex<double>(data[i]) - sum / total) <= 2 * kRounding * scale);
        }
    }
    const auto freq_hz = cells<double>(out + "/SPECTRAL_WINDOW", "CHAN_FREQ"),
               width_hz = cells<double>(out + "/SPECTRAL_WINDOW", "CHAN_WIDTH");
    BOOST_TEST(freq_hz == std::vector<double>({150.01e6, 150.03e6}), boost::test_tools::per_element());
    BOOST_TEST(width_hz == std::vector<double>({30e3, 10e3}), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(phases_follow_w_to_the_new_centre_and_back) {
  ScratchFolder folder;
  const Observation made = observation(3);
  made.write(folder / "in.ms");
  Options options;
  options.inputs = {folder / "in.ms"};
  options.centre = SkyDirection{345 * kRadPerDeg, -22 * kRadPerDeg};
  transform_sets(options, folder / "there.ms");
  const auto from = cells<casacore::Complex>(folder / "in.ms", "DATA"),
             to = cells<casacore::Complex>(folder / "there.ms", "DATA");
  const auto old_uvw = cells<double>(folder / "in.ms", "UVW"),
             uvw = cells<double>(folder / "there.ms", "UVW");
  double moved = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t row = i / 16, chan = i % 16 / 4;
    const double path_m = uvw[3 * row + 2] - old_uvw[3 * row + 2];
    const double phase = -2 * kPi * path_m * made.set.channel_hz[chan] / kSpeedOfLight_m_s;
    BOOST_TEST(
        std::abs(std::complex<double>(to[i]) - std::complex<double>(from[i]) * std::polar(1.0, phase)) <=
        2 * kRounding * std::abs(std::complex<double>(from[i])));
    moved = std::max(moved, std::abs(path_m));
  }
  BOOST_TEST(moved > 10);
  for (std::size_t row = 0; row < uvw.size() / 3; ++row)  // a rotation keeps lengths
    BOOST_TEST(std::abs(std::hypot(uvw[3 * row], uvw[3 * row + 1], uvw[3 * row + 2]) -
                        std::hypot(old_uvw[3 * row], old_uvw[3 * row + 1], old_uvw[3 * row + 2])) <= 1e-9);
  options.inputs = {folder / "there.ms"};
  options.centre = made.set.phase_centre;
  transform_sets(options, folder / "back.ms");
  const auto back = cells<casacore::Complex>(folder / "back.ms", "DATA");
  for (std::size_t i = 0; i < from.size(); ++i)
    BOOST_TEST(std::abs(std::complex<double>(back[i]) - std::complex<double>(from[i])) <=
               1e-6 * std::abs(std::complex<double>(from[i])));
}

// Coordinates that follow from the antennas are those of the new centre, aberration and all, and phases
// follow them; of sets of the opposite convention, too.
BOOST_AUTO_TEST_CASE(coordinates_of_antennas_are_those_of_the_new_centre) {
  for (const double sign : {1.0, -1.0}) {
    ScratchFolder folder;
    Observation made = observation(3);
    const SkyFrame frame(*made.set.layout.site);
    const std::size_t n_base = made.baselines.size();
    const auto uvw_of = [&](std::size_t row, const SkyDirection& centre) {
      const auto& [i, j] = made.baselines[row % n_base];
      const auto& antennas = made.set.layout.antennas;
      const Vec3 enu =
          antennas[static_cast<std::size_t>(i)].enu_m - antennas[static_cast<std::size_t>(j)].enu_m;
      return multiply(frame.uvw_rotation(from_mjd_seconds(made.time_s(row / n_base)), centre), enu);
    };
    for (std::size_t row = 0; row < 3 * n_base; ++row)
      for (std::size_t axis = 0; axis < 3; ++axis)
        made.uvw_m(row / n_base, row % n_base, axis) = sign * uvw_of(row, made.set.phase_centre)[axis];
    made.write(folder / "in.ms");
    Options options;
    options.inputs = {folder / "in.ms"};
    options.centre = SkyDirection{345 * kRadPerDeg, -22 * kRadPerDeg};
    transform_sets(options, folder / "there.ms");
    const auto uvw = cells<double>(folder / "there.ms", "UVW");
    const auto from = cells<casacore::Complex>(folder / "in.ms", "DATA"),
               to = cells<casacore::Complex>(folder / "there.ms", "DATA");
    for (std::size_t row = 0; row < 3 * n_base; ++row) {
      const Vec3 expected = uvw_of(row, *options.centre), before = uvw_of(row, made.set.phase_centre);
      for (std::size_t axis = 0; axis < 3; ++axis)
        BOOST_TEST(std::abs(uvw[3 * row + axis] - sign * expected[axis]) <=
                   1e-6);  // 250 m times 2^-27 of a time
      for (std::size_t i = 16 * row; i < 16 * row + 16; ++i) {
        const double turns =
            sign * (expected[2] - before[2]) * made.set.channel_hz[i % 16 / 4] / kSpeedOfLight_m_s;
        const std::complex<double> v(from[i]);
        BOOST_TEST(std::abs(std::complex<double>(to[i]) - v * std::polar(1.0, -2 * kPi * turns)) <=
                   5e-6 * std::abs(v));
      }
    }
  }
}

// The middle between the outer edges, of channels that rise or fall and are not evenly wide.
BOOST_AUTO_TEST_CASE(averaged_channels_lie_between_their_edges) {
  MsSpectralWindow window;
  window.channel_hz = {100, 101.5, 104};  // edges 99.5, 100.5, 102.5, 105.5
  window.width_hz = {1, 2, 3};
  MsSpectralWindow falling = window;
  std::reverse(falling.channel_hz.begin(), falling.channel_hz.end());
  std::reverse(falling.width_hz.begin(), falling.width_hz.end());
  const MsSpectralWindow two = averaged_window(window, 2), all = averaged_window(falling, 3);
  BOOST_TEST(two.channel_hz == std::vector<double>({101, 104}), boost::test_tools::per_element());
  BOOST_TEST(two.width_hz == std::vector<double>({3, 3}), boost::test_tools::per_element());
  BOOST_TEST(all.channel_hz == std::vector<double>({102.5}), boost::test_tools::per_element());
  BOOST_TEST(all.width_hz == std::vector<double>({6}), boost::test_tools::per_element());
  window.name = "low band";
  window.frame = "LSRK";
  BOOST_TEST(averaged_window(window, 2).name == "low band");
  BOOST_TEST(averaged_window(window, 2).frame == "LSRK");
}

BOOST_AUTO_TEST_CASE(halves_of_a_set_become_the_whole_again) {
  ScratchFolder folder;
  observation(6).write(folder / "in.ms");
  Options options;
  options.inputs = {folder / "in.ms"};
  options.selection.n_intervals = 2;
  transform_sets(options, folder / "first.ms");
  options.selection.first_interval = 2;
  options.selection.n_intervals = -1;
  transform_sets(options, folder / "second.ms");
  Options both;
  both.inputs = {folder / "second.ms", folder / "first.ms"};
  transform_sets(both, folder / "joined.ms");
  check_same(cells<casacore::Complex>(folder / "in.ms", "DATA"),
             cells<casacore::Complex>(folder / "joined.ms", "DATA"), "DATA");
  check_same(scalars<double>(folder / "in.ms", "TIME"), scalars<double>(folder / "joined.ms", "TIME"),
             "TIME");
  check_same(scalars<int>(folder / "in.ms", "ANTENNA2"), scalars<int>(folder / "joined.ms", "ANTENNA2"),
             "ANTENNA2");

  // Halves of the band become two windows.
  options.selection = {};
  options.selection.n_channels = 2;
  transform_sets(options, folder / "low.ms");
  options.selection.first_channel = 2;
  transform_sets(options, folder / "high.ms");
  both.inputs = {folder / "low.ms", folder / "high.ms"};
  transform_sets(both, folder / "band.ms");
  BOOST_TEST(casacore::Table(folder / "band.ms/SPECTRAL_WINDOW").nrow() == 2);
  const auto window = scalars<int>(folder / "band.ms", "DATA_DESC_ID");
  BOOST_TEST(window.size() == 72);
  BOOST_TEST(std::count(window.begin(), window.end(), 1) == 36);
}

// Fields of the same name and direction are one, whatever their numbers in their sets; others stay apart.
BOOST_AUTO_TEST_CASE(rows_of_joined_sets_keep_their_fields) {
  ScratchFolder folder;
  MsDescription first = ms_description(), second = ms_description();
  first.more_fields = {{"calibrator", {1, -0.4}}};
  second.source = "calibrator";
  second.phase_centre = {1, -0.4};
  second.more_fields = {{"third", {2, 0.3}}, {"3C 48", ms_description().phase_centre}};
  const auto write = [&](const std::string& name, const MsDescription& set, double begin_s,
                         const std::vector<int>& fields) {
    const Observation made(set, fields.size());
    MeasurementSetWriter writer(folder / name, set, false);
    for (std::size_t t = 0; t < fields.size(); ++t) {
      MsWriteRows rows{begin_s + 2.0 * static_cast<double>(t),
                       2.0,
                       2.0,
                       made.uvw_m.view()[t],
                       &made.baselines,
                       made.data.view()[t],
                       made.weight.view()[t]};
      rows.row_field.assign(made.baselines.size(), fields[t]);
      writer.write(rows);
    }
    writer.commit();
  };
  write("first.ms", first, 5.1e9, {0, 1, 0});
  write("second.ms", second, 5.1e9 + 100, {1, 0, 2});
  Options options;
  options.inputs = {folder / "second.ms", folder / "first.ms"};
  transform_sets(options, folder / "joined.ms");
  const auto names = scalars<casacore::String>(folder / "joined.ms/FIELD", "NAME");
  BOOST_TEST(names.size() == 3u);
  const auto field = scalars<int>(folder / "joined.ms", "FIELD_ID");
  const char* expected[] = {"3C 48", "calibrator", "3C 48", "third", "calibrator", "3C 48"};
  BOOST_TEST_REQUIRE(field.size() == 36u);
  for (std::size_t row = 0; row < field.size(); ++row)
    BOOST_TEST(names.at(static_cast<std::size_t>(field[row])) == expected[row / 6]);
}

BOOST_AUTO_TEST_CASE(rows_are_counted_before_they_are_written_whatever_decides) {
  ScratchFolder folder;
  observation(9).write(folder / "in.ms");
  Options options;
  options.inputs = {folder / "in.ms"};
  int number = 0;
  const auto check = [&] {
    const std::string out = folder / ("out" + std::to_string(number++) + ".ms");
    const std::int64_t n_rows = transform_sets(options, out);
    const auto interval = scalars<double>(out, "INTERVAL");
    BOOST_TEST(static_cast<std::int64_t>(interval.size()) == n_rows);
    // A row that nobody wrote has none.
    BOOST_TEST(std::count(interval.begin(), interval.end(), 0.0) == 0);
    return n_rows;
  };
  options.bda_loss = 0.01;
  options.bda_radius_rad = 1.2;
  options.average_time_s = 60;
  const std::int64_t n_rows = check();
  BOOST_TEST(n_rows > 6);
  BOOST_TEST(n_rows < 54);
  options.centre = SkyDirection{1, -0.4};
  check();
  options.min_uvw_m = 50;
  check();
  options.bda_loss = 0;
  options.average_time_s = 0;
  BOOST_TEST(check() == 27);  // no autocorrelations
  options.baselines = "0:1";
  options.min_uvw_m = 0;
  BOOST_TEST(check() == 9);
  options.antennas = "0,2";
  options.baselines.clear();
  BOOST_TEST(check() == 27);
  options.no_autos = true;
  BOOST_TEST(check() == 9);
}

// Rows that are only chosen are as they were, values under flags included, at the ends of the set, too.
BOOST_AUTO_TEST_CASE(rows_chosen_by_their_coordinates_keep_values_under_flags) {
  ScratchFolder folder;
  MsDescription set = ms_description();
  set.layout.antennas[1].flagged = false;
  Observation observation(set, 3);
  for (std::size_t t = 0; t < 3; ++t) observation.weight(t, 4, 1, 2) = 0;  // of antennas 1 and 2
  observation.write(folder / "in.ms");
  Options options;
  options.inputs = {folder / "in.ms"};
  options.min_uvw_m = 150;
  BOOST_TEST(transform_sets(options, folder / "out.ms") == 2 * 3);  // baselines 0-2 and 1-2
  const auto data = cells<casacore::Complex>(folder / "out.ms", "DATA");
  const auto flags = cells<bool>(folder / "out.ms", "FLAG");
  BOOST_TEST_REQUIRE(data.size() == 6u * 16);
  for (std::size_t t = 0; t < 3; ++t)
    for (std::size_t row = 0; row < 2; ++row)
      for (std::size_t i = 0; i < 16; ++i) {
        const std::size_t at = (2 * t + row) * 16 + i;
        BOOST_TEST((data[at] == observation.data(t, row == 0 ? 2 : 4, i / 4, i % 4)));
        BOOST_TEST(flags[at] == (row == 1 && i == 4 + 2));
      }
}

BOOST_AUTO_TEST_SUITE_END()
