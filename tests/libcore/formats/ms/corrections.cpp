// SPDX-License-Identifier: GPL-3.0-or-later
// Corrected visibilities in a set: data, weights and flags, as often as they are written.
#include "libcore/formats/ms/corrections.h"

#include <casacore/casa/Arrays/Cube.h>
#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/formats/ms/lock.h"
#include "tests/libcore/formats/ms/ms_observation.h"

using namespace apsyn;
using namespace apsyn::test;
using Complex = std::complex<float>;

BOOST_AUTO_TEST_SUITE(corrections)

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

MsSelection rows_alone(bool by_casacore_alone) {
  MsSelection selection;
  selection.column.clear();
  selection.autos = true;
  selection.by_casacore_alone = by_casacore_alone;
  return selection;
}

/// Doubles the data, multiplies weights by 4 and flags product 1 of row 5.
void correct(const std::string& path, bool by_casacore_alone = false, bool weights = true,
             unsigned n_threads = 2, std::size_t max_rows = 4) {
  const auto lock = lock_measurement_set(path);
  MeasurementSetReader reader(path, rows_alone(by_casacore_alone));
  MsSelection selection;
  selection.by_casacore_alone = by_casacore_alone;
  const CorrectionColumns columns{"DATA", "CORRECTED_DATA", weights};
  CorrectionWriter writer(path, selection, columns, inspect_corrections(path, columns));
  MsRows rows;
  while (reader.next(rows, max_rows))
    writer.correct(rows, n_threads, [&](const CorrectionCells& piece) {
      for (Complex& value : piece.data) value *= 2;
      for (float& weight : piece.weight) weight *= 4;
      for (std::size_t row = 0; row < piece.data.extent(0); ++row)
        if (rows.row_number[piece.first_row + row] == 5)
          for (std::size_t chan = 0; chan < piece.flag.extent(1); ++chan) piece.flag(row, chan, 1) = 1;
    });
  writer.commit({"calibrate 1.0", "calibrate --apply x.h5"});
}

double relative(float found, float expected) {
  return std::abs(static_cast<double>(found) - static_cast<double>(expected)) /
         std::max(1e-30, std::abs(static_cast<double>(expected)));
}

/// A set that was corrected once or twice, against the one that it was.
void check_corrected(const std::string& path, const std::vector<std::vector<Complex>>& data,
                     const std::vector<std::vector<float>>& weight,
                     const std::vector<std::vector<bool>>& flag) {
  const auto corrected = cells<Complex>(path, "CORRECTED_DATA");
  const auto new_weight = cells<float>(path, "WEIGHT_SPECTRUM"), sigma = cells<float>(path, "SIGMA_SPECTRUM");
  const auto new_flag = cells<bool>(path, "FLAG");
  BOOST_TEST((cells<Complex>(path, "DATA") == data));
  BOOST_TEST_REQUIRE(corrected.size() == data.size());
  double worst_weight = 0, worst_sigma = 0;
  for (std::size_t row = 0; row < data.size(); ++row)
    for (std::size_t i = 0; i < data[row].size(); ++i) {
      BOOST_TEST_REQUIRE(corrected[row][i] == data[row][i] * 2.0f);  // flagged ones, too
      worst_weight = std::max(worst_weight, relative(new_weight[row][i], 4 * weight[row][i]));
      const float expected = weight[row][i] > 0 ? 1 / std::sqrt(weight[row][i]) : 0;
      worst_sigma = std::max(worst_sigma, relative(sigma[row][i], expected));
      BOOST_TEST_REQUIRE(new_flag[row][i] == (flag[row][i] || (row == 5 && i % 4 == 1)));
    }
  BOOST_TEST(worst_weight < 4e-7);  // sigma is rounded: 2 eps and a division
  BOOST_TEST(worst_sigma < 2e-7);
}

}  // namespace

BOOST_AUTO_TEST_CASE(correcting_twice_is_correcting_once) {
  for (const bool by_casacore_alone : {false, true}) {
    BOOST_TEST_CONTEXT("by casacore alone: " << by_casacore_alone) {
      ScratchFolder folder;
      const std::string path = folder / "twice.ms";
      Observation observation(ms_description(), 3);
      observation.weight(0, 1, 2, 0) = 0;  // flagged
      observation.write(path);
      const auto data = cells<Complex>(path, "DATA");
      const auto weight = cells<float>(path, "WEIGHT_SPECTRUM");
      const auto flag = cells<bool>(path, "FLAG");
      correct(path, by_casacore_alone);
      check_corrected(path, data, weight, flag);
      const auto once = cells<float>(path, "WEIGHT_SPECTRUM");
      correct(path, by_casacore_alone, true, 1, 7);
      check_corrected(path, data, weight, flag);
      BOOST_TEST((cells<float>(path, "WEIGHT_SPECTRUM") == once));  // to the bit
    }
  }
}

