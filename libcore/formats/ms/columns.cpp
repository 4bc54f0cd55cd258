// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/columns.h"

#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <optional>

#include "libcore/base/view.h"
#include "libcore/files/output.h"
#include "libcore/formats/ms/addresses.h"
#include "libcore/formats/ms/lock.h"
#include "libcore/formats/ms/probe.h"
#include "libcore/formats/ms/units.h"
#include "libcore/formats/ms/update.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using casacore::IPosition;
using Cells = casacore::Array<casacore::Complex>;

/// Calls use(span) for all rows, in spans of a size that suits casacore.
template <class Use>
void for_row_spans(const MsRows& rows, std::size_t n_channels, std::size_t n_products, Use use) {
  constexpr std::size_t kBytes = 2u << 20;
  const std::size_t n_rows = rows.row_number.size(), at_once = rows_within(kBytes, n_channels, n_products);
  for (std::size_t first = 0; first < n_rows; first += at_once)
    use(RowSpan{first, std::min(at_once, n_rows - first)});
}

/// A set and a column of its visibilities.
struct OpenColumn {
  std::string path;
  MsSelection selection;
  casacore::Table table;
  MsMetadata meta;
  casacore::ArrayColumn<casacore::Complex> column;
  MsTileCheck tiles;
  std::optional<TileFiles> files;
  Cells cells;

  OpenColumn(const std::string& name, const MsSelection& wanted, const casacore::Table& opened)
      : path(name),
        selection(wanted),
        table(opened),
        meta(with_measurement_set(name, [&] { return read_ms_metadata(table, name, wanted); })) {}
  /// Call it once the column exists.
  void attach(TileFiles::Access access) {
    column.attach(table, selection.column);
    tiles = MsTileCheck(table, selection.column, path);
    if (!selection.by_casacore_alone) files = TileFiles::open(table, selection.column, access);
  }
  bool in_files(const std::vector<RowSpan>& spans, const Addresses& at) const {
    return files && std::all_of(spans.begin(), spans.end(), [&](const RowSpan& span) {
             return files->hold(at.row(span), span.n, at.cell());
           });
  }
};

/// Whether all cells of an existing column are of one shape and lie in tiles of a known layout.
bool holds_all(const casacore::Table& table, const std::string& column,
               const std::optional<TileFiles>& files) {
  const casacore::ArrayColumn<casacore::Complex> cells(table, column);
  return files && table.nrow() > 0 && cells.isDefined(0) && files->hold(0, table.nrow(), cells.shape(0));
}

/// Memory in which cells are rearranged between the caller's order and that of the file.
Buffer<casacore::Complex, 1>& cells_between(std::size_t n) {
  thread_local Buffer<casacore::Complex, 1> cells;
  cells.resize_for_overwrite({n});
  return cells;
}

}  // namespace

struct VisibilityColumnReader::State : OpenColumn {
  State(const std::string& name, const MsSelection& wanted) : OpenColumn(name, wanted, open_to_read(name)) {
    require_visibility_column(table, path, wanted.column);
    attach(TileFiles::Access::read);
  }
};

VisibilityColumnReader::VisibilityColumnReader(const std::string& path, const MsSelection& selection)
    : state_(with_measurement_set(path, [&] { return std::make_unique<State>(path, selection); })) {}
VisibilityColumnReader::~VisibilityColumnReader() = default;

