// SPDX-License-Identifier: GPL-3.0-or-later
// Where the cells of an existing set lie in its columns, for classes that read and write them as stored. For
// libcore/formats/ms only.
#pragma once

#include <casacore/casa/Arrays/IPosition.h>
#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/RefRows.h>
#include <casacore/tables/Tables/Table.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/formats/ms/metadata.h"
#include "libcore/formats/ms/rows.h"
#include "libcore/formats/ms/tile_files.h"

namespace apsyn {

casacore::Table open_to_read(const std::string& path);
/// FailureError when another program holds the set.
casacore::Table open_to_write(const std::string& path);

/// UsageError when the rows or the column belong to another set, which would be neither locked nor flushed to
/// disk.
void check_home(const casacore::Table& table, const std::string& path, const std::string& column);

/// Channels first .. first + n - 1 of the wanted ones, adjacent in the cells.
struct ChannelRun {
  std::size_t at = 0, first = 0, n = 0;
};
std::vector<ChannelRun> adjacent(const std::vector<std::size_t>& channels);

/// Some of the rows of a call.
struct RowSpan {
  std::size_t first = 0, n = 0;
};
/// Number of rows whose cells take about n_bytes, at least one.
std::size_t rows_within(std::size_t n_bytes, std::size_t n_channels, std::size_t n_products);
/// Divides rows into spans that are consecutive in the set, of about kCellBytesAtOnce bytes at most.
std::vector<RowSpan> consecutive_rows(const MsRows& rows, std::size_t n_channels, std::size_t n_products);

/// Where the channels of a call and some of its rows lie in a column.
class Addresses {
 public:
  Addresses(const MsMetadata& meta, const MsSelection& selection, const MsRows& rows,
            const std::vector<std::size_t>& channels)
      : description(meta.description(rows.data_description)),
        runs(adjacent(channels)),
        all_(rows.row_number),
        first_channel_(selection.first_channel) {}
  casacore::IPosition cell() const {
    return casacore::IPosition(2, static_cast<ssize_t>(description.n_corr),
                               static_cast<ssize_t>(description.n_chan));
  }
  bool lacks_products() const {
    const std::vector<int>& corr_of = description.corr_of;
    return std::any_of(corr_of.begin(), corr_of.end(), [](int corr) { return corr < 0; });
  }
  std::uint64_t row(const RowSpan& span) const { return static_cast<std::uint64_t>(all_[span.first]); }
  casacore::RefRows rows(const RowSpan& span) const {
    casacore::Vector<casacore::rownr_t> numbers(span.n);
    for (std::size_t i = 0; i < span.n; ++i)
      numbers[i] = static_cast<casacore::rownr_t>(all_[span.first + i]);
    return casacore::RefRows(numbers, false, true);
  }
  std::size_t first_channel(const ChannelRun& run) const { return first_channel_ + run.first; }
  casacore::Slicer section(const ChannelRun& run) const {
    return casacore::Slicer(
        casacore::IPosition(2, 0, static_cast<ssize_t>(first_channel(run))),
        casacore::IPosition(2, static_cast<ssize_t>(description.n_corr), static_cast<ssize_t>(run.n)));
  }
  casacore::IPosition shape(const ChannelRun& run, const RowSpan& span) const {
    return casacore::IPosition(3, static_cast<ssize_t>(description.n_corr), static_cast<ssize_t>(run.n),
                               static_cast<ssize_t>(span.n));
  }
  /// Whether the cells of this run have the same layout as the caller's rows of n_chan channels, so that they
  /// can be copied as they are.
  bool as_stored(const ChannelRun& run, std::size_t n_chan) const {
    bool same = run.n == n_chan && description.corr_of.size() == description.n_corr;
    for (std::size_t p = 0; same && p < description.n_corr; ++p)
      same = description.corr_of[p] == static_cast<int>(p);
    return same;
  }
  /// Calls copy(index in the cells' array, row, chan of the call, product) for all cells of a run.
  template <class Copy>
  void for_cells(const ChannelRun& run, const RowSpan& span, Copy copy) const {
    std::size_t at = 0;
    for (std::size_t row = 0; row < span.n; ++row)
      for (std::size_t chan = 0; chan < run.n; ++chan, at += description.n_corr)
        for (std::size_t p = 0; p < description.corr_of.size(); ++p)
          if (description.corr_of[p] >= 0)
            copy(at + static_cast<std::size_t>(description.corr_of[p]), span.first + row, run.at + chan, p);
  }

  const MsDataDescription& description;
  const std::vector<ChannelRun> runs;

 private:
  const std::vector<std::int64_t>& all_;
  std::size_t first_channel_;
};

/// DataError when cells of the rows are missing or do not have the shape of their data description.
void check_cells(const casacore::TableColumn& column, const MsTileCheck& tiles,
                 const casacore::IPosition& expected, const MsRows& rows, const std::string& path);

}  // namespace apsyn
