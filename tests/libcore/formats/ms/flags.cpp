// SPDX-License-Identifier: GPL-3.0-or-later
// FLAG read and written in place, past casacore and by it: cells that begin at whole bytes and cells that do
// not, whole rows and some channels.
#include "libcore/formats/ms/flags.h"

#include <casacore/casa/Arrays/Array.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <boost/test/unit_test.hpp>

#include <random>

#include "tests/libcore/formats/ms/ms_observation.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(flags)

namespace {

std::vector<bool> stored_flags(const std::string& path) {
  const casacore::Table table(path);
  const casacore::ArrayColumn<casacore::Bool> column(table, "FLAG");
  std::vector<bool> all;
  for (casacore::rownr_t row = 0; row < table.nrow(); ++row) {
    const casacore::Array<casacore::Bool> cell = column(row);
    all.insert(all.end(), cell.begin(), cell.end());
  }
  return all;
}

/// Of so many channels, 4 products.
Observation with_channels(std::size_t n_chan) {
  MsDescription set = ms_description();
  set.channel_hz.resize(n_chan);
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    set.channel_hz[chan] = 150e6 + 1e4 * static_cast<double>(chan);
  Observation made(set, 40);
  std::size_t i = 0;
  for (float& weight : made.weight)
    if (++i % 5 == 0) weight = 0;
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(flags_are_read_and_written_as_they_are_stored) {
  ScratchFolder folder;
  int number = 0;
  for (const std::size_t n_chan : {4u, 3u})  // 16 and 12 flags
    for (const bool by_casacore : {false, true})
      for (const std::size_t first : {0u, 1u}) {
        const std::string path = folder / ("set" + std::to_string(number++) + ".ms");
        with_channels(n_chan).write(path);
        std::vector<bool> expected = stored_flags(path);
        MsSelection selection;
        selection.column.clear();
        selection.autos = true;
        selection.first_channel = first;
        selection.n_channels = n_chan - first;
        selection.by_casacore_alone = by_casacore;
        std::mt19937 random(3);
        {
          MeasurementSetReader reader(path, selection);
          FlagColumn column(path, selection, FlagColumn::Access::write);
          MsRows rows;
          while (reader.next(rows, 17)) {
            Buffer<std::uint8_t, 3> cells({rows.ant1.size(), n_chan - first, 4});
            cells.fill(7);
            column.read(rows, cells, 2);
            for (std::size_t row = 0; row < rows.ant1.size(); ++row)
              for (std::size_t chan = first; chan < n_chan; ++chan)
                for (std::size_t p = 0; p < 4; ++p) {
                  const std::size_t at =
                      (static_cast<std::size_t>(rows.row_number[row]) * n_chan + chan) * 4 + p;
                  BOOST_TEST(cells(row, chan - first, p) == static_cast<std::uint8_t>(expected[at]));
                  cells(row, chan - first, p) = random() & 1;
                  expected[at] = cells(row, chan - first, p) != 0;
                }
            column.write(rows, std::as_const(cells).view(), 2);
          }
          column.commit({"test"});
        }
        BOOST_TEST(stored_flags(path) == expected, boost::test_tools::per_element());
      }
}

BOOST_AUTO_TEST_SUITE_END()