void VisibilityColumnReader::read(const MsRows& rows, const std::vector<std::size_t>& channels,
                                  View<std::complex<float>, 3> data, unsigned n_threads) {
  if (rows.row_number.empty()) return;
  State& state = *state_;
  with_measurement_set(state.path, [&] {
    const Addresses addresses(state.meta, state.selection, rows, channels);
    if (addresses.lacks_products()) std::fill(data.begin(), data.end(), std::complex<float>{});
    const auto place = [&](const ChannelRun& run, const RowSpan& span, const casacore::Complex* from) {
      addresses.for_cells(run, span, [&](std::size_t at, std::size_t row, std::size_t chan, std::size_t p) {
        data(row, chan, p) = from[at];
      });
    };
    const std::vector<RowSpan> spans = consecutive_rows(rows, channels.size(), data.extent(2));
    if (state.in_files(spans, addresses)) {
      parallel_for(n_threads, spans.size(), [&](std::size_t item, unsigned) {
        const RowSpan& span = spans[item];
        for (const ChannelRun& run : addresses.runs) {
          const bool as_stored = addresses.as_stored(run, data.extent(1));
          casacore::Complex* to = as_stored
                                      ? &data(span.first, 0, 0)
                                      : cells_between(span.n * run.n * addresses.description.n_corr).data();
          state.files->read(addresses.row(span), span.n, addresses.first_channel(run), run.n, to);
          if (!as_stored) place(run, span, to);
        }
      });
      return;
    }
    check_cells(state.column, state.tiles, addresses.cell(), rows, state.path);
    for_row_spans(rows, channels.size(), data.extent(2), [&](const RowSpan& span) {
      for (const ChannelRun& run : addresses.runs) {
        state.column.getColumnCells(addresses.rows(span), addresses.section(run), state.cells, true);
        place(run, span, state.cells.data());
      }
    });
  });
}

FluxUnit VisibilityColumnReader::flux_unit() const {
  return with_measurement_set(
      state_->path, [&] { return unit_of_column(state_->table, state_->path, state_->selection.column); });
}

VisibilityColumnState inspect_visibility_column(const std::string& path, const MsSelection& selection) {
  return with_measurement_set(path, [&]() -> VisibilityColumnState {
    probe_in_subprocess(path, [&] {
      const casacore::Table table = open_to_read(path);
      visibility_bytes(table, path);
      look_at_history(table);
    });
    const casacore::Table table = open_to_read(path);
    if (!casacore::Table::isWritable(path))
      throw FailureError("{}: is not writable: change its permissions, or work on a copy", path);
    check_visibility_name(table, path, selection.column);
    check_home(table, path, selection.column);
    if (table.tableDesc().isColumn(selection.column))
      return {true, unit_of_column(table, path, selection.column), 0};
    return {false, FluxUnit::jansky, visibility_bytes(table, path)};
  });
}

bool column_is_in_tiles(const std::string& path, const MsSelection& selection) {
  if (selection.by_casacore_alone) return false;
  return with_measurement_set(path, [&] {
    const casacore::Table table = open_to_read(path);
    if (table.tableDesc().isColumn(selection.column))
      return holds_all(table, selection.column,
                       TileFiles::open(table, selection.column, TileFiles::Access::write));
    return tables_behind(table).empty() && table.keywordSet().asTable("DATA_DESCRIPTION").nrow() == 1;
  });
}

struct VisibilityColumnWriter::State : OpenColumn {
  std::shared_ptr<const MeasurementSetLock> lock;

  State(const std::string& name, const MsSelection& wanted, FluxUnit unit)
      : OpenColumn(name, wanted, open_to_write(name)), lock(lock_measurement_set(name)) {
    lock->check_description();
    keep_open(table);
    if (!table.tableDesc().isColumn(wanted.column)) {
      add_visibility_column(table, path, wanted.column, unit);
      lock->accept_description();
    }
    if (!table.isColumnWritable(wanted.column))
      throw FailureError("{}: column {} cannot be written: its storage manager only reads: choose another",
                         path, wanted.column);
    attach(TileFiles::Access::write);
  }

  /// Beside a process that has done all this.
  State(const std::string& name, const MsSelection& wanted) : OpenColumn(name, wanted, open_to_read(name)) {
    attach(TileFiles::Access::write);
    if (!holds_all(table, wanted.column, files))
      throw FailureError(
          "{}: column {}: processes cannot write it beside each other, since not all of it lies in tiles: "
          "start one process",
          path, wanted.column);
  }
};

VisibilityColumnWriter::VisibilityColumnWriter(const std::string& path, const MsSelection& selection)
    : VisibilityColumnWriter(path, selection, inspect_visibility_column(path, selection)) {}
