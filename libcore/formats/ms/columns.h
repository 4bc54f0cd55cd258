// SPDX-License-Identifier: GPL-3.0-or-later
// Visibility columns of an existing Measurement Set, as stored: flagged cells are included. Rows are those of
// a MeasurementSetReader of the same selection. casacore types stay out of this header.
#pragma once

#include <complex>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"

namespace apsyn {

/// Cells of selection.column.
class VisibilityColumnReader {
 public:
  /// DataError when there is no such column or it holds no complex numbers; FailureError when the set cannot
  /// be opened.
  VisibilityColumnReader(const std::string& path, const MsSelection& selection);
  ~VisibilityColumnReader();
  /// data [row][chan][product] of `rows`; `channels`: rising indices into the rows' spectral window, the
  /// channel axis of data. A product that the rows lack is 0. DataError when cells are missing or of another
  /// shape. Uses up to n_threads threads if the column's tiles can be read without casacore.
  void read(const MsRows& rows, const std::vector<std::size_t>& channels, View<std::complex<float>, 3> data,
            unsigned n_threads = 1);
  /// Jy if the column does not name a unit.
  FluxUnit flux_unit() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The effects that writing a column would have, determined without changing the set.
struct VisibilityColumnState {
  bool exists = false;
  FluxUnit flux_unit = FluxUnit::jansky;  ///< of an existing column
  std::uint64_t bytes_to_add = 0;         ///< of a missing column
};
/// UsageError when the name belongs to a column that holds no visibilities, FailureError when the set or the
/// column cannot be written.
VisibilityColumnState inspect_visibility_column(const std::string& path, const MsSelection& selection);

/// Whether all cells of selection.column lie in tiles of one shape that are written without casacore, or will
/// once a missing column has been added: processes can then write rows beside each other.
bool column_is_in_tiles(const std::string& path, const MsSelection& selection);

/// Writes selection.column in place. A column that is missing is added for all rows of the set, 0 everywhere,
/// before the constructor returns: its space is then allocated, so that later writes need none. A process
/// killed at any moment leaves a set that opens, with every other column untouched; the written one then
/// holds old and new values.
class VisibilityColumnWriter {
 public:
  /// Throws as inspect_visibility_column; FailureError when another program holds the set's lock or the disk
  /// is full: the set is then as before.
  VisibilityColumnWriter(const std::string& path, const MsSelection& selection);
  /// For a column that was inspected before. Starts no process, so that any thread may begin to write.
  /// `unit` is that of an added column; an existing column keeps its unit.
  VisibilityColumnWriter(const std::string& path, const MsSelection& selection,
                         const VisibilityColumnState& inspected, FluxUnit unit = FluxUnit::jansky);
  /// A writer beside another process's, which holds the lock, has added the column, and commits. The rows
  /// that they write differ; every cell is in tiles. FailureError where they are not, or for other cells.
  static VisibilityColumnWriter beside(const std::string& path, const MsSelection& selection);
  VisibilityColumnWriter(VisibilityColumnWriter&&) noexcept;
  ~VisibilityColumnWriter();
  /// As column_is_in_tiles(), of the column that is there now.
  bool in_tiles() const;
  /// Puts rows [first, first + cells.extent(0)) of those that are written into `cells` [row][chan][product].
  using MakeCells = std::function<void(std::size_t first, View<std::complex<float>, 3> cells)>;
  /// Writes the cells that VisibilityColumnReader::read reads, with up to n_threads threads, which make them
  /// piece by piece, so that they go to the file from the cache. Other cells and channels keep their values.
  void write(const MsRows& rows, const std::vector<std::size_t>& channels, std::size_t n_products,
             const MakeCells& make, unsigned n_threads = 1);
  /// Adds lines to the set's HISTORY, unless it ends with them already, and flushes everything to disk.
  /// FailureError when that fails.
  void commit(const std::vector<std::string>& history);

 private:
  struct State;
  explicit VisibilityColumnWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
