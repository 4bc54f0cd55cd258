// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/update.h"

#include <casacore/casa/Arrays/Vector.h>
#include <casacore/ms/MeasurementSets/MeasurementSet.h>
#include <casacore/tables/DataMan/TiledShapeStMan.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/files/output.h"
#include "libcore/formats/ms/allocated_column.h"
#include "libcore/formats/ms/metadata.h"
#include "libcore/formats/ms/rows.h"
#include "libcore/formats/ms/subtables.h"
#include "libcore/formats/ms/times.h"
#include "libcore/formats/ms/units.h"
#include "libcore/measures/casacore_log.h"

namespace apsyn {
namespace {

namespace fs = std::filesystem;
using casacore::IPosition;

/// Cells (correlations, channels) of every data description.
std::vector<IPosition> cell_shapes(const casacore::Table& table, const std::string& path) {
  const casacore::Table descriptions = ms_subtable(table, path, "DATA_DESCRIPTION"),
                        windows = ms_subtable(table, path, "SPECTRAL_WINDOW"),
                        polarizations = ms_subtable(table, path, "POLARIZATION");
  const casacore::ArrayColumn<double> freq(windows, "CHAN_FREQ");
  const casacore::ArrayColumn<casacore::Int> corr_type(polarizations, "CORR_TYPE");
  const casacore::ScalarColumn<casacore::Int> spw(descriptions, "SPECTRAL_WINDOW_ID"),
      polarization(descriptions, "POLARIZATION_ID");
  std::vector<IPosition> shapes;
  for (casacore::rownr_t row = 0; row < descriptions.nrow(); ++row) {
    if (spw(row) < 0 || static_cast<casacore::rownr_t>(spw(row)) >= freq.nrow() || polarization(row) < 0 ||
        static_cast<casacore::rownr_t>(polarization(row)) >= corr_type.nrow())
      throw DataError("{}: DATA_DESCRIPTION row {}: no spectral window {} or polarization {}", path, row,
                      spw(row), polarization(row));
    shapes.emplace_back(2, corr_type.shape(polarization(row)).product(), freq.shape(spw(row)).product());
  }
  return shapes;
}

/// Rows of each data description.
std::vector<std::uint64_t> rows_of(const casacore::Vector<casacore::Int>& description, std::size_t n,
                                   const std::string& path) {
  std::vector<std::uint64_t> rows(n, 0);
  for (std::size_t row = 0; row < description.size(); ++row) {
    if (description[row] < 0 || static_cast<std::size_t>(description[row]) >= n)
      throw DataError("{}: row {}: DATA_DESC_ID {}: the set has {}", path, row, description[row], n);
    ++rows[static_cast<std::size_t>(description[row])];
  }
  return rows;
}

casacore::Vector<casacore::Int> description_column(const casacore::Table& table) {
  return casacore::ScalarColumn<casacore::Int>(table, "DATA_DESC_ID").getColumn();
}

/// The contents of a table's folder, used to undo an addition for which the disk has no space.
class FolderState {
 public:
  explicit FolderState(const std::string& folder)
      : folder_(folder), description_(contents("table.dat")), info_(contents("table.info")) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
      names_.insert(entry.path().filename());
  }
  /// As long as the set has its old description, files of new columns belong to no column and can be removed.
  void restore() const {
    std::error_code ignored;
    if (contents("table.dat") == description_)
      for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
        const std::string name = entry.path().filename();
        if (!names_.contains(name) && name.starts_with("table.")) fs::remove(entry.path(), ignored);
      }
    if (contents("table.info") != info_) {
      const fs::path part = folder_ / "table.info_tmp";
      std::ofstream(part, std::ios::binary) << info_;
      fs::rename(part, folder_ / "table.info", ignored);
    }
  }

