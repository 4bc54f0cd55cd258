// SPDX-License-Identifier: GPL-3.0-or-later
// Visibility columns written into sets that are there already.
#include "libcore/formats/ms/columns.h"

#include <casacore/casa/Arrays/Cube.h>
#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "libcore/base/error.h"
#include "libcore/imaging/prediction_target.h"
#include "tests/libcore/formats/ms/ms_observation.h"

using namespace apsyn;
using namespace apsyn::test;
using Complex = std::complex<float>;

BOOST_AUTO_TEST_SUITE(columns)

namespace {

/// A second spectral window of 2 channels and only the products XX and YY, for every odd row.
void add_small_window(const std::string& path) {
  casacore::Table windows = repeat_row(edit(path + "/SPECTRAL_WINDOW"));
  casacore::ScalarColumn<casacore::Int>(windows, "NUM_CHAN").put(1, 2);
  for (const char* name : {"CHAN_FREQ", "CHAN_WIDTH", "EFFECTIVE_BW", "RESOLUTION"}) {
    casacore::ArrayColumn<double> column(windows, name);
    column.setShape(1, casacore::IPosition(1, 2));
    column.put(1, casacore::Vector<double>(2, name == std::string("CHAN_FREQ") ? 200e6 : 1e4));
  }
  casacore::Table polarizations = repeat_row(edit(path + "/POLARIZATION"));
  casacore::ScalarColumn<casacore::Int>(polarizations, "NUM_CORR").put(1, 2);
  casacore::Vector<casacore::Int> types(2);
  types[0] = 12, types[1] = 9;  // YY, XX: the other order
  casacore::ArrayColumn<casacore::Int> corr_type(polarizations, "CORR_TYPE"),
      pairs(polarizations, "CORR_PRODUCT");
  corr_type.setShape(1, casacore::IPosition(1, 2));
  corr_type.put(1, types);
  pairs.setShape(1, casacore::IPosition(2, 2, 2));
  pairs.put(1, casacore::Matrix<casacore::Int>(2, 2, 0));
  casacore::Table descriptions = repeat_row(edit(path + "/DATA_DESCRIPTION"));
  casacore::ScalarColumn<casacore::Int>(descriptions, "SPECTRAL_WINDOW_ID").put(1, 1);
  casacore::ScalarColumn<casacore::Int>(descriptions, "POLARIZATION_ID").put(1, 1);
  casacore::Table main = edit(path);
  casacore::ScalarColumn<casacore::Int> description(main, "DATA_DESC_ID");
  for (casacore::rownr_t row = 0; row < main.nrow(); ++row) description.put(row, static_cast<int>(row % 2));
}

MsSelection column(const std::string& name) {
  MsSelection selection;
  selection.column = name;
  return selection;
}

/// Something that tells row, channel and product.
Complex value_at(std::int64_t row, std::size_t chan, std::size_t product) {
  return {static_cast<float>(row + 1), static_cast<float>(10 * chan + product + 1)};
}

/// Writes value_at() into all selected rows, in blocks of `max_rows`, into channels that `wanted` takes.
void write_values(const std::string& path, const MsSelection& selection, std::size_t max_rows,
                  const std::vector<std::size_t>* only_channels = nullptr) {
  PredictionTarget target(path, selection);
  VisibilityColumnWriter writer(path, selection);
  target.rewind([](double) { return true; }, target.phase_centre());
  PredictionBlock block;
  while (target.read(block, max_rows * 4)) {
    const std::vector<std::size_t>& channels = only_channels ? *only_channels : block.channels;
    Buffer<Complex, 3> values({block.rows.row_number.size(), channels.size(), target.products().size()});
    for (std::size_t i = 0; i < values.extent(0); ++i)
      for (std::size_t c = 0; c < channels.size(); ++c)
        for (std::size_t p = 0; p < values.extent(2); ++p)
          values(i, c, p) = value_at(block.rows.row_number[i], channels[c] + selection.first_channel, p);
    writer.write(block.rows, channels, values.extent(2), [&](std::size_t first, View<Complex, 3> to) {
      std::copy_n(&values(first, 0, 0), to.size(), to.data());
    });
  }
  writer.commit({"tool 1.0", "tool --option"});
}

std::vector<std::vector<Complex>> cells(const std::string& path, const std::string& name) {
  const casacore::Table table(path);
  const casacore::ArrayColumn<casacore::Complex> data(table, name);
  std::vector<std::vector<Complex>> result;
  for (casacore::rownr_t row = 0; row < table.nrow(); ++row) {
    const casacore::Array<casacore::Complex> cell = data(row);
    result.emplace_back(cell.begin(), cell.end());
  }
  return result;
}

}  // namespace

