// SPDX-License-Identifier: GPL-3.0-or-later
// Sets with parts that are missing, damaged, or contradict each other.
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <functional>
#include <iterator>

#include "libcore/base/error.h"
#include "tests/libcore/formats/ms/ms_observation.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(damage)

namespace {

std::string error_of(const std::string& path, const MsSelection& selection = {}) {
  try {
    MeasurementSetReader reader(path, selection);
    MsRows rows;
    while (reader.read(rows, 100)) {
    }
  } catch (const DataError& error) {
    return error.what();
  }
  return "no DataError";
}

}  // namespace

BOOST_AUTO_TEST_CASE(missing_parts_are_named) {
  ScratchFolder folder;
  const std::string original = folder / "a.ms", path = folder / "b.ms";
  Observation(ms_description(), 1).write(original);
  const auto broken = [&](const std::function<void()>& damage) {
    fs::remove_all(path);
    fs::copy(original, path, fs::copy_options::recursive);
    damage();
    return error_of(path);
  };
  for (const char* column : {"TIME", "INTERVAL", "ANTENNA1", "ANTENNA2", "FIELD_ID", "DATA_DESC_ID",
                             "FLAG_ROW", "UVW", "FLAG", "WEIGHT", "DATA"}) {
    const std::string error = broken([&] { edit(path).renameColumn("RENAMED", column); });
    BOOST_TEST(error.find(path + ": ") == 0u, error);
    BOOST_TEST(error.find("no column " + std::string(column)) != std::string::npos, error);
  }
  for (const char* table :
       {"ANTENNA", "FIELD", "OBSERVATION", "SPECTRAL_WINDOW", "POLARIZATION", "DATA_DESCRIPTION"}) {
    std::string error = broken([&] { edit(path).rwKeywordSet().removeField(table); });
    BOOST_TEST(error.find("no subtable " + std::string(table)) != std::string::npos, error);
    error = broken([&] { fs::remove_all(path + "/" + table); });
    BOOST_TEST(error.find(table) != std::string::npos, error);
  }
  MsSelection corrected;
  corrected.column = "CORRECTED_DATA";
  BOOST_TEST(error_of(original, corrected).find("its data columns are: DATA") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(contradictions_are_data_errors) {
  ScratchFolder folder;
  const std::string original = folder / "a.ms", path = folder / "b.ms";
  Observation(ms_description(), 1).write(original);
  const auto error_after = [&](const std::string& table,
                               const std::function<void(casacore::Table&)>& damage) {
    fs::remove_all(path);
    fs::copy(original, path, fs::copy_options::recursive);
    {
      casacore::Table damaged = edit(path + "/" + table);
      damage(damaged);
    }
    return error_of(path);
  };
  using casacore::ArrayColumn;
  using casacore::Int;
  using casacore::ScalarColumn;
  using casacore::Table;
  using casacore::Vector;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::tuple<const char*, std::function<void(Table&)>, const char*> cases[] = {
      {"", [](Table& t) { ScalarColumn<Int>(t, "ANTENNA2").put(1, 99); }, "antennas 0 and 99"},
      {"", [](Table& t) { ScalarColumn<Int>(t, "ANTENNA1").put(1, -1); }, "antennas -1"},
      {"", [](Table& t) { ScalarColumn<Int>(t, "FIELD_ID").put(2, 5); }, "FIELD_ID 5"},
      {"", [](Table& t) { ScalarColumn<Int>(t, "DATA_DESC_ID").put(3, -2); }, "DATA_DESC_ID -2"},
      {"", [&](Table& t) { ScalarColumn<double>(t, "TIME").put(3, nan); }, "TIME"},
      {"", [](Table& t) { t.rwKeywordSet().define("MS_VERSION", 1.0f); }, "MS_VERSION 1"},
      {"SPECTRAL_WINDOW",
       [](Table& t) {
         ArrayColumn<double>(t, "CHAN_FREQ").put(0, Vector<double>(3, 1e8));
         ArrayColumn<double>(t, "CHAN_WIDTH").put(0, Vector<double>(3, 1e4));
       },
       "DATA has shape"},
      {"SPECTRAL_WINDOW",
       [](Table& t) { ArrayColumn<double>(t, "CHAN_FREQ").put(0, Vector<double>(3, 1e8)); }, "3 frequencies"},
      {"SPECTRAL_WINDOW",
       [&](Table& t) { ArrayColumn<double>(t, "CHAN_FREQ").put(0, Vector<double>(4, nan)); }, "channel 0"},
      {"POLARIZATION", [](Table& t) { ArrayColumn<Int>(t, "CORR_TYPE").put(0, Vector<Int>(4, 9)); }, "twice"},
      {"POLARIZATION", [](Table& t) { ArrayColumn<Int>(t, "CORR_TYPE").put(0, Vector<Int>(1, 77)); },
       "CORR_TYPE 77"},
      {"POLARIZATION", [](Table& t) { ArrayColumn<Int>(t, "CORR_TYPE").put(0, Vector<Int>(1, 9)); },
       "DATA has shape"},
      {"DATA_DESCRIPTION", [](Table& t) { ScalarColumn<Int>(t, "SPECTRAL_WINDOW_ID").put(0, 1); },
       "no spectral window 1"},
      {"ANTENNA", [&](Table& t) { ArrayColumn<double>(t, "POSITION").put(1, Vector<double>(3, nan)); },
       "POSITION"},
      {"ANTENNA", [](Table& t) { t.removeRow(2); }, "antennas"},
      {"FIELD", [](Table& t) { t.removeRow(0); }, "FIELD_ID 0"}};
  for (const auto& [table, damage, expected] : cases) {
    const std::string error = error_after(table, damage);
    BOOST_TEST(error.find(expected) != std::string::npos, "'" << error << "' lacks '" << expected << "'");
  }
}

// Rows are looked at ahead of their cells.
BOOST_AUTO_TEST_CASE(rows_before_a_bad_one_are_read) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  Observation(ms_description(), 50).write(path);
  {
    casacore::Table table = edit(path);
    casacore::ScalarColumn<casacore::Int>(table, "ANTENNA2").put(150, 99);
  }
  MsSelection all;
  all.autos = true;
  MeasurementSetReader reader(path, all);
  MsRows rows;
  for (int pass = 0; pass < 2; ++pass) {
    BOOST_TEST_REQUIRE(reader.read(rows, 100));
    BOOST_TEST(rows.row_number.back() == 99);
    BOOST_CHECK_EXCEPTION(reader.read(rows, 100), DataError, [](const DataError& error) {
      return std::string(error.what()).find("row 150: antennas") != std::string::npos;
    });
    BOOST_TEST_REQUIRE(reader.read(rows, 100));  // those behind them
    BOOST_TEST(rows.row_number.front() == 200);
    reader.rewind();
  }
}

BOOST_AUTO_TEST_CASE(truncated_files_never_crash) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms", kept = folder / "kept";
  Observation(ms_description(), 2).write(path);
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path());
  int n_refused = 0, n_nameless = 0;
  for (const fs::path& file : files) {
    fs::copy_file(file, kept, fs::copy_options::overwrite_existing);
    for (std::uintmax_t divisor : {2, 1000000000}) {
      fs::resize_file(file, fs::file_size(kept) / divisor);
      try {
        MeasurementSetReader reader(path, {});
        MsRows rows;
        while (reader.read(rows, 100)) {
        }
      } catch (const Error& error) {
        ++n_refused;
        BOOST_TEST((error.status() == ExitStatus::malformed || error.status() == ExitStatus::failure));
        // casacore reads some files without knowing their name.
        const std::string said = error.what();
        n_nameless += said.find("incorrect number of bytes read: not") != said.npos;
        BOOST_TEST(said.find(" :") == said.npos, said);
      }
    }
    fs::copy_file(kept, file, fs::copy_options::overwrite_existing);
  }
  BOOST_TEST(n_refused >= 20);
  BOOST_TEST(n_nameless > 0);
  BOOST_TEST(error_of(path) == "no DataError");
}

BOOST_AUTO_TEST_CASE(tiles_of_another_shape_are_refused) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  Observation(ms_description(), 2).write(path);
  // The cube's shape as the headers of the tiled managers keep it: 4 products, 4 channels, 12 rows.
  const std::string shape("\0\0\0\4\0\0\0\4\0\0\0\x0c", 12);
  int n_found = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const std::size_t at = bytes.find(shape);
    if (at == std::string::npos) continue;
    ++n_found;
    file.clear();
    file.seekp(static_cast<std::streamoff>(at) + 6);
    file.write("\xff\xff", 2);
  }
  BOOST_TEST(n_found == 3);  // DATA, FLAG and WEIGHT_SPECTRUM
  BOOST_TEST(error_of(path).find("damaged") != std::string::npos, error_of(path));
}

BOOST_AUTO_TEST_SUITE_END()
