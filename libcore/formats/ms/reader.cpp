// SPDX-License-Identifier: GPL-3.0-or-later
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <deque>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "libcore/formats/ms/probe.h"
#include "libcore/formats/ms/rows.h"
#include "libcore/formats/ms/units.h"
#include "libcore/measures/casacore_log.h"
#include "libcore/system/block_pipeline.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

casacore::Table open_table(const std::string& path) {
  adopt_casacore_log();
  std::error_code error;
  if (!std::filesystem::is_directory(path, error))
    throw FailureError("{}: {}: give the folder of a Measurement Set", path,
                       std::filesystem::exists(path, error) ? "is no folder" : "does not exist");
  if (!std::filesystem::exists(path + "/table.dat", error))
    throw DataError("{}: holds no table.dat: not a complete Measurement Set version 2", path);
  casacore::Table table(path, casacore::TableLock(casacore::TableLock::AutoNoReadLocking));
  for (const char* name :
       {"TIME", "INTERVAL", "ANTENNA1", "ANTENNA2", "FIELD_ID", "DATA_DESC_ID", "FLAG_ROW"})
    if (!table.tableDesc().isColumn(name))
      throw DataError("{}: no column {}: not a complete Measurement Set version 2", path, name);
  if (table.keywordSet().isDefined("MS_VERSION")) {
    const float version = table.keywordSet().asFloat("MS_VERSION");
    if (version < 2.0f || version >= 3.0f)
      throw DataError("{}: MS_VERSION {}: only version 2 is supported", path, version);
  }
  return table;
}

/// The selection with field names replaced by numbers.
MsSelection with_field_numbers(MsSelection selection, const casacore::Table& ms, const std::string& path) {
  if (selection.field_names.empty()) return selection;
  const casacore::Table table = ms_subtable(ms, path, "FIELD");
  const casacore::Vector<casacore::String> names =
      casacore::ScalarColumn<casacore::String>(table, "NAME").getColumn();
  for (const std::string& wanted : selection.field_names) {
    bool found = false;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (static_cast<const std::string&>(names[i]) == wanted) {
        selection.fields.push_back(static_cast<int>(i));
        found = true;
      }
    if (found) continue;
    std::string known;
    constexpr std::size_t kMax = 8;
    for (std::size_t i = 0; i < std::min(names.size(), kMax); ++i) known += (i > 0 ? ", " : "") + names[i];
    throw UsageError("{}: no field is called '{}': give a number or one of {}{}", path, wanted, known,
                     names.size() > kMax ? " ..." : "");
  }
  selection.field_names.clear();
  return selection;
}

