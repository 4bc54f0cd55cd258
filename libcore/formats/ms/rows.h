// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the main table for MeasurementSetReader: which are wanted, and how their cells become MsRows. For
// libcore/formats/ms only.
#pragma once

#include <casacore/casa/Arrays/Array.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/DataMan/TiledStManAccessor.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libcore/formats/ms/metadata.h"
#include "libcore/formats/ms/tile_files.h"
#include "libcore/visibility/exposure.h"

namespace apsyn {

/// Rows whose scalars are looked at together: few enough that their memory is reused and fits into the
/// caches.
inline constexpr std::size_t kScanRows = 1 << 14;

/// The columns that say which rows are wanted, and their selection. Throws as MeasurementSetReader.
class MsRowSelection {
 public:
  struct Span {
    std::int64_t n_rows = 0;                   ///< selected
    double first_time_s = 0, last_time_s = 0;  ///< of their middles
    double begin_s = 0, end_s = 0;             ///< of the first integration and of the last
    Exposures exposures{};                     ///< of the rows that FLAG_ROW does not flag
    std::vector<int> fields{};                 ///< of these rows, rising
  };
  MsRowSelection(const casacore::Table& table, const MsMetadata& meta, const MsSelection& selection,
                 const std::string& path);
  std::int64_t begin_row() const { return begin_row_; }
  std::int64_t end_row() const { return end_row_; }
  const Span& span() const { return span_; }
  bool wants(double time_s, int field, int data_description) const;

 private:
  void find_interval(const casacore::Table& table, const std::string& path);
  void find_span(const casacore::Table& table, const std::string& path);

  const MsMetadata& meta_;
  MsSelection selection_;
  std::int64_t begin_row_ = 0, end_row_ = 0;
  double min_time_s_ = -std::numeric_limits<double>::infinity();
  double max_time_s_ = std::numeric_limits<double>::infinity();
  Span span_;
};

/// The scalars of consecutive rows of the main table.
struct MsScalars {
  std::int64_t first_row = 0;
  casacore::Vector<double> time_s, interval_s;
  casacore::Vector<double> exposure_s;  ///< with its scans, where `details` are asked for
  casacore::Vector<casacore::Int> scan;
  casacore::Vector<casacore::Int> ant1, ant2, field, data_description;
  casacore::Vector<casacore::Bool> flag_row;
};
/// Reads ANTENNA1 and ANTENNA2, which MsRowSelection does not need.
void read_antennas(MsScalars& scalars, const casacore::Table& table, std::int64_t first_row,
                   std::size_t n_rows);
void read_scalars(MsScalars& scalars, const casacore::Table& table, std::int64_t first_row,
                  std::size_t n_rows, bool details = false);

/// SCAN_NUMBER; zeros where the set has none.
void read_scans(casacore::Vector<casacore::Int>& scan, const casacore::Table& table, std::int64_t first_row,
                std::size_t n_rows);

/// The type of the storage manager that holds a column.
std::string storage_manager(const casacore::Table& table, const std::string& column);

/// The tables from which a selection of rows or a concatenation takes its rows; none for a table that stores
/// its own.
std::vector<std::string> tables_behind(const casacore::Table& table);

/// Checks the shapes that a tiled column's files claim. casacore trusts them: if they disagree with the
/// table, reading would overrun the cell's memory. Other storage managers are accepted. If the rows are
/// stored in other tables, those are checked.
class MsTileCheck {
 public:
  MsTileCheck() = default;
  MsTileCheck(const casacore::Table& table, const std::string& column, const std::string& path);
  /// DataError when the cells of `row` are not stored with shape `cell`.
  void check(casacore::rownr_t row, const casacore::IPosition& cell) const;

 private:
  void look_behind(const casacore::Table& table, const std::vector<std::string>& names);

