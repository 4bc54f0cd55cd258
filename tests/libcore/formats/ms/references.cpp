// SPDX-License-Identifier: GPL-3.0-or-later
// Sets whose rows lie in others: selections of rows, concatenations, and columns that forward to another set.
#include <casacore/tables/DataMan/ForwardCol.h>
#include <casacore/tables/Tables/SetupNewTab.h>
#include <casacore/tables/Tables/TableCopy.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/formats/ms/columns.h"
#include "tests/libcore/formats/ms/ms_observation.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(references)

namespace {

/// The set `path` of every `step`-th row of the set `from`, which stay there.
void select_rows(const std::string& from, const std::string& path, casacore::rownr_t first,
                 casacore::rownr_t step) {
  const casacore::Table table(from);
  std::vector<casacore::rownr_t> rows;
  for (casacore::rownr_t row = first; row < table.nrow(); row += step) rows.push_back(row);
  table(casacore::RowNumbers(rows)).rename(path, casacore::Table::New);
}

void concatenate(const std::vector<std::string>& from, const std::string& path) {
  casacore::Block<casacore::String> names(from.size());
  std::copy(from.begin(), from.end(), names.begin());
  casacore::Table(names, casacore::Block<casacore::String>(), casacore::Table::Old)
      .rename(path, casacore::Table::New);
}

using Row = std::pair<const Observation*, std::size_t>;  ///< of an observation

void check_rows(const std::string& path, const std::vector<Row>& expected) {
  MsSelection selection;
  selection.autos = true;
  MeasurementSetReader reader(path, selection);
  MsRows rows;
  std::size_t n_seen = 0;
  while (reader.read(rows, 5))
    for (std::size_t i = 0; i < rows.ant1.size(); ++i, ++n_seen) {
      const auto at = static_cast<std::size_t>(rows.row_number[i]);
      BOOST_REQUIRE(at < expected.size());
      const auto& [seen, row] = expected[at];
      const std::size_t n = seen->baselines.size();
      BOOST_TEST(rows.ant2[i] == seen->baselines[row % n].ant2);
      BOOST_TEST(rows.uvw_m(i, 1) == seen->uvw_m(row / n, row % n, 1));
      BOOST_TEST((rows.data(i, 3, 1) == seen->data(row / n, row % n, 3, 1)));
      BOOST_TEST(rows.weight(i, 2, 0) == seen->weight(row / n, row % n, 2, 0));
    }
  BOOST_TEST(n_seen == expected.size());
}

/// Doubles the channels that the tiled managers believe to be in a cell.
void damage_tiles(const std::string& path) {
  const std::string shape("\0\0\0\4\0\0\0\4\0\0\0", 11);  // 4 products, 4 channels, some rows
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const std::size_t at = bytes.find(shape);
    if (at == std::string::npos) continue;
    file.clear();
    file.seekp(static_cast<std::streamoff>(at) + 7);
    file.put('\x08');
  }
}

MsSelection column(const std::string& name) {
  MsSelection selection;
  selection.column = name;
  return selection;
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_of_other_sets_are_read) {
  ScratchFolder folder;
  const Observation a(ms_description(), 2), b(ms_description(), 3);
  a.write(folder / "a.ms");
  b.write(folder / "b.ms");
  std::vector<Row> odd, both, mixed;
  for (std::size_t row = 1; row < 12; row += 2) odd.emplace_back(&a, row);
  for (std::size_t row = 0; row < 12; ++row) both.emplace_back(&a, row);
  for (std::size_t row = 0; row < 18; ++row) both.emplace_back(&b, row);
  for (std::size_t row = 4; row < both.size(); row += 5) mixed.push_back(both[row]);

  select_rows(folder / "a.ms", folder / "odd.ms", 1, 2);
  check_rows(folder / "odd.ms", odd);
  concatenate({folder / "a.ms", folder / "b.ms"}, folder / "both.ms");
  check_rows(folder / "both.ms", both);
  select_rows(folder / "both.ms", folder / "mixed.ms", 4, 5);
  check_rows(folder / "mixed.ms", mixed);
}

BOOST_AUTO_TEST_CASE(damage_behind_them_shows) {
  ScratchFolder folder;
  Observation(ms_description(), 2).write(folder / "a.ms");
  Observation(ms_description(), 2).write(folder / "b.ms");
  select_rows(folder / "b.ms", folder / "some.ms", 1, 2);
  concatenate({folder / "a.ms", folder / "b.ms"}, folder / "both.ms");
  damage_tiles(folder / "b.ms");
  for (const char* name : {"some.ms", "both.ms"}) {
    MsSelection selection;
    selection.autos = true;
    const auto read = [&] {
      MeasurementSetReader reader(folder / name, selection);
      MsRows rows;
      while (reader.read(rows, 5)) {
      }
    };
    BOOST_CHECK_THROW(read(), DataError);
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_written_into_other_sets) {
  ScratchFolder folder;
  Observation(ms_description(), 2).write(folder / "a.ms");
  Observation(ms_description(), 2).write(folder / "b.ms");
  select_rows(folder / "a.ms", folder / "some.ms", 1, 2);
  concatenate({folder / "a.ms", folder / "b.ms"}, folder / "both.ms");
  for (const char* set : {"some.ms", "both.ms"})
    for (const char* name : {"MODEL_DATA", "DATA"})
      BOOST_CHECK_EXCEPTION(VisibilityColumnWriter(folder / set, column(name)), UsageError,
                            [&](const UsageError& error) {
                              return std::string(error.what()).find(folder / "a.ms") != std::string::npos;
                            });

  const std::string path = folder / "forward.ms";
  {
    const casacore::Table from(folder / "a.ms");
    casacore::SetupNewTable setup(path, from.tableDesc(), casacore::Table::New);
    casacore::ForwardColumnEngine engine(from, "forward");
    setup.bindAll(engine);
    casacore::Table table(setup, from.nrow());
    casacore::TableCopy::copySubTables(table, from);
    casacore::TableCopy::copyInfo(table, from);
    table.flush();
  }
  BOOST_CHECK_THROW(VisibilityColumnWriter(path, column("DATA")), UsageError);
  BOOST_CHECK_NO_THROW(VisibilityColumnWriter(path, column("MODEL_DATA")));  // its own
  BOOST_TEST(casacore::Table(path).tableDesc().isColumn("MODEL_DATA"));
  BOOST_TEST(!casacore::Table(folder / "a.ms").tableDesc().isColumn("MODEL_DATA"));
}

BOOST_AUTO_TEST_SUITE_END()
