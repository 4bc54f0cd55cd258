// SPDX-License-Identifier: GPL-3.0-or-later
// Reads and writes cells of tiled columns directly in their files, with any number of threads, where casacore
// allows only one. For libcore/formats/ms only.
#pragma once

#include <casacore/casa/Arrays/IPosition.h>
#include <casacore/tables/Tables/Table.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace apsyn {

/// Where the cells of a tiled column lie. Axes are those of casacore, the fastest first: correlations,
/// channels, rows; cells of one axis have one channel.
struct TileLayout {
  using Shape = std::array<std::uint64_t, 3>;
  /// Cells of one shape, cut into tiles of one shape; a tile at the end of an axis has its full size, too.
  struct Cube {
    Shape shape{}, tile{};
    Shape n_tiles{};
    std::size_t file = 0;
    std::uint64_t offset = 0;      ///< of the first tile in the file
    std::uint64_t tile_bytes = 0;  ///< in the file
    std::uint64_t bytes() const { return n_tiles[0] * n_tiles[1] * n_tiles[2] * tile_bytes; }
  };
  /// Consecutive rows of the table that are also consecutive in a cube.
  struct Run {
    std::uint64_t first_row = 0, n_rows = 0;
    std::size_t cube = 0;
    std::uint64_t place = 0;  ///< of the first row, on the cube's third axis
  };
  std::size_t n_cell_axes = 2;
  std::vector<std::string> files;
  std::vector<Cube> cubes;
  std::vector<Run> runs;  ///< rising; rows in none of them hold nothing
};

/// The layout in the header of the column's storage manager. No value unless the manager is a tiled one that
/// holds only this column, in this machine's byte order, and its header agrees with the table and its files.
std::optional<TileLayout> read_tile_layout(const casacore::Table& table, const std::string& column);

class TileFiles {
 public:
  enum class Access { read, write };
  /// No value if there is no layout, or if cells at both ends and in between differ in any byte from what
  /// casacore reads: then use casacore for everything. When bits are to be written, also no value if cells
  /// share bytes. While files are written here, casacore must not read or write the column, because it caches
  /// tiles.
  static std::optional<TileFiles> open(const casacore::Table& table, const std::string& column,
                                       Access access);
  TileFiles(TileFiles&&) noexcept;
  TileFiles& operator=(TileFiles&&) noexcept;
  ~TileFiles();

  /// Closes file descriptors, of which a process has few; the next use opens them again. No thread may be
  /// reading or writing.
  void close();
  /// Whether all these rows exist, with cells of this shape.
  bool hold(std::uint64_t first_row, std::size_t n_rows, const casacore::IPosition& cell) const;
  /// Reads channels first_chan .. first_chan + n_chan - 1 of rows that hold() accepted, [row][chan][corr], in
  /// elements of the column; a bool takes a byte. DataError when the file has become shorter, FailureError
  /// when it cannot be read.
  void read(std::uint64_t first_row, std::size_t n_rows, std::size_t first_chan, std::size_t n_chan,
            void* cells) const;
  /// Writes the same; other channels keep their values. Any number of threads may write at the same time,
  /// each its own rows. FailureError when the file cannot be written.
  void write(std::uint64_t first_row, std::size_t n_rows, std::size_t first_chan, std::size_t n_chan,
             const void* cells) const;

 private:
  struct State;
  explicit TileFiles(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