BOOST_AUTO_TEST_CASE(weights_of_data_are_read_from_their_sigma) {
  ScratchFolder folder;
  const std::string path = folder / "weights.ms";
  Observation observation(ms_description(), 2);
  observation.write(path);
  MsSelection selection;
  selection.weights_of_sigma = true;
  const auto read_weights = [&] {
    MeasurementSetReader reader(path, selection);
    MsRows rows;
    std::vector<float> all;
    while (reader.read(rows, 100)) all.insert(all.end(), rows.weight.begin(), rows.weight.end());
    return all;
  };
  const std::vector<float> before = read_weights();
  correct(path);
  const std::vector<float> after = read_weights();
  selection.weights_of_sigma = false;
  const std::vector<float> corrected = read_weights();
  BOOST_TEST_REQUIRE(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (after[i] == 0) continue;  // flagged meanwhile
    BOOST_TEST(relative(after[i], before[i]) < 4e-7);
    BOOST_TEST(relative(corrected[i], 4 * before[i]) < 4e-7);
  }
}

BOOST_AUTO_TEST_CASE(weights_may_stay) {
  ScratchFolder folder;
  const std::string path = folder / "stay.ms";
  Observation observation(ms_description(), 2);
  observation.write(path);
  const auto weight = cells<float>(path, "WEIGHT_SPECTRUM");
  correct(path, false, false);
  BOOST_TEST((cells<float>(path, "WEIGHT_SPECTRUM") == weight));
  BOOST_TEST(!casacore::Table(path).tableDesc().isColumn("SIGMA_SPECTRUM"));
}

BOOST_AUTO_TEST_CASE(a_set_without_weights_of_channels_gets_them) {
  ScratchFolder folder;
  const std::string path = folder / "plain.ms";
  Observation observation(ms_description(), 2);
  observation.write(path);
  edit(path).removeColumn("WEIGHT_SPECTRUM");
  const auto weight = cells<float>(path, "WEIGHT");
  correct(path);
  const auto spectrum = cells<float>(path, "WEIGHT_SPECTRUM"), sigma = cells<float>(path, "SIGMA_SPECTRUM");
  for (std::size_t row = 0; row < spectrum.size(); ++row)
    for (std::size_t i = 0; i < spectrum[row].size(); ++i) {
      BOOST_TEST(relative(spectrum[row][i], 4 * weight[row][i % 4]) < 4e-7);
      if (weight[row][i % 4] > 0) {
        BOOST_TEST(relative(sigma[row][i], 1 / std::sqrt(weight[row][i % 4])) < 2e-7);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_run_that_was_cut_short_is_completed_by_another) {
  ScratchFolder folder;
  const std::string path = folder / "cut.ms";
  Observation observation(ms_description(), 3);
  observation.write(path);
  const auto data = cells<Complex>(path, "DATA");
  const auto weight = cells<float>(path, "WEIGHT_SPECTRUM");
  const auto flag = cells<bool>(path, "FLAG");
  {
    // The first rows alone, as after a kill.
    const auto lock = lock_measurement_set(path);
    MeasurementSetReader reader(path, rows_alone(false));
    const CorrectionColumns columns;
    CorrectionWriter writer(path, {}, columns, inspect_corrections(path, columns));
    MsRows rows;
    reader.next(rows, 4);
    writer.correct(rows, 1, [](const CorrectionCells& piece) {
      for (float& w : piece.weight) w *= 4;
    });
  }
  correct(path);
  check_corrected(path, data, weight, flag);
}

BOOST_AUTO_TEST_CASE(wrong_columns_are_refused_before_anything_changes) {
  ScratchFolder folder;
  const std::string path = folder / "wrong.ms";
  Observation observation(ms_description(), 1);
  observation.write(path);
  const auto inspect = [&](const CorrectionColumns& columns) { inspect_corrections(path, columns); };
  BOOST_CHECK_THROW(inspect({"DATA", "DATA", true}), UsageError);
  BOOST_CHECK_THROW(inspect({"DATA", "UVW", true}), UsageError);
  BOOST_CHECK_THROW(inspect({"NOTHING", "CORRECTED_DATA", true}), DataError);
  BOOST_TEST(!casacore::Table(path).tableDesc().isColumn("CORRECTED_DATA"));
}

BOOST_AUTO_TEST_SUITE_END()
