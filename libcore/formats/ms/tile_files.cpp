// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/tile_files.h"

#include <casacore/casa/Arrays/Array.h>
#include <casacore/tables/DataMan/TiledStManAccessor.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/TableDesc.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/files/shared_file.h"
#include "libcore/system/system_error.h"

namespace apsyn {
namespace {

/// Size of the buffer in which rows of a tile are rearranged; it fits into the cache.
constexpr std::uint64_t kBytesBetween = 1 << 18;

/// A file that the first thread to use it opens.
class File {
 public:
  File(std::string path, TileFiles::Access access) : path_(std::move(path)), access_(access) {}
  File(const File&) = delete;
  ~File() { close(); }
  int descriptor() {
    int fd = fd_.load(std::memory_order_acquire);
    if (fd >= 0) return fd;
    std::lock_guard lock(mutex_);
    fd = fd_.load(std::memory_order_relaxed);
    if (fd >= 0) return fd;
    fd = ::open(path_.c_str(), (access_ == TileFiles::Access::write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0) {
      const std::string reason = std::strerror(errno);
      const char* cure = cure_of_system_error(reason);
      throw FailureError("{}: cannot be opened: {}: {}", path_, reason,
                         cure == nullptr ? "look whether another program changes the set" : cure);
    }
    if (access_ == TileFiles::Access::write) shared_.emplace(fd);
    fd_.store(fd, std::memory_order_release);
    return fd;
  }
  /// Of a file that is written.
  SharedFile& shared() {
    descriptor();
    return *shared_;
  }
  /// No thread may be using it.
  void close() {
    shared_.reset();
    if (const int fd = fd_.exchange(-1); fd >= 0) ::close(fd);
  }

 private:
  std::string path_;
  TileFiles::Access access_;
  std::mutex mutex_;
  std::atomic<int> fd_{-1};
  std::optional<SharedFile> shared_;
};

/// Bits first .. first + n - 1, of which the lowest of a byte comes first.
void spread_bits(const std::uint8_t* bytes, std::uint64_t first, std::uint64_t n, std::uint8_t* to) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kEach = 0x0101010101010101u, kOwn = 0x8040201008040201u;
  const unsigned shift = first % 8;
  bytes += first / 8;
  for (; n >= 8; n -= 8, to += 8, ++bytes) {
    const unsigned eight = shift == 0 ? *bytes : (bytes[0] | unsigned{bytes[1]} << 8) >> shift & 0xff;
    // Byte i of `own` keeps only bit i of `eight`; byte i of `ones` is 1 where that bit is set.
    const std::uint64_t own = eight * kEach & kOwn, ones = (own + 0x7f * kEach) >> 7 & kEach;
    std::memcpy(to, &ones, 8);
  }
  for (std::uint64_t i = 0; i < n; ++i) to[i] = bytes[(shift + i) / 8] >> (shift + i) % 8 & 1;
}

/// The inverse of spread_bits(): n bytes of 0 or 1, n a multiple of 8.
void gather_bits(const std::uint8_t* from, std::uint64_t n, std::uint8_t* bytes) {
  // The product brings byte i's lowest bit to bit 56 + i; no two of its terms meet there, or carry into it.
  constexpr std::uint64_t kToTop = 0x0102040810204080u;
  for (std::uint64_t i = 0; i < n; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, from + i, 8);
    bytes[i / 8] = static_cast<std::uint8_t>((eight * kToTop) >> 56);
  }
}

/// Part of an axis.
struct Range {
  std::uint64_t first = 0, n = 0;
  std::uint64_t end() const { return first + n; }
  /// The part inside a tile that begins at `from`, counted from there.
  Range within(std::uint64_t from, std::uint64_t extent) const {
    const std::uint64_t begin = std::max(first, from), stop = std::min(end(), from + extent);
    return {begin - from, stop - begin};
  }
};

}  // namespace

struct TileFiles::State {
  TileLayout layout;
  std::string column;
  std::uint64_t element_bytes = 0;  ///< in memory
  bool bits = false;                ///< a bit each in the file
  std::deque<File> files;

