// SPDX-License-Identifier: GPL-3.0-or-later
// Tiles read and written past casacore against what casacore reads.
#include "libcore/formats/ms/tile_files.h"

#include <casacore/casa/Arrays/Array.h>
#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/tables/DataMan/IncrementalStMan.h>
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/DataMan/TiledCellStMan.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/DataMan/TiledStManAccessor.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/SetupNewTab.h>
#include <casacore/tables/Tables/StorageOption.h>
#include <casacore/tables/Tables/TableDesc.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <stdexcept>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/formats/ms/allocated_column.h"
#include "tests/libcore/formats/ms/ms_observation.h"

using namespace apsyn;
using namespace apsyn::test;
using casacore::Array;
using casacore::ArrayColumn;
using casacore::IPosition;
using casacore::Slicer;

BOOST_AUTO_TEST_SUITE(tile_files)

namespace {

std::mt19937& random_numbers() {
  static std::mt19937 engine(11);
  return engine;
}
std::size_t below(std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_numbers());
}

void set_random(casacore::Complex& value) {
  value = {static_cast<float>(below(1 << 20)), static_cast<float>(below(1 << 20))};
}
void set_random(float& value) {
  value = static_cast<float>(below(1 << 20));
}
void set_random(double& value) {
  value = static_cast<double>(below(1 << 20)) / 3;
}
void set_random(casacore::Bool& value) {
  value = below(3) == 0;
}

template <class T>
Array<T> random_cell(const IPosition& shape) {
  Array<T> cell(shape);
  for (T& value : cell) set_random(value);
  return cell;
}

/// The shape of a row's cell; empty for one that holds nothing.
using ShapeOf = std::function<IPosition(casacore::rownr_t row)>;

struct Storage {
  casacore::Table::EndianFormat order = casacore::Table::LittleEndian;
  casacore::StorageOption option{};
};

/// A table of one column, "X", of random cells, of which each manager's tiles are the wanted ones.
template <class T>
void make_table(const std::string& path, casacore::rownr_t n_rows, const casacore::DataManager& manager,
                const ShapeOf& shape_of, bool fixed, const Storage& storage = {}) {
  const IPosition first = shape_of(0);
  casacore::TableDesc desc;
  desc.addColumn(fixed ? casacore::ArrayColumnDesc<T>("X", "", first, casacore::ColumnDesc::FixedShape)
                       : casacore::ArrayColumnDesc<T>("X", "", static_cast<int>(first.size())));
  casacore::SetupNewTable setup(path, desc, casacore::Table::New, storage.option);
  setup.bindAll(manager);
  casacore::Table table(setup, n_rows, false, storage.order);
  ArrayColumn<T> column(table, "X");
  for (casacore::rownr_t row = 0; row < n_rows; ++row)
    if (const IPosition shape = shape_of(row); !shape.empty()) column.put(row, random_cell<T>(shape));
}

/// How often the ranges of rows and channels that were read past casacore were there.
template <class T>
int compare(const casacore::Table& table, const TileFiles& files, const ShapeOf& shape_of) {
  const ArrayColumn<T> column(table, "X");
  const std::size_t n_rows = table.nrow();
  int n_held = 0;
  for (int i = 0; i < 60; ++i) {
    const std::size_t first = i == 0 ? 0 : below(n_rows), n = i == 0 ? n_rows : 1 + below(n_rows - first);
    const IPosition cell = shape_of(first);
    const bool held = !cell.empty() && files.hold(first, n, cell);
    bool expected = !cell.empty();
    for (std::size_t row = first; row < first + n; ++row) expected = expected && shape_of(row).isEqual(cell);
    BOOST_TEST(held == expected, "rows " << first << " and " << n - 1 << " more");
    if (!held || !expected) continue;
    ++n_held;
    const std::size_t n_all = cell.size() == 2 ? static_cast<std::size_t>(cell[1]) : 1,
                      chan = i == 0 || cell.size() < 2 ? 0 : below(n_all),
                      n_chan = i == 0 ? n_all : 1 + below(n_all - chan);
    IPosition shape = cell;
    if (cell.size() == 2) shape[1] = static_cast<ssize_t>(n_chan);
    Slicer section(IPosition(cell.size(), 0), shape);
    if (cell.size() == 2) section = Slicer(IPosition(2, 0, static_cast<ssize_t>(chan)), shape);
    const std::size_t size = static_cast<std::size_t>(shape.product());
    Array<T> found(IPosition(1, static_cast<ssize_t>(n * size)));
    files.read(first, n, chan, n_chan, found.data());
    for (std::size_t row = 0; row < n; ++row) {
      const Array<T> wanted = column.getSlice(first + row, section);
      BOOST_TEST_REQUIRE(std::memcmp(wanted.data(), found.data() + row * size, size * sizeof(T)) == 0,
                         "row " << first + row << " of " << first << " to " << first + n - 1 << ", channels "
                                << chan << " to " << chan + n_chan - 1);
    }
  }
  return n_held;
}

