// SPDX-License-Identifier: GPL-3.0-or-later
// MsCellReader: cells of the main table, read in few large pieces, folded into weights.
#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/tables/Tables/RefRows.h>

#include <algorithm>
#include <cmath>

#include "libcore/io/ms_rows.h"

namespace apsyn {

using casacore::IPosition;
using casacore::Slicer;

/// The rows that one call reads: the whole range from the first to the last wanted one when most of it is
/// wanted and all of it has the same cells, else the wanted ones alone.
struct MsCellReader::Cells {
  const MsDataDescription& description;
  const MsScalars& scalars;
  std::size_t n_chan;                        ///< wanted
  Slicer range;                              ///< of dense rows
  casacore::Vector<casacore::rownr_t> list;  ///< of sparse rows, empty when dense
  std::vector<std::size_t> wanted;           ///< indices into scalars
  std::vector<std::size_t> at;               ///< [wanted] index among the rows read
  casacore::rownr_t first_row;

  Cells(const MsMetadata& meta, const MsScalars& block, const std::vector<std::size_t>& rows)
      : description(meta.data_descriptions[static_cast<std::size_t>(block.data_description[rows.front()])]),
        scalars(block),
        n_chan(meta.spws[static_cast<std::size_t>(description.spw)].channel_hz.size()),
        wanted(rows),
        first_row(static_cast<casacore::rownr_t>(block.first_row) + rows.front()) {
    const std::size_t n_range = rows.back() - rows.front() + 1;
    const int id = block.data_description[rows.front()];
    bool dense = rows.size() * 2 >= n_range;
    for (std::size_t row = rows.front(); dense && row <= rows.back(); ++row)
      dense = block.data_description[row] == id;
    if (dense) {
      range =
          Slicer(IPosition(1, static_cast<ssize_t>(first_row)), IPosition(1, static_cast<ssize_t>(n_range)));
      for (std::size_t row : rows) at.push_back(row - rows.front());
    } else {
      list.resize(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        list[i] = static_cast<casacore::rownr_t>(block.first_row) + rows[i];
        at.push_back(i);
      }
    }
  }
};

namespace {

void require_column(const casacore::Table& table, const std::string& path, const std::string& name) {
  if (table.tableDesc().isColumn(name)) return;
  std::string others;
  for (const casacore::String& column : table.tableDesc().columnNames())
    if (column.find("DATA") != std::string::npos && column != "DATA_DESC_ID") others += " " + column;
  throw DataError("{}: no column {}: its data columns are:{}", path, name, others.empty() ? " none" : others);
}

}  // namespace

MsCellReader::MsCellReader(const casacore::Table& table, const MsMetadata& meta, const MsSelection& selection,
                           const std::string& path)
    : meta_(meta),
      first_channel_(selection.first_channel),
      path_(path),
      coordinates_alone_(selection.column.empty()) {
  require_column(table, path, "UVW");
  uvw_column_.attach(table, "UVW");
  uvw_tiles_ = MsTileCheck(table, "UVW", path);
  if (coordinates_alone_) return;
  for (const std::string& name : {std::string("FLAG"), std::string("WEIGHT"), selection.column})
    require_column(table, path, name);
  data_column_.attach(table, selection.column);
  flag_column_.attach(table, "FLAG");
  weight_column_.attach(table, "WEIGHT");
  data_tiles_ = MsTileCheck(table, selection.column, path);
  flag_tiles_ = MsTileCheck(table, "FLAG", path);
  weight_tiles_ = MsTileCheck(table, "WEIGHT", path);
  if (table.tableDesc().isColumn("WEIGHT_SPECTRUM")) {
    spectrum_column_.emplace(table, "WEIGHT_SPECTRUM");
    spectrum_tiles_ = MsTileCheck(table, "WEIGHT_SPECTRUM", path);
  }
}

template <class T>
void MsCellReader::load(const casacore::ArrayColumn<T>& column, const Cells& cells, bool channels,
                        casacore::Array<T>& into) {
  const bool cut = channels && cells.n_chan != cells.description.n_chan;
  const Slicer section(
      IPosition(2, 0, static_cast<ssize_t>(first_channel_)),
      IPosition(2, static_cast<ssize_t>(cells.description.n_corr), static_cast<ssize_t>(cells.n_chan)));
  if (cells.list.empty()) {
    cut ? column.getColumnRange(cells.range, section, into, true)
        : column.getColumnRange(cells.range, into, true);
  } else {
    const casacore::RefRows rows(cells.list, false, true);
    cut ? column.getColumnCells(rows, section, into, true) : column.getColumnCells(rows, into, true);
  }
}

void MsCellReader::check_shape(const casacore::TableColumn& column, const Cells& cells) const {
  const IPosition expected(2, static_cast<ssize_t>(cells.description.n_corr),
                           static_cast<ssize_t>(cells.description.n_chan));
  const std::string name = column.columnDesc().name();
  if (!column.isDefined(cells.first_row))
    throw DataError("{}: row {}: {} holds nothing", path_, cells.first_row, name);
  const IPosition shape = column.shape(cells.first_row);
  if (!shape.isEqual(expected))
    throw DataError("{}: row {}: {} has shape {}, its data description says {}", path_, cells.first_row, name,
                    shape.toString(), expected.toString());
}

bool MsCellReader::has_weight_spectrum(const Cells& cells) const {
  if (!spectrum_column_ || !spectrum_column_->isDefined(cells.first_row)) return false;
  const IPosition shape = spectrum_column_->shape(cells.first_row);
  return shape.isEqual(IPosition(2, static_cast<ssize_t>(cells.description.n_corr),
                                 static_cast<ssize_t>(cells.description.n_chan)));
}

void MsCellReader::load_uvw(const Cells& cells) {
  uvw_tiles_.check(cells.first_row, IPosition(1, 3));
  load(uvw_column_, cells, false, uvw_);
  const ssize_t n_read = uvw_.shape()[uvw_.ndim() - 1];
  if (!uvw_.shape().isEqual(IPosition(2, 3, n_read)))
    throw DataError("{}: row {}: UVW has shape {}", path_, cells.first_row, uvw_.shape().toString());
}

void MsCellReader::read(MsRows& rows, const MsScalars& scalars, const std::vector<std::size_t>& wanted) {
  const Cells cells(meta_, scalars, wanted);
  load_uvw(cells);
  if (coordinates_alone_) {
    const std::size_t n_row = cells.wanted.size();
    rows.spw = cells.description.spw;
    rows.uvw_m.resize({n_row, 3});
    rows.data.resize({n_row, cells.n_chan, 0});
    rows.weight.resize({n_row, cells.n_chan, 0});
    for (std::size_t row = 0; row < n_row; ++row)
      std::copy_n(uvw_.data() + 3 * cells.at[row], 3, &rows.uvw_m(row, 0));
    return;
  }
  check_shape(data_column_, cells);
  check_shape(flag_column_, cells);
  const bool spectrum = has_weight_spectrum(cells);
  const IPosition cell = data_column_.shape(cells.first_row), per_correlation(1, cell[0]);
  data_tiles_.check(cells.first_row, cell);
  flag_tiles_.check(cells.first_row, cell);
  spectrum ? spectrum_tiles_.check(cells.first_row, cell)
           : weight_tiles_.check(cells.first_row, per_correlation);
  load(data_column_, cells, true, data_);
  load(flag_column_, cells, true, flag_);
  spectrum ? load(*spectrum_column_, cells, true, weight_) : load(weight_column_, cells, false, weight_);
  const ssize_t n_read = uvw_.shape()[uvw_.ndim() - 1];
  const auto n_corr = static_cast<ssize_t>(cells.description.n_corr);
  if (!spectrum && !weight_.shape().isEqual(IPosition(2, n_corr, n_read)))
    throw DataError("{}: row {}: WEIGHT has shape {}, not one value per correlation", path_, cells.first_row,
                    weight_.shape().toString());
  fold(rows, cells, spectrum);
}

void MsCellReader::fold(MsRows& rows, const Cells& cells, bool spectrum) const {
  const std::size_t n_row = cells.wanted.size(), n_chan = cells.n_chan, n_product = meta_.products.size();
  const std::size_t n_corr = cells.description.n_corr;
  rows.spw = cells.description.spw;
  rows.uvw_m.resize({n_row, 3});
  rows.data.resize({n_row, n_chan, n_product});
  rows.weight.resize({n_row, n_chan, n_product});
  const double* uvw = uvw_.data();
  const std::vector<int>& corr_of = cells.description.corr_of;
  // Stride of the weights from channel to channel: WEIGHT holds for every channel.
  const std::size_t weight_step = spectrum ? n_corr : 0, weight_row = spectrum ? n_corr * n_chan : n_corr;
  for (std::size_t row = 0; row < n_row; ++row) {
    const std::size_t at = cells.at[row];
    std::copy_n(uvw + 3 * at, 3, &rows.uvw_m(row, 0));
    if (!std::isfinite(uvw[3 * at]) || !std::isfinite(uvw[3 * at + 1]) || !std::isfinite(uvw[3 * at + 2])) {
      std::fill_n(&rows.uvw_m(row, 0), 3, 0.0);
      continue;
    }
    if (cells.scalars.flag_row[cells.wanted[row]]) continue;
    const casacore::Complex* data = data_.data() + at * n_chan * n_corr;
    const casacore::Bool* flag = flag_.data() + at * n_chan * n_corr;
    const float* weight = weight_.data() + at * weight_row;
    std::complex<float>* data_out = &rows.data(row, 0, 0);
    float* weight_out = &rows.weight(row, 0, 0);
    for (std::size_t chan = 0; chan < n_chan; ++chan, data += n_corr, flag += n_corr, weight += weight_step)
      for (std::size_t p = 0; p < n_product; ++p, ++data_out, ++weight_out) {
        const int corr = corr_of[p];
        if (corr < 0) continue;
        const casacore::Complex value = data[corr];
        const float w = weight[corr];
        const bool valid = !flag[corr] && w > 0 && std::isfinite(w) && std::isfinite(value.real()) &&
                           std::isfinite(value.imag());
        *data_out = valid ? value : casacore::Complex(0, 0);
        *weight_out = valid ? w : 0.0f;
      }
  }
}

}  // namespace apsyn