  const TileLayout::Run* run_of(std::uint64_t row) const {
    const auto next = std::upper_bound(layout.runs.begin(), layout.runs.end(), row,
                                       [](std::uint64_t r, const auto& run) { return r < run.first_row; });
    if (next == layout.runs.begin()) return nullptr;
    const TileLayout::Run& run = *(next - 1);
    return row < run.first_row + run.n_rows ? &run : nullptr;
  }

  /// Calls use(cube, places on its third axis, rows before them) for rows that exist.
  template <class Use>
  void for_runs(std::uint64_t first_row, std::uint64_t n_rows, Use use) const {
    for (std::uint64_t done = 0; done < n_rows;) {
      const TileLayout::Run& run = *run_of(first_row + done);
      const std::uint64_t skip = first_row + done - run.first_row,
                          n = std::min(run.n_rows - skip, n_rows - done);
      use(layout.cubes[run.cube], Range{run.place + skip, n}, done);
      done += n;
    }
  }

  void read_bytes(const TileLayout::Cube& cube, std::uint64_t offset, void* to, std::uint64_t n) {
    const int fd = files[cube.file].descriptor();
    auto* bytes = static_cast<char*>(to);
    while (n > 0) {
      const ssize_t got = ::pread(fd, bytes, n, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0)
        throw FailureError("{}: column {} cannot be read: {}", layout.files[cube.file], column,
                           std::strerror(errno));
      if (got == 0)
        throw DataError("{}: ends at byte {}, within column {}: the set is damaged", layout.files[cube.file],
                        offset, column);
      bytes += got;
      offset += static_cast<std::uint64_t>(got);
      n -= static_cast<std::uint64_t>(got);
    }
  }

  void write_bytes(const TileLayout::Cube& cube, std::uint64_t offset, const void* from, std::uint64_t n) {
    if (const int error = files[cube.file].shared().write(offset, from, n); error != 0)
      throw FailureError("{}: column {} cannot be written: {}", layout.files[cube.file], column,
                         std::strerror(error));
  }

  /// Rows of a cube whose tiles hold whole cells follow each other in the file, from tile to tile.
  static bool adjacent(const TileLayout::Cube& cube, const Range& chans) {
    return cube.tile[0] == cube.shape[0] && cube.tile[1] == cube.shape[1] && chans.n == cube.shape[1];
  }
  /// Includes the padding between tiles that are not whole bytes.
  static std::uint64_t tile_elements(const TileLayout::Cube& cube) {
    return cube.tile[0] * cube.tile[1] * cube.tile[2];
  }

  /// Elements first .. first + n - 1, counted from the tile at `offset`, in elements of the column.
  void read_elements(const TileLayout::Cube& cube, std::uint64_t offset, std::uint64_t first, std::uint64_t n,
                     std::uint8_t* to) {
    if (!bits) return read_bytes(cube, offset + first * element_bytes, to, n * element_bytes);
    thread_local std::vector<std::uint8_t> packed;
    const std::uint64_t begin = first / 8, end = (first + n + 7) / 8;
    packed.resize(end - begin + 1);  // one more is looked at
    read_bytes(cube, offset + begin, packed.data(), end - begin);
    spread_bits(packed.data(), first % 8, n, to);
  }

  /// Calls use(offset of the tile, channels in it, first of these in the call, correlations in it, first of
  /// these in the cell) for all tiles beside each other that hold the channels, and rows of one row of tiles.
  template <class Use>
  static void for_tiles(const TileLayout::Cube& cube, std::uint64_t row_tile, const Range& chans, Use use) {
    for (std::uint64_t t = chans.first / cube.tile[1]; t * cube.tile[1] < chans.end(); ++t) {
      const Range of_chans = chans.within(t * cube.tile[1], cube.tile[1]);
      for (std::uint64_t c = 0; c < cube.n_tiles[0]; ++c) {
        const Range of_corrs = Range{0, cube.shape[0]}.within(c * cube.tile[0], cube.tile[0]);
        const std::uint64_t number = c + cube.n_tiles[0] * (t + cube.n_tiles[1] * row_tile);
        use(cube.offset + number * cube.tile_bytes, of_chans, t * cube.tile[1] + of_chans.first - chans.first,
            of_corrs, c * cube.tile[0]);
      }
    }
  }