template <class T>
void check_same(const casacore::DataManager& manager, casacore::rownr_t n_rows, const ShapeOf& shape_of,
                bool fixed) {
  ScratchFolder folder;
  make_table<T>(folder / "t", n_rows, manager, shape_of, fixed);
  const casacore::Table table(folder / "t");
  const auto files = TileFiles::open(table, "X", TileFiles::Access::read);
  BOOST_TEST_REQUIRE(files.has_value(), manager.dataManagerType() << ", " << n_rows << " rows");
  BOOST_TEST(compare<T>(table, *files, shape_of) > 0);
}

ShapeOf always(const IPosition& shape) {
  return [shape](casacore::rownr_t) { return shape; };
}

}  // namespace

// Tiles that hold whole cells, tiles that divide no axis, tiles of one correlation, one channel, one row;
// cells of which 9 and 7 bits fill no byte.
BOOST_AUTO_TEST_CASE(tiles_of_all_shapes_give_what_casacore_gives) {
  for (const IPosition& cell : {IPosition(2, 4, 7), IPosition(2, 3, 3), IPosition(2, 1, 16)})
    for (const IPosition& tile :
         {IPosition(3, cell[0], cell[1], 5), IPosition(3, 2, 3, 4), IPosition(3, 1, cell[1], 8),
          IPosition(3, cell[0], 1, 3), IPosition(3, 3, 2, 1), IPosition(3, cell[0], cell[1], 1000)}) {
      const casacore::TiledColumnStMan by_column("tiles", tile);
      const casacore::TiledShapeStMan by_shape("tiles", tile);
      const casacore::TiledCellStMan by_cell("tiles", tile.getFirst(2));
      for (const casacore::rownr_t n_rows : {1, 41}) {
        check_same<casacore::Complex>(by_column, n_rows, always(cell), true);
        check_same<casacore::Bool>(by_column, n_rows, always(cell), true);
        check_same<casacore::Float>(by_shape, n_rows, always(cell), false);
        check_same<casacore::Bool>(by_shape, n_rows, always(cell), false);
        check_same<casacore::Complex>(by_shape, n_rows, always(cell), true);
      }
      check_same<casacore::Bool>(by_cell, 7, always(cell), false);
      check_same<casacore::Complex>(by_cell, 7, always(cell), false);
    }
  for (const std::int64_t n : {3, 4})
    for (const IPosition& tile : {IPosition(2, n, 6), IPosition(2, 2, 5), IPosition(2, 1, 100)}) {
      check_same<casacore::Double>(casacore::TiledColumnStMan("tiles", tile), 23, always(IPosition(1, n)),
                                   true);
      check_same<casacore::Float>(casacore::TiledShapeStMan("tiles", tile), 23, always(IPosition(1, n)),
                                  false);
    }
}

BOOST_AUTO_TEST_CASE(rows_of_several_cubes_and_rows_that_hold_nothing_are_told_apart) {
  const auto shapes = [](casacore::rownr_t row) {
    if (row > 4 && row % 11 == 0) return IPosition();
    return row % 7 < 4 || row > 60 ? IPosition(2, 4, 7) : IPosition(2, 2, 3);
  };
  check_same<casacore::Complex>(casacore::TiledShapeStMan("tiles", IPosition(3, 2, 3, 4)), 80, shapes, false);
  check_same<casacore::Bool>(casacore::TiledShapeStMan("tiles", IPosition(3, 4, 7, 5)), 80, shapes, false);
  check_same<casacore::Bool>(casacore::TiledCellStMan("tiles", IPosition(2, 4, 2)), 30, shapes, false);
}

