// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/corrections.h"

#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Vector.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "libcore/files/output.h"
#include "libcore/formats/ms/addresses.h"
#include "libcore/formats/ms/cell_column.h"
#include "libcore/formats/ms/lock.h"
#include "libcore/formats/ms/probe.h"
#include "libcore/formats/ms/units.h"
#include "libcore/formats/ms/update.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr char kSigma[] = "SIGMA_SPECTRUM", kWeight[] = "WEIGHT_SPECTRUM";

bool has_column(const casacore::Table& table, const char* name) {
  return table.tableDesc().isColumn(name);
}

/// WEIGHT of each correlation for all channels, where a set has no weights of channels.
void fill_with_weight(const casacore::Table& table, casacore::ArrayColumn<float>& column) {
  const casacore::ArrayColumn<float> weight(table, "WEIGHT");
  for (casacore::rownr_t row = 0; row < table.nrow(); ++row) {
    casacore::Matrix<float> cell(column.shape(row));
    const casacore::Vector<float> of_row = weight(row);
    for (std::size_t chan = 0; chan < cell.ncolumn(); ++chan)
      for (std::size_t corr = 0; corr < cell.nrow(); ++corr)
        cell(corr, chan) = corr < of_row.size() ? of_row[corr] : 0.0f;
    column.put(row, cell);
  }
}

void check_columns(const casacore::Table& table, const std::string& path, const CorrectionColumns& columns) {
  require_visibility_column(table, path, columns.input);
  if (columns.input == columns.output)
    throw UsageError("column {}: is both read and written: a run that is cut short could not be repeated",
                     columns.output);
  for (const char* name : {"FLAG", "WEIGHT"})
    if (!has_column(table, name))
      throw DataError("{}: no column {}: not a complete Measurement Set", path, name);
  check_visibility_name(table, path, columns.output);
  for (const std::string& name :
       {columns.output, std::string("FLAG"), std::string(kWeight), std::string(kSigma)})
    check_home(table, path, name);
}

}  // namespace

CorrectionState inspect_corrections(const std::string& path, const CorrectionColumns& columns) {
  return with_measurement_set(path, [&] {
    probe_in_subprocess(path, [&] {
      const casacore::Table table = open_to_read(path);
      visibility_bytes(table, path);
      look_at_history(table);
    });
    const casacore::Table table = open_to_read(path);
    if (!casacore::Table::isWritable(path))
      throw FailureError("{}: is not writable: change its permissions, or work on a copy", path);
    check_columns(table, path, columns);
    CorrectionState state;
    state.input_unit = unit_of_column(table, path, columns.input);
    state.output_exists = has_column(table, columns.output.c_str());
    state.output_unit = state.output_exists ? unit_of_column(table, path, columns.output) : state.input_unit;
    state.has_sigma_spectrum = has_column(table, kSigma);
    state.has_weight_spectrum = has_column(table, kWeight);
    const std::uint64_t bytes = visibility_bytes(table, path);
    if (!state.output_exists) state.bytes_to_add += bytes;
    if (columns.weights && !state.has_sigma_spectrum) state.bytes_to_add += bytes / 2;
    if (columns.weights && !state.has_weight_spectrum) state.bytes_to_add += bytes / 2;
    return state;
  });
}

struct CorrectionWriter::State {
  std::string path;
  MsSelection selection;
  CorrectionColumns columns;
  casacore::Table table;
  MsMetadata meta;
  std::shared_ptr<const MeasurementSetLock> lock;
  std::optional<CellColumn<casacore::Complex>> input, output;
  std::optional<CellColumn<casacore::Bool>> flag;
  std::optional<CellColumn<float>> sigma, weight;
  std::mutex casacore_mutex;  ///< takes one thread at a time
  std::atomic<std::uint64_t> n_flagged{0};
  std::atomic<bool> flags_written{false};

  State(const std::string& name, const MsSelection& wanted, const CorrectionColumns& of,
        const CorrectionState& inspected)
      : path(name),
        selection(wanted),
        columns(of),
        table(open_to_write(name)),
        meta(with_measurement_set(name, [&] { return read_ms_metadata(table, name, wanted); })),
        lock(lock_measurement_set(name)) {
    lock->check_description();
    keep_open(table);
    check_columns(table, path, columns);
    add_columns(inspected);
    for (const std::string& column : written())
      if (!table.isColumnWritable(column))
        throw FailureError("{}: column {} cannot be written: its storage manager only reads", path, column);
    const bool by_files = !selection.by_casacore_alone;
    using Access = TileFiles::Access;
    input.emplace(table, columns.input, path, by_files, Access::read);
    output.emplace(table, columns.output, path, by_files, Access::write);
    flag.emplace(table, "FLAG", path, by_files, Access::write);
    if (!columns.weights) return;
    sigma.emplace(table, kSigma, path, by_files, Access::write);
    weight.emplace(table, kWeight, path, by_files, Access::write);
  }

  std::vector<std::string> written() const {
    std::vector<std::string> names{columns.output, "FLAG"};
    if (columns.weights) names.insert(names.end(), {kSigma, kWeight});
    return names;
  }