  /// Calls use(row of tiles, rows in it, first of these among the places), with as many rows of a tile at a
  /// time as the buffer holds.
  template <class Use>
  void for_row_tiles(const TileLayout::Cube& cube, const Range& places, Use use) const {
    const std::uint64_t row_bytes = cube.tile[0] * cube.tile[1] * element_bytes,
                        at_once =
                            std::max<std::uint64_t>(1, kBytesBetween / std::max<std::uint64_t>(1, row_bytes));
    for (std::uint64_t at = places.first; at < places.end();) {
      const std::uint64_t tile = at / cube.tile[2],
                          end = std::min({places.end(), (tile + 1) * cube.tile[2], at + at_once});
      use(tile, Range{at - tile * cube.tile[2], end - at}, at - places.first);
      at = end;
    }
  }

  /// [row][chan][corr] of the places.
  void read_places(const TileLayout::Cube& cube, const Range& places, const Range& chans, std::uint8_t* to) {
    const std::uint64_t cell = chans.n * cube.shape[0], row_elements = cube.tile[0] * cube.tile[1];
    if (adjacent(cube, chans) && (!bits || tile_elements(cube) % 8 == 0))
      return read_elements(cube, cube.offset, places.first * cell, places.n * cell, to);
    thread_local std::vector<std::uint8_t> rows;
    for_row_tiles(cube, places, [&](std::uint64_t tile, const Range& of_rows, std::uint64_t before) {
      for_tiles(cube, tile, chans,
                [&](std::uint64_t offset, const Range& of_chans, std::uint64_t first_chan,
                    const Range& of_corrs, std::uint64_t first_corr) {
                  rows.resize(of_rows.n * row_elements * element_bytes);
                  read_elements(cube, offset, of_rows.first * row_elements, of_rows.n * row_elements,
                                rows.data());
                  copy<false>(cube, cell, before, of_rows.n, of_chans, first_chan, of_corrs, first_corr,
                              rows.data(), to);
                });
    });
  }

  /// Whether all cells of bits begin at whole bytes.
  static bool whole_bytes(const TileLayout::Cube& cube) {
    return cube.tile[0] == cube.shape[0] && cube.tile[1] == cube.shape[1] &&
           cube.tile[0] * cube.tile[1] % 8 == 0;
  }
  /// Writes bits of a cube with whole_bytes().
  void write_bits(const TileLayout::Cube& cube, const Range& places, const Range& chans,
                  const std::uint8_t* from) {
    thread_local std::vector<std::uint8_t> packed, cells;
    const std::uint64_t cell = cube.shape[0] * cube.shape[1], line = chans.n * cube.shape[0];
    const std::uint64_t at_once =
        std::max<std::uint64_t>(1, kBytesBetween / std::max<std::uint64_t>(1, cell));
    for (std::uint64_t done = 0, n = 0; done < places.n; done += n) {
      n = std::min(at_once, places.n - done);
      const std::uint8_t* all = from + done * line;
      if (line != cell) {
        cells.resize(n * cell);
        read_elements(cube, cube.offset, (places.first + done) * cell, n * cell, cells.data());
        for (std::uint64_t row = 0; row < n; ++row)
          std::memcpy(cells.data() + row * cell + chans.first * cube.shape[0], all + row * line, line);
        all = cells.data();
      }
      packed.resize(n * cell / 8);
      gather_bits(all, n * cell, packed.data());
      write_bytes(cube, cube.offset + (places.first + done) * cell / 8, packed.data(), packed.size());
    }
  }