// Nothing is known of these, or they would be read wrongly.
BOOST_AUTO_TEST_CASE(all_else_is_left_to_casacore) {
  ScratchFolder folder;
  const IPosition cell(2, 4, 7), tile(3, 4, 7, 5);
  const casacore::TiledColumnStMan tiled("tiles", tile);
  const auto known = [&](const std::string& name) {
    return TileFiles::open(casacore::Table(folder / name), "X", TileFiles::Access::read).has_value();
  };
  using casacore::Complex;
  make_table<Complex>(folder / "tiled", 12, tiled, always(cell), true);
  BOOST_TEST(known("tiled"));
  make_table<Complex>(folder / "standard", 12, casacore::StandardStMan(), always(cell), true);
  make_table<Complex>(folder / "incremental", 12, casacore::IncrementalStMan(), always(cell), true);
  make_table<Complex>(folder / "big", 12, tiled, always(cell), true, {casacore::Table::BigEndian});
  make_table<Complex>(folder / "one_file", 12, tiled, always(cell), true,
                      {casacore::Table::LittleEndian, casacore::StorageOption::MultiFile});
  for (const char* name : {"standard", "incremental", "big", "one_file"}) BOOST_TEST(!known(name), name);
  const std::vector<casacore::rownr_t> rows{1, 3};
  casacore::Table(folder / "tiled")(casacore::RowNumbers(rows))
      .rename(folder / "selected", casacore::Table::New);
  BOOST_TEST(!known("selected"));
}

BOOST_AUTO_TEST_CASE(a_table_without_rows_has_no_cells) {
  ScratchFolder folder;
  make_table<casacore::Complex>(folder / "t", 0, casacore::TiledColumnStMan("tiles", IPosition(3, 4, 7, 5)),
                                always(IPosition(2, 4, 7)), true);
  const auto files = TileFiles::open(casacore::Table(folder / "t"), "X", TileFiles::Access::read);
  if (files) BOOST_TEST(!files->hold(0, 1, IPosition(2, 4, 7)));
}

BOOST_AUTO_TEST_CASE(files_that_are_too_short_are_named) {
  ScratchFolder folder;
  const std::string path = folder / "t", tiles = path + "/table.f0_TSM0";
  const IPosition cell(2, 4, 7);
  make_table<casacore::Complex>(path, 50, casacore::TiledColumnStMan("tiles", IPosition(3, 4, 7, 5)),
                                always(cell), true);
  const casacore::Table table(path);
  const auto files = TileFiles::open(table, "X", TileFiles::Access::read);
  BOOST_TEST_REQUIRE(files.has_value());
  fs::resize_file(tiles, 20 * 28 * 8 + 4);  // into row 20
  std::vector<casacore::Complex> cells(50 * 28);
  BOOST_CHECK_NO_THROW(files->read(0, 20, 0, 7, cells.data()));
  BOOST_CHECK_EXCEPTION(files->read(0, 21, 0, 7, cells.data()), DataError,
                        [&](const DataError& error) { return std::string(error.what()).find(tiles) == 0; });
  BOOST_CHECK_THROW(files->read(40, 1, 2, 3, cells.data()), DataError);
  BOOST_TEST(!TileFiles::open(table, "X", TileFiles::Access::read).has_value());
}

BOOST_AUTO_TEST_CASE(what_is_written_is_what_casacore_reads) {
  for (const IPosition& tile :
       {IPosition(3, 4, 7, 5), IPosition(3, 2, 3, 4), IPosition(3, 4, 2, 6), IPosition(3, 1, 7, 8)})
    for (const bool by_shape : {false, true}) {
      ScratchFolder folder;
      const auto shapes = [&](casacore::rownr_t row) {
        return by_shape && row % 9 == 5 ? IPosition(2, 2, 3) : IPosition(2, 4, 7);
      };
      by_shape ? make_table<casacore::Complex>(folder / "t", 40, casacore::TiledShapeStMan("tiles", tile),
                                               shapes, false)
               : make_table<casacore::Complex>(folder / "t", 40, casacore::TiledColumnStMan("tiles", tile),
                                               shapes, true);
      const casacore::Table table(folder / "t", casacore::Table::Update);
      const auto files = TileFiles::open(table, "X", TileFiles::Access::write);
      BOOST_TEST_REQUIRE(files.has_value());
      const ArrayColumn<casacore::Complex> column(table, "X");
      std::vector<Array<casacore::Complex>> expected;
      for (casacore::rownr_t row = 0; row < 40; ++row) expected.push_back(column.get(row).copy());
      casacore::ROTiledStManAccessor(table, "X", true).clearCaches();
      for (int i = 0; i < 30; ++i) {
        const std::size_t first = below(40), n = 1 + below(40 - first), chan = below(7),
                          n_chan = 1 + below(7 - chan);
        if (!files->hold(first, n, IPosition(2, 4, 7))) continue;
        Array<casacore::Complex> values = random_cell<casacore::Complex>(IPosition(3, 4, n_chan, n));
        files->write(first, n, chan, n_chan, values.data());
        for (std::size_t row = 0; row < n; ++row)
          for (std::size_t c = 0; c < n_chan; ++c)
            for (std::size_t p = 0; p < 4; ++p)
              expected[first + row](IPosition(2, p, chan + c)) = values(IPosition(3, p, c, row));
      }
      for (casacore::rownr_t row = 0; row < 40; ++row) {
        const Array<casacore::Complex> found = column.get(row);
        BOOST_TEST(std::memcmp(found.data(), expected[row].data(), found.size() * 8) == 0, "row " << row);
      }
    }
}