  std::string column_, path_;
  std::optional<casacore::ROTiledStManAccessor> tiles_;
  std::vector<MsTileCheck> parts_;  ///< of the tables behind, in their order
  std::vector<casacore::rownr_t> first_rows_;
  casacore::Vector<casacore::rownr_t> rows_;  ///< [row of a selection] of the table behind
};

/// Number of bytes of cells that are read and converted at a time, so that the results fit into a core's
/// cache.
inline constexpr std::size_t kCellBytesAtOnce = 1u << 19;

/// Cells of some rows of one data description, as stored. The arrays are reused for later rows.
struct MsCells {
  const MsDataDescription* description = nullptr;
  std::size_t n_chan = 0;           ///< wanted
  bool spectrum = false;            ///< `weight` is WEIGHT_SPECTRUM, not WEIGHT
  std::vector<std::size_t> wanted;  ///< indices into the scalars
  std::vector<std::size_t> at;      ///< [wanted] index among the rows read
  casacore::Array<double> uvw;
  casacore::Array<casacore::Complex> data;
  casacore::Array<casacore::Bool> flag;
  casacore::Array<casacore::Float> weight;
  casacore::Array<casacore::Float> sigma;  ///< SIGMA_SPECTRUM, where weights come from it
};

/// Reads the cells of rows of one data description: directly from the files if these are tiles of a known
/// layout, otherwise through casacore.
class MsCellReader {
 public:
  MsCellReader(const casacore::Table& table, const MsMetadata& meta, const MsSelection& selection,
               const std::string& path);
  /// `wanted`: rising indices into `scalars`, all of one data description. Any number of threads may call it
  /// at the same time; they wait for each other where casacore reads.
  void load(MsCells& cells, const MsScalars& scalars, std::span<const std::size_t> wanted);
  /// Converts the wanted rows: uvw_m [row][3], data and weight [row][chan][product] as in MsRows. Any thread
  /// may call it while others load other cells.
  void fold(const MsCells& cells, const MsScalars& scalars, View<double, 2> uvw_m,
            View<std::complex<float>, 3> data, View<float, 3> weight) const;
  /// Whether the cells as they were loaded have the shape and the order of what fold() makes of them, most of
  /// whose values are the same.
  bool folds_in_place(const MsCells& cells) const;
  /// fold() of such cells, whose data and weight become [row][chan][product].
  void fold_in_place(MsCells& cells, const MsScalars& scalars, View<double, 2> uvw_m) const;
  /// Calls work() while no thread loads through casacore.
  template <class Work>
  void alone(Work work) {
    std::lock_guard lock(casacore_);
    work();
  }
  /// Closes what load() keeps open.
  void close();
  /// Rows of `n_chan` channels whose cells together take kCellBytesAtOnce, at least one.
  std::size_t rows_at_once(std::size_t n_corr, std::size_t n_chan) const;

 private:
  struct Place;
  template <class T>
  struct Column {
    void attach(const casacore::Table& table, const std::string& name, const std::string& path,
                bool by_files);
    casacore::ArrayColumn<T> cells;
    MsTileCheck tiles;
    std::optional<TileFiles> files;
    /// Whether the cells of a place lie in the files, with this shape.
    bool has(const Place& place, const casacore::IPosition& cell) const;
    /// Reads cells that has() accepted, or their channels from first_chan on, straight from the files.
    void read(const Place& place, casacore::IPosition cell, std::size_t first_chan,
              casacore::Array<T>& into) const;
  };
  /// The following functions read through casacore.
  template <class T>
  void load(const Column<T>& column, const Place& place, bool channels, casacore::Array<T>& into);
  void load_sigma(const Place& place, MsCells& cells);
  void load_uvw(const Place& place, casacore::Array<double>& uvw);
  void load_weights(const Place& place, MsCells& cells);
  bool has_weight_spectrum(const Place& place) const;
  void check_shape(const casacore::TableColumn& column, const Place& place) const;

  const MsMetadata& meta_;
  std::size_t first_channel_;
  std::string path_;
  bool coordinates_alone_, keep_flagged_;
  Column<double> uvw_;
  Column<casacore::Complex> data_;
  Column<casacore::Bool> flag_;
  Column<casacore::Float> weight_;
  std::optional<Column<casacore::Float>> spectrum_;
  std::optional<Column<casacore::Float>> sigma_;  ///< where weights come from it
  std::mutex casacore_;                           ///< casacore is not thread-safe
};

}  // namespace apsyn