VisibilityColumnWriter::VisibilityColumnWriter(const std::string& path, const MsSelection& selection,
                                               const VisibilityColumnState&, FluxUnit unit)
    : state_(std::make_unique<State>(path, selection, unit)) {}
VisibilityColumnWriter::VisibilityColumnWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
VisibilityColumnWriter::VisibilityColumnWriter(VisibilityColumnWriter&&) noexcept = default;
VisibilityColumnWriter::~VisibilityColumnWriter() = default;

VisibilityColumnWriter VisibilityColumnWriter::beside(const std::string& path, const MsSelection& selection) {
  return VisibilityColumnWriter(
      with_measurement_set(path, [&] { return std::make_unique<State>(path, selection); }));
}

bool VisibilityColumnWriter::in_tiles() const {
  return holds_all(state_->table, state_->selection.column, state_->files);
}

void VisibilityColumnWriter::write(const MsRows& rows, const std::vector<std::size_t>& channels,
                                   std::size_t n_products, const MakeCells& make, unsigned n_threads) {
  if (rows.row_number.empty()) return;
  State& state = *state_;
  const Addresses addresses(state.meta, state.selection, rows, channels);
  using Made = View<const std::complex<float>, 3>;
  const auto made = [&](const RowSpan& span) -> Made {
    thread_local Buffer<std::complex<float>, 3> cells;
    cells.resize_for_overwrite({span.n, channels.size(), n_products});
    make(span.first, cells);
    return cells;
  };
  const auto fetch = [&](const Made& from, const ChannelRun& run, const RowSpan& span,
                         casacore::Complex* to) {
    addresses.for_cells(run, span, [&](std::size_t at, std::size_t row, std::size_t chan, std::size_t p) {
      to[at] = from(row - span.first, chan, p);
    });
  };
  const std::vector<RowSpan> spans = consecutive_rows(rows, channels.size(), n_products);
  if (state.in_files(spans, addresses)) {
    // A thread takes neighbours, which lie in the same part of the file.
    constexpr std::size_t kAtOnce = 4;
    parallel_for(n_threads, (spans.size() + kAtOnce - 1) / kAtOnce, [&](std::size_t item, unsigned) {
      for (std::size_t i = item * kAtOnce; i < std::min(spans.size(), (item + 1) * kAtOnce); ++i) {
        const RowSpan& span = spans[i];
        const Made cells = made(span);
        for (const ChannelRun& run : addresses.runs) {
          const casacore::Complex* from = cells.data();
          if (!addresses.as_stored(run, channels.size())) {
            casacore::Complex* between = cells_between(span.n * run.n * addresses.description.n_corr).data();
            fetch(cells, run, span, between);
            from = between;
          }
          state.files->write(addresses.row(span), span.n, addresses.first_channel(run), run.n, from);
        }
      }
    });
    return;
  }
  if (!state.lock)
    throw FailureError("{}: column {}: rows from {} on are not in tiles: start one process", state.path,
                       state.selection.column, rows.row_number.front());
  with_measurement_set(state.path, [&] {
    define_cells(state.column, addresses.cell(), rows.row_number);
    check_cells(state.column, state.tiles, addresses.cell(), rows, state.path);
  });
  with_writing_set(state.path, [&] {
    for_row_spans(rows, channels.size(), n_products, [&](const RowSpan& span) {
      const Made cells = made(span);
      for (const ChannelRun& run : addresses.runs) {
        state.cells.resize(addresses.shape(run, span));
        fetch(cells, run, span, state.cells.data());
        state.column.putColumnCells(addresses.rows(span), addresses.section(run), state.cells);
      }
    });
    // Other rows of the same tiles may be written without casacore, which must therefore not cache these
    // tiles.
    if (state.files) flush_column(state.table, state.selection.column);
  });
}

void VisibilityColumnWriter::commit(const std::vector<std::string>& history) {
  State& state = *state_;
  with_writing_set(state.path, [&] {
    flush_column(state.table, state.selection.column);
    add_history(state.table, history);
  });
  sync_tree(state.path);
}

}  // namespace apsyn