 private:
  std::string contents(const char* name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path folder_;
  std::set<std::string> names_;
  std::string description_, info_;
};

/// Tiles of half a mebibyte of T: all correlations, and few enough channels that parts of the band can be
/// written separately.
template <class T>
IPosition tile_of(const IPosition& cell, casacore::rownr_t n_rows) {
  const ssize_t n_chan = std::clamp<ssize_t>(cell[1], 1, 32), n_corr = std::max<ssize_t>(cell[0], 1);
  const ssize_t rows =
      std::clamp<ssize_t>((ssize_t{1} << 19) / (static_cast<ssize_t>(sizeof(T)) * n_corr * n_chan), 1,
                          std::max<ssize_t>(1, static_cast<ssize_t>(n_rows)));
  return IPosition(3, n_corr, n_chan, rows);
}

/// A column to be added, with the shape of its cells by data description.
struct NewColumn {
  std::string name, comment;
  std::vector<IPosition> shapes;
  casacore::Vector<casacore::Int> description;  ///< [row]
};

/// `finish` completes the description of the column.
template <class T, class Finish>
void add_zeros(casacore::Table& table, const NewColumn& wanted, Finish finish) {
  const std::string& name = wanted.name;
  std::set<std::pair<ssize_t, ssize_t>> distinct;
  for (casacore::Int id : wanted.description) {
    const IPosition& shape = wanted.shapes[static_cast<std::size_t>(id)];
    distinct.emplace(shape[0], shape[1]);
  }
  const std::string manager = "Tiled" + name;
  if (distinct.size() <= 1) {
    const IPosition cell = distinct.empty() ? IPosition(2, 1, 1)
                                            : IPosition(2, distinct.begin()->first, distinct.begin()->second);
    casacore::ColumnDesc column(
        casacore::ArrayColumnDesc<T>(name, wanted.comment, cell, casacore::ColumnDesc::FixedShape));
    finish(column);
    table.addColumn(column, AllocatedColumnStMan(manager, tile_of<T>(cell, table.nrow())));
    return;
  }
  IPosition largest(2, 1, 1);
  for (const auto& [n_corr, n_chan] : distinct) {
    largest[0] = std::max(largest[0], n_corr);
    largest[1] = std::max(largest[1], n_chan);
  }
  casacore::ColumnDesc several(casacore::ArrayColumnDesc<T>(name, wanted.comment, 2));
  finish(several);
  table.addColumn(several, casacore::TiledShapeStMan(manager, tile_of<T>(largest, table.nrow())));
  casacore::ArrayColumn<T> column(table, name);
  for (casacore::rownr_t row = 0; row < table.nrow(); ++row)
    column.setShape(row, wanted.shapes[static_cast<std::size_t>(wanted.description[row])]);
}

/// Calls add() and flushes the set to disk; if that fails, the set is unchanged.
template <class Add>
void add_or_restore(casacore::Table& table, const std::string& path, const std::string& name, double bytes,
                    Add add) {
  std::error_code error;
  const fs::space_info space = fs::space(path, error);
  if (!error && static_cast<double>(space.available) < bytes)
    throw FailureError("{}: a column {} needs {}, and the disk has {} left", path, name, format_bytes(bytes),
                       format_bytes(static_cast<double>(space.available)));
  const FolderState before(path);
  try {
    add();
    table.flush();
    sync_tree(path);
  } catch (const std::exception& failure) {
    before.restore();
    throw FailureError("{}: cannot add a column {}, which needs {}: {}", path, name, format_bytes(bytes),
                       reason_of(failure));
  }
}

/// Appends to the copy of a HISTORY table. False when it ends with the lines already, or is malformed.
bool append_unless_there(const PendingOutput& copy, const std::string& path,
                         const std::vector<std::string>& lines, double time_s) {
  casacore::MSHistory history;
  try {
    history = casacore::MSHistory(copy.part(), casacore::Table::Update);
  } catch (const std::exception& error) {
    std::string why = reason_of(error);
    for (std::size_t at; (at = why.find(copy.part())) != std::string::npos;)
      why.replace(at, copy.part().size(), path);
    log_warning("{}: {}: this run is not recorded there", path, why);
    return false;
  }
  const casacore::ScalarColumn<casacore::String> message(history, "MESSAGE");
  const casacore::rownr_t n = history.nrow();
  bool there = n >= lines.size();
  for (std::size_t i = 0; there && i < lines.size(); ++i)
    there = std::string(message(n - lines.size() + i)) == lines[i];
  if (there) return false;
  append_history(history, lines, time_s);
  history.flush();
  return true;
}

}  // namespace

void require_visibility_column(const casacore::Table& table, const std::string& path,
                               const std::string& name) {
  if (!table.tableDesc().isColumn(name)) {
    std::string others;
    for (const casacore::String& column : table.tableDesc().columnNames())
      if (table.tableDesc().columnDesc(column).trueDataType() == casacore::TpArrayComplex)
        others += " " + column;
    throw DataError("{}: no column {}: its data columns are:{}", path, name,
                    others.empty() ? " none" : others);
  }
  if (table.tableDesc().columnDesc(name).trueDataType() != casacore::TpArrayComplex)
    throw DataError("{}: column {} holds no visibilities", path, name);
}