  void write_places(const TileLayout::Cube& cube, const Range& places, const Range& chans,
                    const std::uint8_t* from) {
    if (bits) return write_bits(cube, places, chans, from);
    const std::uint64_t cell = chans.n * cube.shape[0], row_elements = cube.tile[0] * cube.tile[1];
    if (adjacent(cube, chans))
      return write_bytes(cube, cube.offset + places.first * cell * element_bytes, from,
                         places.n * cell * element_bytes);
    thread_local std::vector<std::uint8_t> rows;
    for_row_tiles(cube, places, [&](std::uint64_t tile, const Range& of_rows, std::uint64_t before) {
      for_tiles(cube, tile, chans,
                [&](std::uint64_t offset, const Range& of_chans, std::uint64_t first_chan,
                    const Range& of_corrs, std::uint64_t first_corr) {
                  const std::uint64_t begin = offset + of_rows.first * row_elements * element_bytes;
                  rows.resize(of_rows.n * row_elements * element_bytes);
                  if (of_chans.n * of_corrs.n != row_elements)
                    read_bytes(cube, begin, rows.data(), rows.size());
                  copy<true>(cube, cell, before, of_rows.n, of_chans, first_chan, of_corrs, first_corr,
                             rows.data(), from);
                  write_bytes(cube, begin, rows.data(), rows.size());
                });
    });
  }

  /// Copies the part that a tile and the call have in common, in either direction.
  template <bool into_tile, class Cells>
  void copy(const TileLayout::Cube& cube, std::uint64_t cell, std::uint64_t first_row, std::uint64_t n_rows,
            const Range& of_chans, std::uint64_t first_chan, const Range& of_corrs, std::uint64_t first_corr,
            std::uint8_t* rows, Cells* cells) const {
    const bool whole = of_corrs.n == cube.shape[0] && cube.tile[0] == cube.shape[0];
    const std::uint64_t n_lines = whole ? 1 : of_chans.n,
                        line_bytes = (whole ? of_chans.n : 1) * of_corrs.n * element_bytes;
    for (std::uint64_t row = 0; row < n_rows; ++row)
      for (std::uint64_t line = 0; line < n_lines; ++line) {
        std::uint8_t* in_tile =
            rows +
            ((row * cube.tile[1] + of_chans.first + line) * cube.tile[0] + of_corrs.first) * element_bytes;
        Cells* in_cells =
            cells +
            ((first_row + row) * cell + (first_chan + line) * cube.shape[0] + first_corr) * element_bytes;
        if constexpr (into_tile)
          std::memcpy(in_tile, in_cells, line_bytes);
        else
          std::memcpy(in_cells, in_tile, line_bytes);
      }
  }
};

