// SPDX-License-Identifier: GPL-3.0-or-later
// Cells of tiled columns straight from their files and back, by any number of threads at once, where casacore
// takes one. For libcore/formats/ms only.
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
  /// Consecutive rows that lie one behind the other in a cube.
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

/// What the header of the column's storage manager says. Nothing where that is no tiled one that holds this
/// column alone, in this machine's order of bytes, or where the header contradicts the table or its files.
std::optional<TileLayout> read_tile_layout(const casacore::Table& table, const std::string& column);

class TileFiles {
 public:
  enum class Access { read, write };
  /// Nothing where there is no layout, or where cells at both ends and between are not, byte for byte, what
  /// casacore reads: casacore is then to be used for all. Of bits to be written also where cells share bytes.
  /// While files are written here casacore must not
  /// write or read the column, for it keeps tiles.
  static std::optional<TileFiles> open(const casacore::Table& table, const std::string& column,
                                       Access access);
  TileFiles(TileFiles&&) noexcept;
  TileFiles& operator=(TileFiles&&) noexcept;
  ~TileFiles();

  /// Gives up descriptors, of which a process has few; the next use takes them again. While no thread reads
  /// or writes.
  void close();
  /// Whether these rows are all there, with cells of this shape.
  bool hold(std::uint64_t first_row, std::size_t n_rows, const casacore::IPosition& cell) const;
  /// The channels first_chan .. first_chan + n_chan - 1 of rows that hold() told of, [row][chan][corr], in
  /// elements of the column: a bool has a byte. DataError where the file has become shorter, FailureError
  /// when it cannot be read.
  void read(std::uint64_t first_row, std::size_t n_rows, std::size_t first_chan, std::size_t n_chan,
            void* cells) const;
  /// The same to the file; other channels keep what they hold. Any number of threads at once, of rows of
  /// their own. FailureError when it cannot be written.
  void write(std::uint64_t first_row, std::size_t n_rows, std::size_t first_chan, std::size_t n_chan,
             const void* cells) const;

 private:
  struct State;
  explicit TileFiles(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