/// Whether another process finds casacore's own lock on the set.
bool locked_for_others(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::open((path + "/table.lock").c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock {};
    lock.l_type = F_WRLCK, lock.l_whence = SEEK_SET;
    ::_exit(fd >= 0 && ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 1 : 0);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

BOOST_AUTO_TEST_CASE(programs_that_use_casacore_are_kept_out_while_a_column_is_written) {
  ScratchFolder folder;
  const std::string path = folder / "locked.ms";
  Observation observation(ms_description(), 3);
  observation.write(path);
  BOOST_TEST(!locked_for_others(path));
  VisibilityColumnWriter writer(path, column("MODEL_DATA"));  // adds it, and brings the set to the disk
  BOOST_TEST(locked_for_others(path));
  writer.commit({"tool 1.0", "tool --option"});
  BOOST_TEST(locked_for_others(path));
}

BOOST_AUTO_TEST_CASE(a_new_column_is_zero_where_nothing_is_written) {
  ScratchFolder folder;
  const std::string path = folder / "new.ms";
  Observation observation(ms_description(), 3);
  for (int c = 0; c < 4; ++c)
    for (int p = 0; p < 4; ++p) observation.weight(1, 2, c, p) = 0;  // row 8 is flagged
  observation.write(path);
  const auto data = cells(path, "DATA");
  MsSelection selection = column("MODEL_DATA");
  selection.first_interval = 1;
  selection.n_intervals = 1;
  selection.first_channel = 1;
  selection.n_channels = 3;
  const VisibilityColumnState before = inspect_visibility_column(path, selection);
  BOOST_TEST(!before.exists);
  BOOST_TEST(before.bytes_to_add == 18u * 16 * 8);
  write_values(path, selection, 4);
  BOOST_TEST(inspect_visibility_column(path, selection).exists);
  BOOST_TEST((cells(path, "DATA") == data));
  const auto model = cells(path, "MODEL_DATA");
  for (std::int64_t row = 0; row < 18; ++row)
    for (std::size_t chan = 0; chan < 4; ++chan)
      for (std::size_t p = 0; p < 4; ++p) {
        const bool written = row >= 6 && row < 12 && chan >= 1;  // flagged rows and autocorrelations too
        BOOST_TEST((model[row][chan * 4 + p] == (written ? value_at(row, chan, p) : Complex(0, 0))));
      }
  // Two channels that are no neighbours, over what is there.
  const std::vector<std::size_t> ends{0, 2};
  selection.first_interval = 0;
  selection.n_intervals = -1;
  write_values(path, selection, 100, &ends);
  const auto again = cells(path, "MODEL_DATA");
  BOOST_TEST((again[0][1 * 4 + 2] == value_at(0, 1, 2)));
  BOOST_TEST((again[0][2 * 4 + 2] == Complex(0, 0)));
  BOOST_TEST((again[7][2 * 4 + 2] == value_at(7, 2, 2)));
  BOOST_TEST((again[17][3 * 4 + 3] == value_at(17, 3, 3)));
}

// All of a block in one call, 2.3 MB: in pieces, as it lies in memory.
BOOST_AUTO_TEST_CASE(a_large_block_is_written_in_pieces) {
  ScratchFolder folder;
  const std::string path = folder / "large.ms";
  Observation(ms_description(), 3000).write(path);
  write_values(path, column("MODEL_DATA"), 1 << 20);
  const auto model = cells(path, "MODEL_DATA");
  BOOST_TEST_REQUIRE(model.size() == 18000u);
  std::size_t n_wrong = 0;
  for (std::size_t row = 0; row < model.size(); ++row)
    for (std::size_t i = 0; i < 16; ++i)
      n_wrong += model[row][i] != value_at(static_cast<std::int64_t>(row), i / 4, i % 4);
  BOOST_TEST(n_wrong == 0u);
}

BOOST_AUTO_TEST_CASE(every_row_has_its_own_shape_and_order) {
  ScratchFolder folder;
  const std::string path = folder / "shapes.ms";
  Observation(ms_description(), 2).write(path);
  add_small_window(path);
  BOOST_TEST(inspect_visibility_column(path, column("MODEL_DATA")).bytes_to_add == 6u * (16 + 4) * 8);
  write_values(path, column("MODEL_DATA"), 5);
  const auto model = cells(path, "MODEL_DATA");
  for (std::int64_t row = 0; row < 12; row += 2) {
    BOOST_REQUIRE(model[row].size() == 16u);
    for (std::size_t i = 0; i < 16; ++i) BOOST_TEST((model[row][i] == value_at(row, i / 4, i % 4)));
  }
  for (std::int64_t row = 1; row < 12; row += 2) {
    BOOST_REQUIRE(model[row].size() == 4u);
    for (std::size_t i = 0; i < 4; ++i)
      BOOST_TEST((model[row][i] == value_at(row, i / 2, i % 2 == 0 ? 3 : 0)));  // YY comes first
  }
  // Back again, in the order of products(); products that a row lacks are 0.
  PredictionTarget target(path, {});
  VisibilityColumnReader reader(path, column("MODEL_DATA"));
  target.rewind([](double hz) { return hz > 150.005e6; }, target.phase_centre());
  PredictionBlock block;
  std::size_t n_read = 0;
  while (target.read(block, 12)) {
    Buffer<Complex, 3> values({block.rows.row_number.size(), block.channels.size(), 4});
    values.fill({NAN, NAN});
    reader.read(block.rows, block.channels, values);
    for (std::size_t i = 0; i < values.extent(0); ++i) {
      const bool small = block.rows.row_number[i] % 2 == 1;
      BOOST_TEST(values.extent(1) == (small ? 2u : 3u));
      for (std::size_t c = 0; c < values.extent(1); ++c)
        for (std::size_t p = 0; p < 4; ++p, ++n_read)
          BOOST_TEST((values(i, c, p) == (small && p % 3 != 0
                                              ? Complex(0, 0)
                                              : value_at(block.rows.row_number[i], c + (small ? 0 : 1), p))));
    }
  }
  BOOST_TEST(n_read == 6u * (3 + 2) * 4);
}

BOOST_AUTO_TEST_CASE(cells_that_hold_nothing_are_filled) {
  ScratchFolder folder;
  const std::string path = folder / "empty-cells.ms";
  Observation(ms_description(), 1).write(path);
  edit(path).addColumn(casacore::ArrayColumnDesc<casacore::Complex>("CORRECTED_DATA", 2),
                       casacore::StandardStMan("other"));
  const std::vector<std::size_t> one{2};
  write_values(path, column("CORRECTED_DATA"), 100, &one);
  const auto corrected = cells(path, "CORRECTED_DATA");
  BOOST_TEST((corrected[5][2 * 4 + 1] == value_at(5, 2, 1)));
  BOOST_TEST((corrected[5][1 * 4 + 1] == Complex(0, 0)));
}

BOOST_AUTO_TEST_CASE(history_tells_of_a_run_once) {
  ScratchFolder folder;
  const std::string path = folder / "history.ms";
  Observation(ms_description(), 1).write(path);
  for (int run = 0; run < 2; ++run) write_values(path, column("MODEL_DATA"), 100);
  const casacore::Table history(path + "/HISTORY");
  BOOST_TEST(history.nrow() == 4u);
  const casacore::ScalarColumn<casacore::String> message(history, "MESSAGE");
  BOOST_TEST(std::string(message(2)) == "tool 1.0");
  BOOST_TEST(std::string(message(3)) == "tool --option");
}

BOOST_AUTO_TEST_CASE(other_columns_are_no_place_for_visibilities) {
  ScratchFolder folder;
  const std::string path = folder / "names.ms";
  Observation(ms_description(), 1).write(path);
  for (const char* name :
       {"FLAG", "UVW", "WEIGHT_SPECTRUM", "SIGMA_SPECTRUM", "FLOAT_DATA", "TIME", "", "A/B"}) {
    BOOST_CHECK_THROW(inspect_visibility_column(path, column(name)), UsageError);
    BOOST_CHECK_THROW(VisibilityColumnWriter(path, column(name)), UsageError);
  }
  BOOST_TEST(!casacore::Table(path).tableDesc().isColumn("SIGMA_SPECTRUM"));
  BOOST_CHECK_THROW(VisibilityColumnReader(path, column("MODEL_DATA")), DataError);
  BOOST_CHECK_THROW(VisibilityColumnReader(path, column("FLAG")), DataError);
  BOOST_CHECK_THROW(inspect_visibility_column(folder / "none.ms", column("MODEL_DATA")), Error);
  MsSelection nothing = column("MODEL_DATA");
  nothing.fields = {0};
  nothing.first_row = 6;
  BOOST_CHECK_THROW(PredictionTarget(path, nothing), UsageError);
}

BOOST_AUTO_TEST_CASE(coordinates_are_there_whatever_the_flags) {
  ScratchFolder folder;
  const std::string path = folder / "coordinates.ms";
  Observation observation(ms_description(), 1);
  observation.write(path);
  {
    casacore::Table main = edit(path);
    casacore::ScalarColumn<casacore::Bool>(main, "FLAG_ROW").put(1, true);
    casacore::ArrayColumn<double>(main, "UVW").put(4, casacore::Vector<double>(3, NAN));
    main.renameColumn("NO_DATA", "DATA");
  }
  PredictionTarget target(path, {});
  // A centre 0.02 rad to the east: uvw turns, and the path is what the old centre is ahead of the new one.
  const SkyDirection old_centre = target.phase_centre();
  const SkyDirection centre{old_centre.ra_rad + 0.02, old_centre.dec_rad};
  target.rewind([](double hz) { return hz < 150.025e6; }, centre);
  PredictionBlock block;
  BOOST_REQUIRE(target.read(block, 1000));
  BOOST_TEST(block.rows.row_number.size() == 6u);
  BOOST_TEST((block.channels == std::vector<std::size_t>{0, 1, 2}));
  BOOST_TEST((block.without_uvw == std::vector<std::size_t>{4}));
  BOOST_TEST(block.at.station(4, 1) == 2u);
  const double l = std::cos(old_centre.dec_rad) * std::sin(0.02);
  const double m = std::sin(old_centre.dec_rad) * std::cos(old_centre.dec_rad) * (1 - std::cos(0.02));
  const double n_1 = -(l * l + m * m) / (1 + std::sqrt(1 - l * l - m * m));
  for (std::size_t row : {0u, 1u, 2u, 3u, 5u}) {
    const auto uvw = [&](int axis) { return observation.uvw_m(0, row, axis); };
    BOOST_TEST(std::abs(block.at.path_m(row) - (uvw(0) * l + uvw(1) * m + uvw(2) * n_1)) < 1e-9);
  }
  BOOST_TEST(block.at.path_m(4) == 0);
  BOOST_TEST(!target.read(block, 1000));
}

BOOST_AUTO_TEST_SUITE_END()