// Header and tiles, byte for byte, and rows that are added later.
BOOST_AUTO_TEST_CASE(a_column_that_is_set_aside_is_casacores_of_zeros) {
  const IPosition cell(2, 4, 7);
  const casacore::ArrayColumnDesc<casacore::Complex> column("Y", "", cell, casacore::ColumnDesc::FixedShape);
  for (const IPosition& tile : {IPosition(3, 4, 7, 5), IPosition(3, 3, 2, 100)})
    for (const casacore::rownr_t n_rows : {0, 1, 23}) {
      ScratchFolder folder;
      std::string files[2];
      for (const bool aside : {false, true}) {
        const std::string path = folder / (aside ? "aside" : "written");
        make_table<casacore::Float>(path, n_rows, casacore::StandardStMan(), always(IPosition(1, 2)), true);
        casacore::Table table(path, casacore::Table::Update);
        aside ? table.addColumn(column, AllocatedColumnStMan("tiles", tile))
              : table.addColumn(column, casacore::TiledColumnStMan("tiles", tile));
        table.flush();
        for (const char* name : {"/table.f1", "/table.f1_TSM0"}) {
          std::ifstream in(path + name, std::ios::binary);
          files[aside] += std::string(std::istreambuf_iterator<char>(in), {}) + name;
        }
        table.addRow(3);
        ArrayColumn<casacore::Complex> cells(table, "Y");
        cells.put(n_rows + 1, Array<casacore::Complex>(cell, casacore::Complex(3, 4)));
        table.flush();
        std::ifstream in(path + "/table.f1_TSM0", std::ios::binary);
        files[aside] += std::string(std::istreambuf_iterator<char>(in), {});
      }
      BOOST_TEST(files[0].size() > 3 * cell.product() * 8);
      BOOST_TEST((files[0] == files[1]), n_rows << " rows");
    }
}

namespace {

/// All that a reader gives of a set, as bytes; with groups, every n_groups-th row is of the same one.
std::string all_of(const std::string& path, MsSelection selection, std::size_t max_rows, unsigned n_threads,
                   bool by_casacore_alone, std::size_t n_groups = 0) {
  selection.by_casacore_alone = by_casacore_alone;
  MeasurementSetReader reader(path, selection);
  MsRows rows;
  std::string bytes;
  const auto add = [&](const auto& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(*values.data()));
  };
  while (n_threads == 0 ? reader.read(rows, max_rows) : reader.next(rows, max_rows)) {
    if (n_threads > 0) {
      const Buffer<std::complex<float>, 3>::Shape shape{rows.ant1.size(), rows.data.extent(1),
                                                        reader.products().size()};
      rows.data.resize(shape);
      rows.weight.resize(shape);
      const auto list = [&](std::size_t group, std::vector<std::size_t>& of_group) {
        for (std::size_t row = group; row < rows.ant1.size(); row += n_groups) of_group.push_back(row);
      };
      if (n_groups > 0)
        reader.read_groups(rows, n_threads, std::min(n_groups, rows.ant1.size()), list,
                           [&](std::size_t group, auto of_group, auto data, auto weight) {
                             for (std::size_t i = 0; i < of_group.size(); ++i) {
                               if (of_group[i] % n_groups != group) throw std::logic_error("another group");
                               std::copy(data[i].begin(), data[i].end(), &rows.data(of_group[i], 0, 0));
                               std::copy(weight[i].begin(), weight[i].end(), &rows.weight(of_group[i], 0, 0));
                             }
                           });
      else
        reader.read_cells(rows, n_threads, [&](std::size_t first, const auto& data, const auto& weight) {
          std::copy(data.begin(), data.end(), &rows.data(first, 0, 0));
          std::copy(weight.begin(), weight.end(), &rows.weight(first, 0, 0));
        });
    }
    add(rows.row_number);
    add(rows.uvw_m);
    add(rows.data);
    add(rows.weight);
  }
  return bytes;
}

}  // namespace

