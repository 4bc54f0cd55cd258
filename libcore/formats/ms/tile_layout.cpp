// SPDX-License-Identifier: GPL-3.0-or-later
// Headers of tiled storage managers, "table.f<number>" of a table, read by casacore's own AipsIO.
#include <casacore/casa/Arrays/IPosition.h>
#include <casacore/casa/Containers/Block.h>
#include <casacore/casa/Containers/BlockIO.h>
#include <casacore/casa/Containers/Record.h>
#include <casacore/casa/IO/AipsIO.h>
#include <casacore/casa/IO/ArrayIO.h>
#include <casacore/tables/DataMan/TiledStManAccessor.h>
#include <casacore/tables/Tables/TableDesc.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <bit>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "libcore/formats/ms/rows.h"
#include "libcore/formats/ms/tile_files.h"

namespace apsyn {
namespace {

using casacore::AipsIO;
using casacore::IPosition;
using casacore::uInt;

/// Thrown for a header that this code does not understand.
struct Unknown : std::runtime_error {
  Unknown() : std::runtime_error("unknown layout of tiles") {}
};
void require(bool known) {
  if (!known) throw Unknown();
}

template <class T>
T take(AipsIO& in) {
  T value{};
  in >> value;
  return value;
}

std::uint64_t product(const TileLayout::Shape& shape) {
  std::uint64_t n = 1;
  for (const std::uint64_t extent : shape) require(!__builtin_mul_overflow(n, extent, &n));
  return n;
}

/// Shape of a cube: rows form its last axis, or each row has its own cube.
TileLayout::Shape axes_of(const IPosition& shape, bool with_rows) {
  const std::size_t n_cell = shape.size() - (with_rows ? 1 : 0);
  TileLayout::Shape axes{1, 1, 1};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    require(shape[axis] >= 0);
    axes[with_rows && axis == n_cell ? 2 : axis] = static_cast<std::uint64_t>(shape[axis]);
  }
  return axes;
}

/// Skips the size that the file had when the header was written; the present size is used instead.
void skip_file(AipsIO& in, std::size_t number) {
  const auto version = take<uInt>(in);
  require(version == 1 || version == 2);
  require(take<uInt>(in) == number);
  version == 1 ? void(take<uInt>(in)) : void(take<casacore::Int64>(in));
}

class HeaderReader {
 public:
  HeaderReader(const casacore::Table& table, const std::string& column, const std::string& type)
      : table_(table), element_bits_(bits_of(table.tableDesc().columnDesc(column).dataType())), type_(type) {
    accessor_ = casacore::ROTiledStManAccessor(table, column, true);
    path_ = std::string(table.tableName()) + "/table.f" + std::to_string(accessor_.dataManagerSeqNr());
  }

  TileLayout read() {
    AipsIO in(path_, casacore::ByteIO::Old);
    require(in.getstart(type_) == 1);
    // The shape of the tiles of cubes to come.
    if (type_ != "TiledShapeStMan") take<IPosition>(in);
    read_cubes(in);
    if (type_ == "TiledShapeStMan") {
      take<IPosition>(in);
      read_map(in);
    } else {
      map_rows();
    }
    in.getend();
    check_files();
    return std::move(layout_);
  }

 private:
  static std::uint64_t bits_of(casacore::DataType type) {
    switch (type) {
      case casacore::TpBool:
        return 1;
      case casacore::TpFloat:
        return 32;
      case casacore::TpDouble:
      case casacore::TpComplex:
        return 64;
      default:
        throw Unknown();
    }
  }

  void read_cubes(AipsIO& in) {
    // 3 has numbers of 64 bits, of which casacore's versions differ.
    const uInt version = in.getstart("TiledStMan");
    require(version == 1 || version == 2);
    const bool big_endian = version == 1 || take<bool>(in);
    require(big_endian == (std::endian::native == std::endian::big));
    require(take<uInt>(in) == accessor_.dataManagerSeqNr());
    require(take<uInt>(in) == table_.nrow());
    require(take<uInt>(in) == 1);  // column
    take<int>(in);                 // its type
    take<casacore::String>(in);    // the hypercolumn's name
    take<uInt>(in);                // of the cache
    const auto n_axes = take<uInt>(in), least = type_ == "TiledCellStMan" ? 1u : 2u;
    require(n_axes >= least && n_axes <= least + 1);
    layout_.n_cell_axes = n_axes - least + 1;
    const auto n_files = take<uInt>(in);
    for (uInt i = 0; i < n_files; ++i) {
      const bool there = take<bool>(in);
      if (there) skip_file(in, i);
      layout_.files.push_back(there ? path_ + "_TSM" + std::to_string(i) : "");
    }
    const auto n_cubes = take<uInt>(in);
    require(n_cubes == accessor_.nhypercubes());
    for (uInt i = 0; i < n_cubes; ++i) layout_.cubes.push_back(read_cube(in, i, n_axes));
    in.getend();
  }

