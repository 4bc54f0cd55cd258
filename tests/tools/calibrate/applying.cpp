// SPDX-License-Identifier: GPL-3.0-or-later
// Solutions on the data that they were found from: what is left is the model, with the weights that noise
// deserves, as often as they are applied.
#include <casacore/casa/Arrays/Array.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/tools/calibrate/distorted_set.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(applying)

namespace {

template <class T>
std::vector<std::vector<T>> cells(const std::string& path, const std::string& name) {
  const casacore::Table table(path);
  const casacore::ArrayColumn<T> column(table, name);
  std::vector<std::vector<T>> result;
  for (casacore::rownr_t row = 0; row < table.nrow(); ++row) {
    const casacore::Array<T> cell = column(row);
    result.emplace_back(cell.begin(), cell.end());
  }
  return result;
}

/// Each time under another name: casacore remembers the tables of a process by their path.
std::string snapshot(const std::string& ms) {
  static int number = 0;
  const std::string copy = ms + "." + std::to_string(number++);
  std::filesystem::copy(ms, copy, std::filesystem::copy_options::recursive);
  return copy;
}

struct Run {
  reference::Scratch scratch;
  std::string ms = scratch.path("obs.ms"), log = scratch.path("log");

  explicit Run(const DistortedSet& set) {
    scratch.file("sky.txt", set.sky_text());
    set.write(ms);
  }
  void must(const std::string& arguments) {
    const int status = run_calibrate("'" + ms + "' " + arguments, log);
    BOOST_TEST_REQUIRE(status == 0, scratch.read("log"));
  }
  std::string file(const std::string& name) const { return "'" + scratch.path(name) + "'"; }
};

/// The largest difference of the unflagged parallel hands of a column from the model, and of its cross hands
/// from 0.
double largest_residual(const std::string& path, const std::string& column, const DistortedSet& set) {
  const auto data = cells<std::complex<float>>(path, column);
  const auto flag = cells<bool>(path, "FLAG");
  const auto uvw = cells<double>(path, "UVW");
  double worst = 0;
  std::size_t n = 0;
  for (std::size_t row = 0; row < data.size(); ++row) {
    const double sign = set.conjugated ? -1 : 1;
    const Vec3 at{sign * uvw[row][0], sign * uvw[row][1], sign * uvw[row][2]};
    for (std::size_t i = 0; i < data[row].size(); ++i) {
      if (flag[row][i]) continue;
      const std::size_t product = i % 4;
      Complex expected = product == 0 || product == 3 ? set.brightness(at, set.channel_hz(i / 4)) : 0;
      if (set.conjugated) expected = std::conj(expected);
      worst = std::max(worst, std::abs(Complex(data[row][i]) - expected));
      ++n;
    }
  }
  BOOST_TEST(n > 1000u);
  BOOST_TEST_MESSAGE("largest residual: " << worst << " Jy");
  return worst;
}

Matrix2 diagonal(std::size_t ant, std::size_t time, double hz) {
  const double a = static_cast<double>(ant), t = static_cast<double>(time);
  return {std::polar(1 + 0.3 * std::sin(3 * a), 2 * std::sin(5 * a) + 0.1 * t * std::cos(a)), 0, 0,
          std::polar(1 + 0.3 * std::sin(7 * a), 3 * std::sin(4 * a) + (hz - 150e6) / 1e6 * std::cos(a))};
}

}  // namespace

BOOST_AUTO_TEST_CASE(corrected_data_are_the_model) {
  DistortedSet set;
  set.jones = diagonal;
  set.reversed_rows = true;
  for (const bool conjugated : {false, true}) {
    set.conjugated = conjugated;
    Run run(set);
    run.must("--sky " + run.file("sky.txt") + " --solve gain:interval=8s -o " + run.file("cal.h5"));
    run.must("--apply " + run.file("cal.h5"));
    BOOST_TEST(largest_residual(run.ms, "CORRECTED_DATA", set) < 1e-4);  // of 16 Jy; measured 2.2e-5
    BOOST_TEST(largest_residual(run.ms, "DATA", set) > 1);
  }
}

BOOST_AUTO_TEST_CASE(matrices_correct_leakage) {
  DistortedSet set;
  set.n_antennas = 12;
  set.jones = [](std::size_t ant, std::size_t time, double hz) {
    const double a = static_cast<double>(ant);
    const Matrix2 leakage{1, 0.05 * std::polar(1.0, 2 * a), 0.05 * std::polar(1.0, a * a), 1};
    return product(diagonal(ant, time, hz), leakage);
  };
  Run run(set);
  run.must("--sky " + run.file("sky.txt") + " --solve jones:interval=8s --output-column CORRECTED_DATA -o " +
           run.file("cal.h5"));
  BOOST_TEST(largest_residual(run.ms, "CORRECTED_DATA", set) < 1e-4);  // measured 2.1e-5
  // Diagonal terms before, leakage behind them.
  run.must("--sky " + run.file("sky.txt") +
           " --solve gain:interval=8s --solve leakage:channels=1,interval=8s --overwrite --output-column "
           "CHAIN -o " +
           run.file("cal.h5"));
  BOOST_TEST(largest_residual(run.ms, "CHAIN", set) <
             0.05);  // gains were found without leakages; measured 0.026
}