// Flags, weights that are no numbers, a range of channels, every second row, and rows in pieces for several
// threads.
BOOST_AUTO_TEST_CASE(a_set_is_the_same_read_by_casacore_alone) {
  ScratchFolder folder;
  MsDescription description = ms_description();
  description.channel_hz.clear();
  for (int i = 0; i < 45; ++i) description.channel_hz.push_back(150e6 + 1e4 * i);
  Observation observation(description, 130);
  for (float& weight : observation.weight)
    if (below(5) == 0) weight = below(2) == 0 ? 0 : -1;
  for (auto& value : observation.data)
    if (below(9) == 0) value = {1, std::numeric_limits<float>::quiet_NaN()};
  const std::string path = folder / "a.ms";
  observation.write(path);
  {
    casacore::Table table = edit(path);
    ArrayColumn<casacore::Float> weights(table, "WEIGHT_SPECTRUM");
    ArrayColumn<casacore::Complex> data(table, "DATA");
    for (casacore::rownr_t row = 3; row < table.nrow(); row += 17) {
      Array<casacore::Float> cell = weights.get(row);
      cell(IPosition(2, 1, 2)) = std::numeric_limits<float>::infinity();
      cell(IPosition(2, 2, 3)) = std::numeric_limits<float>::denorm_min();
      cell(IPosition(2, 3, 4)) = std::numeric_limits<float>::quiet_NaN();
      weights.put(row, cell);
      Array<casacore::Complex> values = data.get(row);
      values(IPosition(2, 0, 7)) = casacore::Complex(0, std::numeric_limits<float>::infinity());
      values(IPosition(2, 3, 8)) = casacore::Complex(std::numeric_limits<float>::quiet_NaN(), 1);
      values(IPosition(2, 2, 9)) = casacore::Complex(-0.0f, 1);
      data.put(row, values);
    }
  }
  MsSelection all, part;
  part.autos = true;
  part.first_channel = 5;
  part.n_channels = 31;
  part.first_interval = 3;
  for (const MsSelection& selection : {all, part})
    for (const std::size_t max_rows : {100000, 50})
      for (const unsigned n_threads : {0, 1, 3})
        BOOST_TEST((all_of(path, selection, max_rows, n_threads, false) ==
                    all_of(path, selection, max_rows, 0, true)));
  for (const std::size_t n_groups : {1, 7, 1000})
    for (const MsSelection& selection : {all, part})
      BOOST_TEST(
          (all_of(path, selection, 5000, 3, false, n_groups) == all_of(path, selection, 5000, 0, true)));
  edit(path).removeColumn("WEIGHT_SPECTRUM");
  BOOST_TEST((all_of(path, part, 1000, 3, false) == all_of(path, part, 1000, 0, true)));
}

// The first rows that have an error are those that it names, whatever the threads do.
BOOST_AUTO_TEST_CASE(a_cut_set_is_refused_by_name) {
  ScratchFolder folder;
  MsDescription description = ms_description();
  Observation(description, 3000).write(folder / "a.ms");
  std::string file;
  MeasurementSetReader reader(folder / "a.ms", {});
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "a.ms"))
    if (entry.path().string().ends_with("_TSM0") &&
        entry.file_size() > (file.empty() ? 0 : fs::file_size(file)))
      file = entry.path();
  fs::resize_file(file, fs::file_size(file) / 2);
  MsRows rows;
  BOOST_TEST_REQUIRE(reader.next(rows, 100000));
  std::string first;
  for (const unsigned n_threads : {1, 2, 5}) {
    reader.rewind();
    BOOST_TEST_REQUIRE(reader.next(rows, 100000));
    BOOST_CHECK_EXCEPTION(reader.read_cells(rows, n_threads, [](auto&&...) {}), DataError,
                          [&](const DataError& error) {
                            if (first.empty()) first = error.what();
                            return first == error.what() && first.find(file) == 0;
                          });
  }
}

BOOST_AUTO_TEST_SUITE_END()