namespace {

/// A few rows to compare: both ends of the table, the middle, and the first rows of further cubes.
std::vector<std::uint64_t> rows_to_compare(const TileLayout& layout, std::uint64_t n_rows) {
  if (n_rows == 0) return {};
  std::set<std::uint64_t> rows{0, n_rows / 2, n_rows - 1};
  std::set<std::size_t> cubes;
  constexpr std::size_t kMostCubes = 4;
  for (const TileLayout::Run& run : layout.runs) {
    if (cubes.size() == kMostCubes) break;
    if (cubes.insert(run.cube).second) rows.insert(run.first_row);
  }
  return {rows.begin(), rows.end()};
}

template <class T>
bool reads_the_same(const TileFiles& files, const TileLayout& layout, const casacore::Table& table,
                    const std::string& column) {
  const casacore::ArrayColumn<T> cells(table, column);
  for (const std::uint64_t row : rows_to_compare(layout, table.nrow())) {
    if (!cells.isDefined(row)) {
      const bool held = std::any_of(layout.runs.begin(), layout.runs.end(), [&](const auto& run) {
        return row >= run.first_row && row < run.first_row + run.n_rows;
      });
      if (held) return false;
      continue;
    }
    const casacore::IPosition shape = cells.shape(row);
    if (!files.hold(row, 1, shape)) return false;
    const casacore::Array<T> expected = cells.get(row);
    casacore::Array<T> found(shape);
    files.read(row, 1, 0, static_cast<std::size_t>(shape.size() == 2 ? shape[1] : 1), found.data());
    if (std::memcmp(found.data(), expected.data(), expected.size() * sizeof(T)) != 0) return false;
  }
  return true;
}

bool reads_the_same(const TileFiles& files, const TileLayout& layout, const casacore::Table& table,
                    const std::string& column) {
  try {
    switch (table.tableDesc().columnDesc(column).dataType()) {
      case casacore::TpBool:
        return reads_the_same<casacore::Bool>(files, layout, table, column);
      case casacore::TpFloat:
        return reads_the_same<casacore::Float>(files, layout, table, column);
      case casacore::TpDouble:
        return reads_the_same<casacore::Double>(files, layout, table, column);
      default:
        return reads_the_same<casacore::Complex>(files, layout, table, column);
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // comes again when these rows are read, if they are
    return false;
  }
}

}  // namespace

TileFiles::TileFiles(std::unique_ptr<State> state) : state_(std::move(state)) {}
TileFiles::TileFiles(TileFiles&&) noexcept = default;
TileFiles& TileFiles::operator=(TileFiles&&) noexcept = default;
TileFiles::~TileFiles() = default;

std::optional<TileFiles> TileFiles::open(const casacore::Table& table, const std::string& column,
                                         Access access) {
  std::optional<TileLayout> layout = read_tile_layout(table, column);
  if (!layout) return {};
  auto state = std::make_unique<State>();
  state->column = column;
  const casacore::DataType type = table.tableDesc().columnDesc(column).dataType();
  state->bits = type == casacore::TpBool;
  state->element_bytes = state->bits ? 1 : type == casacore::TpFloat ? 4 : 8;
  if (state->bits && access == Access::write)
    for (const TileLayout::Cube& cube : layout->cubes)
      if (cube.tile_bytes > 0 && !State::whole_bytes(cube)) return {};
  for (const std::string& path : layout->files) state->files.emplace_back(path, access);
  state->layout = *std::move(layout);
  const TileLayout& kept = state->layout;
  TileFiles files(std::move(state));
  casacore::ROTiledStManAccessor tiles(table, column, true);
  tiles.clearCaches();  // to the file, what is not there yet
  const bool same = reads_the_same(files, kept, table, column);
  tiles.clearCaches();
  files.close();
  return same ? std::optional(std::move(files)) : std::nullopt;
}

void TileFiles::close() {
  for (File& file : state_->files) file.close();
}

bool TileFiles::hold(std::uint64_t first_row, std::size_t n_rows, const casacore::IPosition& cell) const {
  if (cell.size() != state_->layout.n_cell_axes) return false;
  const std::uint64_t n_corr = static_cast<std::uint64_t>(cell[0]),
                      n_chan = cell.size() == 2 ? static_cast<std::uint64_t>(cell[1]) : 1;
  for (std::uint64_t row = first_row; row < first_row + n_rows;) {
    const TileLayout::Run* run = state_->run_of(row);
    if (run == nullptr) return false;
    const TileLayout::Cube& cube = state_->layout.cubes[run->cube];
    if (cube.shape[0] != n_corr || cube.shape[1] != n_chan) return false;
    row = run->first_row + run->n_rows;
  }
  return true;
}

void TileFiles::read(std::uint64_t first_row, std::size_t n_rows, std::size_t first_chan, std::size_t n_chan,
                     void* cells) const {
  state_->for_runs(first_row, n_rows, [&](const auto& cube, const Range& places, std::uint64_t before) {
    state_->read_places(
        cube, places, {first_chan, n_chan},
        static_cast<std::uint8_t*>(cells) + before * n_chan * cube.shape[0] * state_->element_bytes);
  });
}

void TileFiles::write(std::uint64_t first_row, std::size_t n_rows, std::size_t first_chan, std::size_t n_chan,
                      const void* cells) const {
  state_->for_runs(first_row, n_rows, [&](const auto& cube, const Range& places, std::uint64_t before) {
    state_->write_places(
        cube, places, {first_chan, n_chan},
        static_cast<const std::uint8_t*>(cells) + before * n_chan * cube.shape[0] * state_->element_bytes);
  });
}

}  // namespace apsyn