  void add_columns(const CorrectionState& inspected) {
    const bool adds_weights = columns.weights && !has_column(table, kWeight);
    if (!has_column(table, columns.output.c_str()))
      add_visibility_column(table, path, columns.output, inspected.input_unit, columns.input);
    if (columns.weights && !has_column(table, kSigma))
      add_real_column(table, path, kSigma, "noise of DATA", {});
    if (adds_weights)
      add_real_column(table, path, kWeight, "weights of CORRECTED_DATA",
                      [&](casacore::ArrayColumn<float>& column) { fill_with_weight(table, column); });
    lock->accept_description();
  }

  /// Does all look-ups that need casacore before threads begin.
  void prepare(const Addresses& at, const MsRows& rows) {
    with_measurement_set(path, [&] {
      output->define(at, rows);
      if (sigma) sigma->define(at, rows);
      input->check(at, rows);
      output->check(at, rows);
      flag->check(at, rows);
      if (sigma) sigma->check(at, rows);
      if (weight && !weight->holds(at, rows))
        throw DataError("{}: row {}: {} holds nothing: leave the weights with --no-weights", path,
                        rows.row_number.front(), kWeight);
    });
  }

  /// What one thread works on, [row][chan][product].
  struct Piece {
    Buffer<std::complex<float>, 3> data;
    Buffer<std::uint8_t, 3> flag;
    Buffer<float, 3> sigma, weight;
  };

  /// Sets `piece.weight` to the weights of the input and `piece.sigma` to the values that have to be written;
  /// false if none have to be.
  static bool find_weights(Piece& piece) {
    bool changed = false;
    float* sigma = piece.sigma.data();
    float* weight = piece.weight.data();
    for (std::size_t i = 0; i < piece.sigma.size(); ++i) {
      // Computed from the rounded sigma, so that the next run finds the same weight.
      if (sigma[i] == 0 && weight[i] > 0 && std::isfinite(weight[i])) {
        sigma[i] = 1 / std::sqrt(weight[i]);
        changed = true;
      }
      const float found = 1 / (sigma[i] * sigma[i]);
      weight[i] = sigma[i] > 0 && std::isfinite(found) ? found : 0.0f;
    }
    return changed;
  }

  void correct(const Addresses& at, const MsRows& rows, const RowSpan& span, const CorrectCells& use,
               Piece& piece) {
    const std::array<std::size_t, 3> shape{
        span.n, meta.spws[static_cast<std::size_t>(rows.spw)].channel_hz.size(), meta.products.size()};
    const auto resize = [&](auto& buffer) {  // products that the rows lack are 0
      at.lacks_products() ? buffer.resize(shape) : buffer.resize_for_overwrite(shape);
    };
    resize(piece.data);
    resize(piece.flag);
    input->read(at, rows, span, piece.data, casacore_mutex);
    const View<casacore::Bool, 3> flags(reinterpret_cast<casacore::Bool*>(piece.flag.data()), shape);
    flag->read(at, rows, span, flags, casacore_mutex);
    bool sigma_changed = false;
    if (sigma) {
      resize(piece.sigma);
      resize(piece.weight);
      sigma->read(at, rows, span, piece.sigma, casacore_mutex);
      weight->read(at, rows, span, piece.weight, casacore_mutex);
      sigma_changed = find_weights(piece);
    }
    const auto n_before = std::accumulate(piece.flag.begin(), piece.flag.end(), std::uint64_t{0});
    use({span.first, piece.data, piece.weight, piece.flag});
    const auto n_after = std::accumulate(piece.flag.begin(), piece.flag.end(), std::uint64_t{0});
    output->write(at, span, piece.data.view(), casacore_mutex);
    if (sigma_changed) sigma->write(at, span, piece.sigma.view(), casacore_mutex);
    if (weight) weight->write(at, span, piece.weight.view(), casacore_mutex);
    if (n_after == n_before) return;
    n_flagged += n_after - n_before;
    flags_written = true;
    flag->write(at, span, View<const casacore::Bool, 3>(flags), casacore_mutex);
  }
};

CorrectionWriter::CorrectionWriter(const std::string& path, const MsSelection& selection,
                                   const CorrectionColumns& columns, const CorrectionState& inspected)
    : state_(std::make_unique<State>(path, selection, columns, inspected)) {}
CorrectionWriter::~CorrectionWriter() = default;

void CorrectionWriter::correct(const MsRows& rows, unsigned n_threads, const CorrectCells& use) {
  if (rows.row_number.empty()) return;
  State& state = *state_;
  std::vector<std::size_t> channels(state.meta.spws[static_cast<std::size_t>(rows.spw)].channel_hz.size());
  std::iota(channels.begin(), channels.end(), std::size_t{0});
  const Addresses addresses(state.meta, state.selection, rows, channels);
  state.prepare(addresses, rows);
  const std::vector<RowSpan> spans = consecutive_rows(rows, channels.size(), state.meta.products.size());
  std::vector<State::Piece> pieces(std::max(1u, n_threads));
  with_writing_set(state.path, [&] {
    parallel_for(n_threads, spans.size(), [&](std::size_t item, unsigned thread) {
      state.correct(addresses, rows, spans[item], use, pieces[thread]);
    });
  });
}

std::uint64_t CorrectionWriter::n_flagged() const {
  return state_->n_flagged;
}

void CorrectionWriter::commit(const std::vector<std::string>& history) {
  State& state = *state_;
  with_writing_set(state.path, [&] {
    for (const std::string& column : state.written())
      if (column != "FLAG" || state.flags_written) flush_column(state.table, column);
    add_history(state.table, history);
  });
  sync_tree(state.path);
}

}  // namespace apsyn
