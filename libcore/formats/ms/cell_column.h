// SPDX-License-Identifier: GPL-3.0-or-later
// A column of cells of an existing set, read and written as stored. For libcore/formats/ms only.
#pragma once

#include <casacore/casa/Arrays/Array.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <mutex>
#include <optional>
#include <string>

#include "libcore/base/view.h"
#include "libcore/formats/ms/addresses.h"
#include "libcore/formats/ms/rows.h"
#include "libcore/formats/ms/tile_files.h"

namespace apsyn {

/// A column with a value for each channel and correlation. If its tiles can be accessed without casacore, any
/// number of threads read and write different rows at the same time; calls of casacore take turns.
template <class T>
class CellColumn {
 public:
  CellColumn(const casacore::Table& table, const std::string& name, const std::string& path, bool by_files,
             TileFiles::Access access)
      : name_(name), path_(path), cells_(table, name), tiles_(table, name, path) {
    if (by_files) files_ = TileFiles::open(table, name, access);
    // Elements smaller than a byte are read directly but written through casacore.
    if (by_files && !files_ && access == TileFiles::Access::write)
      read_only_ = TileFiles::open(table, name, TileFiles::Access::read);
  }

  /// `to` [row][chan][product]; products that the rows lack stay as they are.
  void read(const Addresses& at, const MsRows& rows, const RowSpan& span, View<T, 3> to,
            std::mutex& casacore_mutex) const {
    for (const ChannelRun& run : at.runs) {
      const bool as_stored = at.as_stored(run, to.extent(1));
      Buffer<T, 1>& between = buffer();
      if (!as_stored) between.resize_for_overwrite({span.n * run.n * at.description.n_corr});
      T* const cells = as_stored ? to.data() : between.data();
      read_cells(at, rows, span, run, cells, casacore_mutex);
      if (!as_stored)
        at.for_cells(run, span, [&](std::size_t i, std::size_t row, std::size_t chan, std::size_t p) {
          to(row - span.first, chan, p) = cells[i];
        });
    }
  }

  void write(const Addresses& at, const RowSpan& span, View<const T, 3> from, std::mutex& casacore_mutex) {
    for (const ChannelRun& run : at.runs) {
      const T* cells = from.data();
      if (!at.as_stored(run, from.extent(1))) {
        Buffer<T, 1>& between = buffer();
        between.resize_for_overwrite({span.n * run.n * at.description.n_corr});
        between.fill(T{});
        at.for_cells(run, span, [&](std::size_t i, std::size_t row, std::size_t chan, std::size_t p) {
          between(i) = from(row - span.first, chan, p);
        });
        cells = between.data();
      }
      if (files_ && files_->hold(at.row(span), span.n, at.cell())) {
        files_->write(at.row(span), span.n, at.first_channel(run), run.n, cells);
        continue;
      }
      std::lock_guard lock(casacore_mutex);
      // casacore shares this memory and only reads it.
      const casacore::Array<T> array(at.shape(run, span), const_cast<T*>(cells), casacore::SHARE);
      cells_.putColumnCells(at.rows(span), at.section(run), array);
    }
  }

  /// Fills undefined rows with zeros.
  void define(const Addresses& at, const MsRows& rows) {
    if (cells_.columnDesc().isFixedShape()) return;
    for (const std::int64_t row : rows.row_number)
      if (!cells_.isDefined(static_cast<casacore::rownr_t>(row)))
        cells_.put(static_cast<casacore::rownr_t>(row), casacore::Array<T>(at.cell(), T{}));
  }
  bool holds(const Addresses& at, const MsRows& rows) const {
    for (const std::int64_t number : rows.row_number) {
      const auto row = static_cast<casacore::rownr_t>(number);
      if (!cells_.isDefined(row) || !cells_.shape(row).isEqual(at.cell())) return false;
      if (cells_.columnDesc().isFixedShape()) break;
    }
    return true;
  }
  void check(const Addresses& at, const MsRows& rows) const {
    check_cells(cells_, tiles_, at.cell(), rows, path_);
  }
  const std::string& name() const { return name_; }

 private:
  static Buffer<T, 1>& buffer() {
    thread_local Buffer<T, 1> cells;
    return cells;
  }
  void read_cells(const Addresses& at, const MsRows&, const RowSpan& span, const ChannelRun& run, T* cells,
                  std::mutex& casacore_mutex) const {
    for (const auto* files : {&files_, &read_only_})
      if (*files && (*files)->hold(at.row(span), span.n, at.cell()))
        return (*files)->read(at.row(span), span.n, at.first_channel(run), run.n, cells);
    std::lock_guard lock(casacore_mutex);
    casacore::Array<T> array(at.shape(run, span), cells, casacore::SHARE);
    cells_.getColumnCells(at.rows(span), at.section(run), array, false);
  }

  std::string name_, path_;
  mutable casacore::ArrayColumn<T> cells_;
  MsTileCheck tiles_;
  std::optional<TileFiles> files_, read_only_;
};

}  // namespace apsyn