  TileLayout::Cube read_cube(AipsIO& in, uInt number, std::size_t n_axes) {
    const auto version = take<uInt>(in);
    require(version == 1 || version == 2);
    casacore::Record values;  // of coordinates
    in >> values;
    take<bool>(in);  // whether it may grow
    take<uInt>(in);  // axes
    const auto shape = take<IPosition>(in), tile = take<IPosition>(in);
    const auto file = take<casacore::Int>(in);
    const auto offset = version == 1 ? casacore::Int64{take<uInt>(in)} : take<casacore::Int64>(in);
    TileLayout::Cube cube;
    if (shape.empty()) return cube;  // of cells that hold nothing
    require(shape.isEqual(accessor_.getHypercubeShape(number)));
    require(tile.isEqual(accessor_.getTileShape(number)));
    require(shape.size() == n_axes && tile.size() == n_axes && offset >= 0);
    require(file >= 0 && static_cast<std::size_t>(file) < layout_.files.size());
    cube.shape = axes_of(shape, type_ != "TiledCellStMan");
    cube.tile = axes_of(tile, type_ != "TiledCellStMan");
    cube.file = static_cast<std::size_t>(file);
    cube.offset = static_cast<std::uint64_t>(offset);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      require(cube.tile[axis] > 0 && cube.tile[axis] < kMost && cube.shape[axis] < kMost);
      cube.n_tiles[axis] = (cube.shape[axis] + cube.tile[axis] - 1) / cube.tile[axis];
    }
    const std::uint64_t n_elements = product(cube.tile);
    require(n_elements < kMost);
    cube.tile_bytes = (n_elements * element_bits_ + 7) / 8;
    require(cube.tile_bytes == accessor_.getBucketSize(number));
    require(product(cube.n_tiles) < kMost / cube.tile_bytes && cube.offset < std::uint64_t{1} << 62);
    return cube;
  }

  /// Maps rows to a single cube, or to one cube for each row.
  void map_rows() {
    const std::uint64_t n_rows = table_.nrow();
    if (type_ == "TiledColumnStMan") {
      require(layout_.cubes.size() == 1 && layout_.cubes[0].shape[2] == n_rows);
      layout_.runs.push_back({0, n_rows, 0, 0});
      return;
    }
    require(layout_.cubes.size() == n_rows);
    for (std::uint64_t row = 0; row < n_rows; ++row)
      if (layout_.cubes[row].tile_bytes > 0) layout_.runs.push_back({row, 1, row, 0});
  }

  /// Intervals of rows by their last ones, with the cube and the last one's place in it. Cube 0 is of rows
  /// that hold nothing.
  void read_map(AipsIO& in) {
    const auto n_used = take<uInt>(in);
    casacore::Block<uInt> last_row, cube, place;
    getBlock(in, last_row);
    getBlock(in, cube);
    getBlock(in, place);
    require(last_row.nelements() >= n_used && cube.nelements() >= n_used && place.nelements() >= n_used);
    std::uint64_t next_row = 0;
    for (uInt i = 0; i < n_used; ++i) {
      require(last_row[i] >= next_row && last_row[i] < table_.nrow() && cube[i] < layout_.cubes.size());
      const std::uint64_t n = last_row[i] + std::uint64_t{1} - next_row;
      if (cube[i] != 0) {
        require(place[i] + std::uint64_t{1} >= n && place[i] < layout_.cubes[cube[i]].shape[2]);
        layout_.runs.push_back({next_row, n, cube[i], place[i] + 1 - n});
      }
      next_row += n;
    }
  }

  /// Checks that all tiles exist. Tiles that were never written may be missing at the end of a file; casacore
  /// knows which.
  void check_files() const {
    for (const TileLayout::Cube& cube : layout_.cubes) {
      if (cube.tile_bytes == 0 || cube.bytes() == 0) continue;
      struct stat found {};
      require(::stat(layout_.files[cube.file].c_str(), &found) == 0 && S_ISREG(found.st_mode));
      require(static_cast<std::uint64_t>(found.st_size) >= cube.offset + cube.bytes());
    }
  }

  const casacore::Table& table_;
  std::uint64_t element_bits_;
  std::string type_, path_;
  casacore::ROTiledStManAccessor accessor_;
  TileLayout layout_;
};

}  // namespace

std::optional<TileLayout> read_tile_layout(const casacore::Table& table, const std::string& column) {
  if (!tables_behind(table).empty() || !table.tableDesc().isColumn(column)) return {};
  const std::string type = storage_manager(table, column);
  if (type != "TiledColumnStMan" && type != "TiledShapeStMan" && type != "TiledCellStMan") return {};
  try {
    return HeaderReader(table, column, type).read();
  } catch (const std::exception&) {  // casacore's complaints of a damaged header come when it is read there
    return {};
  }
}

}  // namespace apsyn