void check_visibility_name(const casacore::Table& table, const std::string& path, const std::string& name) {
  using casacore::MS;
  if (name.empty() ||
      name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") !=
          std::string::npos)
    throw UsageError("column '{}': use letters, digits and _", name);
  const MS::PredefinedColumns standard = MS::columnType(name);
  const bool for_others = standard != MS::UNDEFINED_COLUMN && standard != MS::DATA &&
                          standard != MS::MODEL_DATA && standard != MS::CORRECTED_DATA;
  const bool of_others = table.tableDesc().isColumn(name) &&
                         table.tableDesc().columnDesc(name).trueDataType() != casacore::TpArrayComplex;
  if (for_others || of_others)
    throw UsageError(
        "{}: column {} is no place for visibilities: choose another name, for example MODEL_DATA", path,
        name);
}

std::uint64_t visibility_bytes(const casacore::Table& table, const std::string& path) {
  const std::vector<IPosition> shapes = cell_shapes(table, path);
  const std::vector<std::uint64_t> rows = rows_of(description_column(table), shapes.size(), path);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    bytes += rows[i] * static_cast<std::uint64_t>(shapes[i].product()) * sizeof(casacore::Complex);
  return bytes;
}

void copy_applied_beam(const casacore::TableRecord& from, casacore::TableRecord& to) {
  for (casacore::uInt i = 0; i < from.nfields(); ++i)
    if (from.name(i).starts_with("LOFAR_APPLIED_BEAM_"))
      to.mergeField(from, i, casacore::RecordInterface::OverwriteDuplicates);
}

void add_visibility_column(casacore::Table& table, const std::string& path, const std::string& name,
                           FluxUnit unit, const std::string& made_of) {
  const NewColumn wanted{name, "visibilities", cell_shapes(table, path), description_column(table)};
  add_or_restore(table, path, name, static_cast<double>(visibility_bytes(table, path)), [&] {
    add_zeros<casacore::Complex>(table, wanted, [&](casacore::ColumnDesc& column) {
      set_unit(column, unit);
      if (!made_of.empty())
        copy_applied_beam(casacore::TableColumn(table, made_of).keywordSet(), column.rwKeywordSet());
    });
  });
}

void add_real_column(casacore::Table& table, const std::string& path, const std::string& name,
                     const std::string& comment, const FillRealColumn& fill) {
  const NewColumn wanted{name, comment, cell_shapes(table, path), description_column(table)};
  add_or_restore(table, path, name, static_cast<double>(visibility_bytes(table, path) / 2), [&] {
    add_zeros<float>(table, wanted, [](casacore::ColumnDesc&) {});
    casacore::ArrayColumn<float> column(table, name);
    if (fill) fill(column);
  });
}

void define_cells(casacore::ArrayColumn<casacore::Complex>& column, const IPosition& cell,
                  const std::vector<std::int64_t>& rows) {
  if (column.columnDesc().isFixedShape()) return;
  for (std::int64_t row : rows)
    if (!column.isDefined(static_cast<casacore::rownr_t>(row)))
      column.put(static_cast<casacore::rownr_t>(row),
                 casacore::Array<casacore::Complex>(cell, casacore::Complex(0, 0)));
}

void add_history(const casacore::Table& table, const std::vector<std::string>& lines) {
  if (!table.keywordSet().isDefined("HISTORY") || lines.empty()) return;
  casacore::Vector<double> last_s(1, 0.0);
  if (table.nrow() > 0) last_s[0] = casacore::ScalarColumn<double>(table, "TIME")(table.nrow() - 1);
  if (table.nrow() > 0) MsTimeScale(table, "TIME", table.tableName()).to_utc(last_s);
  const std::string path = table.tableName() + "/HISTORY";
  if (!fs::is_directory(path)) {
    log_warning("{}: is not there: this run is not recorded in it", path);
    return;
  }
  PendingOutput pending = PendingOutput::in_place(path);
  pending.create_folder();
  fs::copy(path, pending.part(), fs::copy_options::recursive);
  if (append_unless_there(pending, path, lines, last_s[0])) pending.commit();
}

void look_at_history(const casacore::Table& table) {
  const std::string path = table.tableName() + "/HISTORY";
  if (!fs::is_directory(path)) return;
  const casacore::Table history(path);
  const casacore::ScalarColumn<casacore::String> message(history, "MESSAGE");
  for (casacore::rownr_t row = 0; row < history.nrow(); ++row) message(row);
}

void flush_column(casacore::Table& table, const std::string& column) {
  // Tiles alone: their header stays as it is, and Table::flush would rewrite it (see keep_open).
  if (storage_manager(table, column).starts_with("Tiled"))
    casacore::ROTiledStManAccessor(table, column, true).clearCaches();
  else
    table.flush();
}

void keep_open(const casacore::Table& table) {
  static auto* kept = new std::vector<casacore::Table>;  // never destroyed, and so never closed
  kept->push_back(table);
}

}  // namespace apsyn