BOOST_AUTO_TEST_CASE(weights_are_those_of_the_noise_and_not_applied_twice) {
  DistortedSet set;
  set.jones = diagonal;
  set.flagged_fraction = 0.02;
  set.n_antennas = 12;
  Run run(set);
  const auto weight = cells<float>(snapshot(run.ms), "WEIGHT_SPECTRUM");
  run.must("--sky " + run.file("sky.txt") + " --solve gain:interval=8s -o " + run.file("cal.h5"));
  run.must("--apply " + run.file("cal.h5"));
  const std::string once = snapshot(run.ms);
  const auto first = cells<float>(once, "WEIGHT_SPECTRUM");
  const casacore::Table table(once);
  const casacore::ScalarColumn<casacore::Int> ant1(table, "ANTENNA1"), ant2(table, "ANTENNA2");
  const std::size_t n_rows = table.nrow(), per_time = n_rows / set.n_times;
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t i = 0; i < first[row].size(); ++i) {
      const double hz = set.channel_hz(i / 4);
      const std::size_t time = row / per_time, a = i % 4 / 2, b = i % 2;
      const double size2 = std::norm(set.jones(static_cast<std::size_t>(ant1(row)), time, hz)[3 * a]) *
                           std::norm(set.jones(static_cast<std::size_t>(ant2(row)), time, hz)[3 * b]);
      const double expected = static_cast<double>(weight[row][i]) * size2;
      BOOST_TEST_REQUIRE(std::abs(static_cast<double>(first[row][i]) - expected) <= 1e-4 * expected);
    }
  run.must("--apply " + run.file("cal.h5") + " --threads 1");
  const std::string twice = snapshot(run.ms);
  BOOST_TEST((cells<float>(twice, "WEIGHT_SPECTRUM") == first));
  BOOST_TEST((cells<std::complex<float>>(twice, "CORRECTED_DATA") ==
              cells<std::complex<float>>(once, "CORRECTED_DATA")));
  // Solving after applying sees the weights of DATA as they were.
  run.must("--sky " + run.file("sky.txt") + " --solve gain:interval=8s -o " + run.file("again.h5"));
  run.must("--apply " + run.file("again.h5") + " --output-column AGAIN");
  const auto before = cells<std::complex<float>>(once, "CORRECTED_DATA"),
             after = cells<std::complex<float>>(snapshot(run.ms), "AGAIN");
  double worst = 0;
  const auto flag = cells<bool>(once, "FLAG");
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t i = 0; i < before[row].size(); ++i)
      if (!flag[row][i]) worst = std::max(worst, std::abs(Complex(before[row][i]) - Complex(after[row][i])));
  BOOST_TEST(worst < 1e-4);
}

BOOST_AUTO_TEST_CASE(corrupting_undoes_correcting) {
  DistortedSet set;
  set.jones = diagonal;
  Run run(set);
  run.must("--sky " + run.file("sky.txt") + " --solve gain:interval=8s -o " + run.file("cal.h5"));
  run.must("--apply " + run.file("cal.h5"));
  run.must("--apply " + run.file("cal.h5") + " --column CORRECTED_DATA --corrupt --output-column RAW");
  const std::string copy = snapshot(run.ms);
  const auto raw = cells<std::complex<float>>(copy, "RAW"), data = cells<std::complex<float>>(copy, "DATA");
  double worst = 0;
  for (std::size_t row = 0; row < raw.size(); ++row)
    for (std::size_t i = 0; i < raw[row].size(); ++i)
      worst = std::max(worst, std::abs(Complex(raw[row][i]) - Complex(data[row][i])));
  BOOST_TEST(worst < 2e-5);
}

BOOST_AUTO_TEST_CASE(missing_solutions_flag_their_data) {
  DistortedSet set;
  set.jones = diagonal;
  set.gap_s = 1000;
  Run run(set);
  // The second half of the times lies farther than an interval from what is solved.
  const std::string first_half = run.scratch.path("first.ms");
  DistortedSet half = set;
  half.n_times = 2;
  half.gap_s = 0;
  half.write(first_half);
  BOOST_TEST_REQUIRE(run_calibrate("'" + first_half + "' --sky " + run.file("sky.txt") +
                                       " --solve gain:interval=8s -o " + run.file("cal.h5"),
                                   run.log) == 0);
  run.must("--apply " + run.file("cal.h5"));
  const auto flag = cells<bool>(run.ms, "FLAG");
  for (std::size_t row = 0; row < flag.size(); ++row)
    for (const bool flagged : flag[row]) BOOST_TEST_REQUIRE(flagged == (row >= flag.size() / 2));
  BOOST_TEST(run.scratch.read("log").find("flagged") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