/// Collects the exception of the first item (in order) that fails, so that the error reported does not depend
/// on the number of threads.
class FirstFailure {
 public:
  explicit FirstFailure(std::size_t n_items) : item_(n_items) {}
  /// Skips items after one that has failed.
  template <class Work>
  void guard(std::size_t item, Work work) {
    if (item > item_) return;
    try {
      work();
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (item >= item_) return;
      item_ = item;
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::atomic<std::size_t> item_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

template <class T, std::size_t Rank>
View<T, Rank> rows_of(Buffer<T, Rank>& all, std::size_t first, std::size_t n) {
  auto shape = all.shape();
  const std::size_t row = shape[0] == 0 ? 0 : all.size() / shape[0];
  shape[0] = n;
  return {all.data() + first * row, shape};
}

}  // namespace

struct MeasurementSetReader::State {
  std::string path;
  casacore::Table table;
  MsSelection selection;  ///< fields by their numbers alone
  MsMetadata meta;
  MsRowSelection rows;
  MsCellReader cells;
  /// Consecutive rows, of which the wanted ones are sorted by data description.
  struct Block {
    MsScalars scalars;
    std::deque<std::vector<std::size_t>> batches;  ///< indices into the scalars, not yet given out
  };
  std::int64_t first_row, end_row;                           ///< of the part that is read
  std::int64_t next_row;                                     ///< behind all blocks
  std::unique_ptr<Block> block = std::make_unique<Block>();  ///< whose batches are given out
  std::unique_ptr<Block> ahead = std::make_unique<Block>();  ///< the one after it, once it has been read
  bool is_ahead = false;
  std::exception_ptr ahead_error;  ///< where reading it failed
  /// Rows of one data description.
  struct Batch {
    const Block* block = nullptr;
    std::vector<std::size_t> rows;  ///< indices into the block's scalars
  };
  Batch batch;                ///< whose scalars were given out, and whose cells may follow
  std::size_t max_batch = 0;  ///< as the caller wants it

  /// Cells, and what becomes of them.
  struct Piece {
    MsCells cells;
    std::vector<std::size_t> rows;    ///< in the batch
    std::vector<std::size_t> wanted;  ///< the same in the block
    Buffer<double, 2> uvw_m;
    Buffer<std::complex<float>, 3> data;
    Buffer<float, 3> weight;
  };
  std::vector<Piece> pieces;  ///< reused

  State(const std::string& name, const MsSelection& wanted)
      : path(name),
        table(open_table(name)),
        selection(with_field_numbers(wanted, table, name)),
        meta(read_ms_metadata(table, name, selection)),
        rows(table, meta, selection, name),
        cells(table, meta, selection, name),
        first_row(rows.begin_row()),
        end_row(rows.end_row()),
        next_row(first_row) {}

  /// Reads the scalars of the next rows and sorts the wanted ones by data description.
  void scan(std::size_t n_rows, Block& into) {
    MsScalars& scalars = into.scalars;
    n_rows = std::min(n_rows, static_cast<std::size_t>(end_row - next_row));
    read_scalars(scalars, table, next_row, n_rows, selection.row_details);
    next_row += static_cast<std::int64_t>(n_rows);
    std::map<int, std::vector<std::size_t>> by_description;
    const int n_ant = static_cast<int>(meta.layout.antennas.size());
    for (std::size_t i = 0; i < n_rows; ++i) {
      if (!rows.wants(scalars.time_s[i], scalars.field[i], scalars.data_description[i])) continue;
      const int ant1 = scalars.ant1[i], ant2 = scalars.ant2[i];
      if (ant1 < 0 || ant1 >= n_ant || ant2 < 0 || ant2 >= n_ant)
        throw DataError("{}: row {}: antennas {} and {}: the set has {}", path,
                        scalars.first_row + static_cast<std::int64_t>(i), ant1, ant2, n_ant);
      if (ant1 == ant2 && !selection.autos) continue;
      if (selection.wants_baseline && !selection.wants_baseline(ant1, ant2)) continue;
      by_description[scalars.data_description[i]].push_back(i);
    }
    for (auto& [description, wanted] : by_description) into.batches.push_back(std::move(wanted));
  }

  /// The first or the last wanted row in a range.
  std::optional<std::int64_t> wanted_row(std::int64_t first_row, std::int64_t end_row, bool last) {
    std::optional<std::int64_t> found;
    next_row = first_row;
    scan(static_cast<std::size_t>(end_row - first_row), *block);
    for (const std::vector<std::size_t>& wanted : block->batches) {
      const std::int64_t row =
          block->scalars.first_row + static_cast<std::int64_t>(last ? wanted.back() : wanted.front());
      found = !found ? row : last ? std::max(*found, row) : std::min(*found, row);
    }
    block->batches.clear();
    return found;
  }

  /// Reads everything that later reading will trust: the tables, the scalars of all rows (most of which the
  /// selection has read already), and the cells of the first and the last wanted row.
  void look() {
    std::optional<std::int64_t> first, last;
    const std::int64_t begin = rows.begin_row(), end = rows.end_row();
    constexpr auto at_once = static_cast<std::int64_t>(kScanRows);
    for (std::int64_t row = begin; row < end; row += at_once)
      read_antennas(block->scalars, table, row, static_cast<std::size_t>(std::min(at_once, end - row)));
    for (std::int64_t row = begin; row < end && !first; row += at_once)
      first = wanted_row(row, std::min(end, row + at_once), false);
    for (std::int64_t row = end; row > begin && first && !last; row -= at_once)
      last = wanted_row(std::max(begin, row - at_once), row, true);
    MsCells unused;
    constexpr std::size_t only = 0;
    for (const auto& row : {first, last}) {
      if (!row) continue;
      read_scalars(block->scalars, table, *row, 1);
      cells.load(unused, block->scalars, {&only, 1});
    }
  }

  /// Starts reading the next block while cells of this one are read, once all rows of this one have been
  /// handed out.
  void look_ahead(std::size_t n_rows) {
    if (!block->batches.empty() || is_ahead || ahead_error || next_row >= end_row) return;
    try {
      ahead->batches.clear();
      scan(n_rows, *ahead);
      is_ahead = true;
    } catch (...) {
      ahead_error = std::current_exception();
    }
  }

  /// Implements MeasurementSetReader::integrations().
  std::vector<MsIntegration> find_integrations() const {
    std::map<double, MsIntegration> by_time;
    MsIntegration* last = nullptr;  // neighbouring rows are mostly of one time
    MsScalars scalars;
    casacore::Vector<casacore::Int> scan;
    constexpr auto at_once = static_cast<std::int64_t>(kScanRows);
    for (std::int64_t first = rows.begin_row(); first < rows.end_row(); first += at_once) {
      const auto n = static_cast<std::size_t>(std::min(at_once, rows.end_row() - first));
      read_scalars(scalars, table, first, n);
      read_scans(scan, table, first, n);
      for (std::size_t i = 0; i < n; ++i) {
        const double time_s = scalars.time_s[i];
        if (!rows.wants(time_s, scalars.field[i], scalars.data_description[i])) continue;
        if (scalars.ant1[i] == scalars.ant2[i] && !selection.autos) continue;
        const std::int64_t row = first + static_cast<std::int64_t>(i);
        if (last == nullptr || last->time_mjd_s != time_s) {
          const auto [at, added] = by_time.try_emplace(time_s);
          last = &at->second;
          if (added) *last = {time_s, 0, scan[i], 0, row, row};
        }
        ++last->n_rows;
        last->last_row = row;
        if (std::isfinite(scalars.interval_s[i]))
          last->interval_s = std::max(last->interval_s, scalars.interval_s[i]);
      }
    }
    std::vector<MsIntegration> all;
    for (const auto& [time_s, integration] : by_time) all.push_back(integration);
    return all;
  }

  /// Goes back to the first row.
  void begin() {
    next_row = first_row;
    block->batches.clear();
    batch.rows.clear();
    is_ahead = false;
    ahead_error = nullptr;
  }

  /// Frees the memory used for reading: of many sets that stay open, only one is read at a time.
  void give_back() {
    std::vector<Piece>().swap(pieces);
    *block = Block();
    *ahead = Block();
    cells.close();
  }

  /// The next rows; false at the end.
  bool take_batch(std::size_t max_rows) {
    batch.rows.clear();
    max_batch = max_rows;
    while (block->batches.empty()) {
      if (ahead_error) std::rethrow_exception(std::exchange(ahead_error, nullptr));
      if (is_ahead) {
        std::swap(block, ahead);
        is_ahead = false;
      } else if (next_row >= end_row) {
        give_back();
        return false;
      } else {
        scan(max_rows, *block);
      }
    }
    batch = next_batch(*block, max_rows);
    return true;
  }
  /// Of a block that has batches.
  static Batch next_batch(Block& from, std::size_t max_rows) {
    Batch taken{&from, std::move(from.batches.front())};
    from.batches.pop_front();
    if (taken.rows.size() > max_rows) {
      from.batches.emplace_front(taken.rows.begin() + static_cast<std::ptrdiff_t>(max_rows),
                                 taken.rows.end());
      taken.rows.resize(max_rows);
    }
    return taken;
  }

  /// How many rows of the batch a piece has.
  std::size_t piece_rows(const Batch& of) const {
    return cells.rows_at_once(description(of).n_corr, n_channels(of));
  }
  /// Loads the cells of piece.rows.
  void load(const Batch& of, Piece& piece) {
    piece.wanted.clear();
    for (const std::size_t row : piece.rows) piece.wanted.push_back(of.rows[row]);
    cells.load(piece.cells, of.block->scalars, piece.wanted);
  }

  /// Calls use(group, piece), with its cells loaded, for all pieces of all groups.
  template <class Use>
  void for_pieces(unsigned n_threads, std::size_t n_groups, const ListMsRows& list, Use use) {
    if (batch.rows.empty()) return;
    const std::size_t n_at_once = piece_rows(batch);
    n_threads = static_cast<unsigned>(std::clamp<std::size_t>(n_groups, 1, std::max(1u, n_threads)));
    pieces.resize(std::max<std::size_t>(pieces.size(), n_threads));
    FirstFailure failure(n_groups);
    parallel_for(n_threads, n_groups + 1, [&](std::size_t number, unsigned thread) {
      if (number == 0) return cells.alone([&] { look_ahead(max_batch); });
      const std::size_t group = number - 1;
      failure.guard(group, [&] {
        Piece& piece = pieces[thread];
        std::vector<std::size_t> all;
        list(group, all);
        for (std::size_t first = 0; first < all.size(); first += n_at_once) {
          const auto rows = std::span(all).subspan(first, std::min(n_at_once, all.size() - first));
          piece.rows.assign(rows.begin(), rows.end());
          load(batch, piece);
          use(group, piece);
        }
      });
    });
    failure.rethrow();
  }
  /// Of consecutive rows, all of the batch.
  template <class Use>
  void for_pieces(unsigned n_threads, Use use) {
    if (batch.rows.empty()) return;
    const std::size_t n_at_once = piece_rows(batch);
    const auto list = [&](std::size_t item, std::vector<std::size_t>& rows) {
      list_piece(batch, n_at_once, item, rows);
    };
    for_pieces(n_threads, (batch.rows.size() + n_at_once - 1) / n_at_once, list,
               [&](std::size_t, Piece& piece) { use(piece); });
  }

  /// Consecutive rows.
  static void list_piece(const Batch& of, std::size_t n_at_once, std::size_t item,
                         std::vector<std::size_t>& rows) {
    rows.resize(std::min(n_at_once, of.rows.size() - item * n_at_once));
    std::iota(rows.begin(), rows.end(), item * n_at_once);
  }

  /// Calls use(data, weight) for a piece that is folded.
  template <class Use>
  void fold(const Batch& of, MsRows& rows, Piece& piece, Use use) {
    const std::size_t n = piece.rows.size(), n_chan = n_channels(of),
                      n_product = selection.column.empty() ? 0 : meta.products.size();
    const std::array<std::size_t, 3> shape{n, n_chan, n_product};
    piece.uvw_m.resize_for_overwrite({n, 3});
    const auto place = [&] {
      for (std::size_t i = 0; i < n; ++i) std::copy_n(&piece.uvw_m(i, 0), 3, &rows.uvw_m(piece.rows[i], 0));
    };
    if (cells.folds_in_place(piece.cells)) {
      cells.fold_in_place(piece.cells, of.block->scalars, piece.uvw_m);
      place();
      return use({piece.cells.data.data(), shape}, {piece.cells.weight.data(), shape});
    }
    piece.data.resize_for_overwrite(shape);
    piece.weight.resize_for_overwrite(shape);
    cells.fold(piece.cells, of.block->scalars, piece.uvw_m, piece.data, piece.weight);
    place();
    use(std::as_const(piece.data), std::as_const(piece.weight));
  }

  /// Data description of a batch.
  const MsDataDescription& description(const Batch& of) const {
    return meta.description(of.block->scalars.data_description[of.rows.front()]);
  }
  /// Number of wanted channels of a batch.
  std::size_t n_channels(const Batch& of) const {
    return meta.spws[static_cast<std::size_t>(description(of).spw)].channel_hz.size();
  }

  void copy_scalars(const Batch& of, MsRows& out) const {
    const MsScalars& scalars = of.block->scalars;
    const std::size_t n = of.rows.size();
    out.data_description = scalars.data_description[of.rows.front()];
    out.spw = description(of).spw;
    out.uvw_m.resize_for_overwrite({n, 3});
    out.data.resize({n, n_channels(of), 0});
    out.weight.resize({n, n_channels(of), 0});
    out.time_mjd_s.resize(n);
    out.interval_s.resize(n);
    out.ant1.resize(n);
    out.ant2.resize(n);
    out.field.resize(n);
    out.row_number.resize(n);
    out.exposure_s.resize(selection.row_details ? n : 0);
    out.scan.resize(selection.row_details ? n : 0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = of.rows[i];
      out.time_mjd_s[i] = scalars.time_s[at];
      out.interval_s[i] = scalars.interval_s[at];
      out.ant1[i] = scalars.ant1[at];
      out.ant2[i] = scalars.ant2[at];
      out.field[i] = scalars.field[at];
      out.row_number[i] = scalars.first_row + static_cast<std::int64_t>(at);
      if (!selection.row_details) continue;
      out.exposure_s[i] = scalars.exposure_s[at];
      out.scan[i] = scalars.scan[at];
    }
  }
};

MeasurementSetReader::MeasurementSetReader(const std::string& path, const MsSelection& selection)
    : state_(with_measurement_set(path, [&] {
        probe_in_subprocess(path, [&] { State(path, selection).look(); });
        return std::make_unique<State>(path, selection);
      })) {}
MeasurementSetReader::~MeasurementSetReader() = default;

const std::vector<MsSpectralWindow>& MeasurementSetReader::spectral_windows() const {
  return state_->meta.spws;
}
const std::vector<MsField>& MeasurementSetReader::fields() const {
  return state_->meta.fields;
}
const std::vector<int>& MeasurementSetReader::fields_with_rows() const {
  return state_->rows.span().fields;
}
const ArrayLayout& MeasurementSetReader::layout() const {
  return state_->meta.layout;
}
const std::vector<Product>& MeasurementSetReader::products() const {
  return state_->meta.products;
}
std::int64_t MeasurementSetReader::n_rows() const {
  return state_->rows.span().n_rows;
}
double MeasurementSetReader::first_time_mjd_s() const {
  return state_->rows.span().first_time_s;
}
double MeasurementSetReader::last_time_mjd_s() const {
  return state_->rows.span().last_time_s;
}
double MeasurementSetReader::begin_mjd_s() const {
  return state_->rows.span().begin_s;
}
double MeasurementSetReader::end_mjd_s() const {
  return state_->rows.span().end_s;
}
const Exposures& MeasurementSetReader::exposures() const {
  return state_->rows.span().exposures;
}
std::vector<MsIntegration> MeasurementSetReader::integrations() const {
  return with_measurement_set(state_->path, [&] { return state_->find_integrations(); });
}
const std::string& MeasurementSetReader::observer() const {
  return state_->meta.observer;
}
const std::string& MeasurementSetReader::telescope() const {
  return state_->meta.telescope;
}

FluxUnit MeasurementSetReader::flux_unit() const {
  return with_measurement_set(
      state_->path, [&] { return unit_of_column(state_->table, state_->path, state_->selection.column); });
}
std::vector<std::string> MeasurementSetReader::history() const {
  const casacore::TableRecord& keywords = state_->table.keywordSet();
  if (!keywords.isDefined("HISTORY")) return {};
  return with_measurement_set(state_->path, [&] {
    const casacore::Table table = ms_subtable(state_->table, state_->path, "HISTORY");
    std::vector<std::string> lines;
    if (!table.tableDesc().isColumn("MESSAGE")) return lines;
    const casacore::ScalarColumn<casacore::String> message(table, "MESSAGE");
    for (casacore::rownr_t row = 0; row < table.nrow(); ++row) lines.push_back(message(row));
    return lines;
  });
}
bool MeasurementSetReader::has_column(const std::string& name) const {
  return state_->table.tableDesc().isColumn(name);
}

bool MeasurementSetReader::next(MsRows& rows, std::size_t max_rows) {
  if (max_rows == 0) throw UsageError("{}: blocks of no rows", state_->path);
  return with_measurement_set(state_->path, [&] {
    if (!state_->take_batch(max_rows)) return false;
    state_->copy_scalars(state_->batch, rows);
    return true;
  });
}

void MeasurementSetReader::read_cells(MsRows& rows, unsigned n_threads, const UseMsCells& use) {
  State& state = *state_;
  with_measurement_set(state.path, [&] {
    state.for_pieces(n_threads, [&](State::Piece& piece) {
      state.fold(state.batch, rows, piece,
                 [&](View<const std::complex<float>, 3> data, View<const float, 3> weight) {
                   use(piece.rows.front(), data, weight);
                 });
    });
  });
  state.batch.rows.clear();
}

void MeasurementSetReader::read_groups(MsRows& rows, unsigned n_threads, std::size_t n_groups,
                                       const ListMsRows& list, const UseMsGroup& use) {
  State& state = *state_;
  with_measurement_set(state.path, [&] {
    state.for_pieces(n_threads, n_groups, list, [&](std::size_t group, State::Piece& piece) {
      state.fold(state.batch, rows, piece,
                 [&](View<const std::complex<float>, 3> data, View<const float, 3> weight) {
                   use(group, piece.rows, data, weight);
                 });
    });
  });
  state.batch.rows.clear();
}

void MeasurementSetReader::read_cells(MsRows& rows, unsigned n_threads) {
  State& state = *state_;
  if (!state.selection.column.empty()) {
    const Buffer<std::complex<float>, 3>::Shape shape{rows.ant1.size(), rows.data.extent(1),
                                                      state.meta.products.size()};
    resize_for_threads(n_threads, shape, rows.data);
    resize_for_threads(n_threads, shape, rows.weight);
  }
  with_measurement_set(state.path, [&] {
    state.for_pieces(n_threads, [&](State::Piece& piece) {
      const std::size_t first = piece.rows.front(), n = piece.rows.size();
      state.cells.fold(piece.cells, state.block->scalars, rows_of(rows.uvw_m, first, n),
                       rows_of(rows.data, first, n), rows_of(rows.weight, first, n));
    });
  });
  state.batch.rows.clear();
}

void MeasurementSetReader::read_blocks(std::size_t max_rows, unsigned n_threads, const MsBlockUse& use) {
  if (max_rows == 0) throw UsageError("{}: blocks of no rows", state_->path);
  State& state = *state_;
  struct Open {
    State::Batch batch;
    MsRows rows;
    std::size_t piece_rows = 0;
  };
  std::vector<Open> open(kOpenBlocks);
  const auto at = [&](std::size_t block) -> Open& { return open[block % kOpenBlocks]; };
  // Every scan but the last has given a batch to at least one block, so that all blocks of the one whose
  // place the next one takes have ended.
  std::vector<State::Block> scans(kOpenBlocks);
  std::size_t n_scans = 0;
  bool is_used = false;  // the last one
  const auto take_batch = [&] {
    while (scans[n_scans % kOpenBlocks].batches.empty()) {
      if (state.next_row >= state.end_row) return State::Batch();
      if (std::exchange(is_used, false)) ++n_scans;
      state.scan(max_rows, scans[n_scans % kOpenBlocks]);
    }
    return State::next_batch(scans[n_scans % kOpenBlocks], max_rows);
  };
  BlockSteps steps;
  steps.prepare = [&](std::size_t block) -> std::optional<std::size_t> {
    Open& own = at(block);
    MsWanted wanted = MsWanted::no;
    while (wanted == MsWanted::no) {
      state.cells.alone([&] { own.batch = take_batch(); });
      if (own.batch.rows.empty()) return std::nullopt;
      state.copy_scalars(own.batch, own.rows);
      wanted = use.begin(block, own.rows);
    }
    if (wanted == MsWanted::no_more) return std::nullopt;
    is_used = true;
    own.piece_rows = state.piece_rows(own.batch);
    return (own.batch.rows.size() + own.piece_rows - 1) / own.piece_rows;
  };
  steps.work = [&](std::size_t block, std::size_t item, unsigned thread) {
    Open& own = at(block);
    State::Piece& piece = state.pieces[thread];
    State::list_piece(own.batch, own.piece_rows, item, piece.rows);
    state.load(own.batch, piece);
    state.fold(own.batch, own.rows, piece,
               [&](View<const std::complex<float>, 3> data, View<const float, 3> weight) {
                 use.cells(block, piece.rows.front(), data, weight);
               });
  };
  for (const MsBlockUse::Step& step : use.then)
    steps.then.push_back(
        {step.in_order, [&at, run = step.run](std::size_t block) { run(block, at(block).rows); }});
  state.pieces.resize(std::max<std::size_t>(state.pieces.size(), std::max(1u, n_threads)));
  with_measurement_set(state.path, [&] {
    run_blocks(n_threads, kOpenBlocks, steps);
    state.give_back();
  });
}

bool MeasurementSetReader::read(MsRows& rows, std::size_t max_rows) {
  if (!next(rows, max_rows)) return false;
  read_cells(rows, 1);
  return true;
}

void MeasurementSetReader::take_part(std::size_t part, std::size_t n_parts) {
  const std::int64_t begin = state_->rows.begin_row(), n_rows = state_->rows.end_row() - begin;
  const auto row = [&](std::size_t i) {
    return begin + n_rows * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(n_parts);
  };
  state_->first_row = row(part);
  state_->end_row = row(part + 1);
}

void MeasurementSetReader::rewind() {
  state_->begin();
}

}  // namespace apsyn
