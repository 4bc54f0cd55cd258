// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/flags.h"

#include <mutex>
#include <numeric>
#include <optional>

#include "libcore/base/error.h"
#include "libcore/files/output.h"
#include "libcore/formats/ms/addresses.h"
#include "libcore/formats/ms/cell_column.h"
#include "libcore/formats/ms/lock.h"
#include "libcore/formats/ms/metadata.h"
#include "libcore/formats/ms/update.h"
#include "libcore/system/parallel.h"

namespace apsyn {

struct FlagColumn::State {
  std::string path;
  MsSelection selection;
  casacore::Table table;
  MsMetadata meta;
  std::shared_ptr<const MeasurementSetLock> lock;
  std::optional<CellColumn<casacore::Bool>> flags;
  std::mutex casacore_mutex;  ///< takes one thread at a time

  State(const std::string& name, const MsSelection& wanted, Access access)
      : path(name),
        selection(wanted),
        table(access == Access::write ? open_to_write(name) : open_to_read(name)),
        meta(with_measurement_set(name, [&] { return read_ms_metadata(table, name, wanted); })) {
    if (!table.tableDesc().isColumn("FLAG"))
      throw DataError("{}: no column FLAG: not a complete Measurement Set", path);
    const bool by_files = !selection.by_casacore_alone;
    if (access == Access::write) {
      lock = lock_measurement_set(name);
      lock->check_description();
      keep_open(table);
      check_home(table, path, "FLAG");
      if (!table.isColumnWritable("FLAG"))
        throw FailureError("{}: column FLAG cannot be written: its storage manager only reads", path);
    }
    flags.emplace(table, "FLAG", path, by_files,
                  access == Access::write ? TileFiles::Access::write : TileFiles::Access::read);
  }

  std::vector<std::size_t> channels(const MsRows& rows) const {
    std::vector<std::size_t> all(meta.spws[static_cast<std::size_t>(rows.spw)].channel_hz.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
};

FlagColumn::FlagColumn(const std::string& path, const MsSelection& selection, Access access)
    : state_(std::make_unique<State>(path, selection, access)) {}
FlagColumn::~FlagColumn() = default;

void FlagColumn::read(const MsRows& rows, View<std::uint8_t, 3> flags, unsigned n_threads) {
  if (rows.row_number.empty()) return;
  State& state = *state_;
  const std::vector<std::size_t> channels = state.channels(rows);
  const Addresses at(state.meta, state.selection, rows, channels);
  with_measurement_set(state.path, [&] {
    state.flags->check(at, rows);
    if (at.lacks_products()) std::fill(flags.begin(), flags.end(), std::uint8_t{0});
    const std::vector<RowSpan> spans = consecutive_rows(rows, channels.size(), state.meta.products.size());
    const std::size_t row_size = channels.size() * state.meta.products.size();
    parallel_for(n_threads, spans.size(), [&](std::size_t item, unsigned) {
      const RowSpan& span = spans[item];
      const View<casacore::Bool, 3> to(
          reinterpret_cast<casacore::Bool*>(flags.data() + span.first * row_size),
          {span.n, channels.size(), state.meta.products.size()});
      state.flags->read(at, rows, span, to, state.casacore_mutex);
    });
  });
}

void FlagColumn::write(const MsRows& rows, View<const std::uint8_t, 3> flags, unsigned n_threads) {
  if (rows.row_number.empty()) return;
  State& state = *state_;
  const std::vector<std::size_t> channels = state.channels(rows);
  const Addresses at(state.meta, state.selection, rows, channels);
  with_writing_set(state.path, [&] {
    const std::vector<RowSpan> spans = consecutive_rows(rows, channels.size(), state.meta.products.size());
    const std::size_t row_size = channels.size() * state.meta.products.size();
    parallel_for(n_threads, spans.size(), [&](std::size_t item, unsigned) {
      const RowSpan& span = spans[item];
      const View<const casacore::Bool, 3> from(
          reinterpret_cast<const casacore::Bool*>(flags.data() + span.first * row_size),
          {span.n, channels.size(), state.meta.products.size()});
      state.flags->write(at, span, from, state.casacore_mutex);
    });
  });
}

void FlagColumn::commit(const std::vector<std::string>& history) {
  State& state = *state_;
  with_writing_set(state.path, [&] {
    flush_column(state.table, "FLAG");
    add_history(state.table, history);
  });
  sync_tree(state.path);
}

}  // namespace apsyn
