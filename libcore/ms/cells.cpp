// SPDX-License-Identifier: GPL-3.0-or-later
// MsCellReader: cells of the main table, read in few large pieces, folded into weights.
#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/tables/Tables/RefRows.h>

#include <algorithm>
#include <cmath>

#include "libcore/ms/rows.h"

namespace apsyn {

using casacore::IPosition;
using casacore::Slicer;

/// The rows that one call reads: the whole range from the first to the last wanted one when most of it is
/// wanted and all of it has the same cells, else the wanted ones alone.
struct MsCellReader::Place {
  const MsCells& cells;
  casacore::rownr_t first_row;               ///< of the rows read
  std::size_t n_rows = 0;                    ///< of the rows read
  Slicer range{};                            ///< of dense rows
  casacore::Vector<casacore::rownr_t> list;  ///< of sparse rows, empty when dense

  /// Fills what `to` says of the rows.
  Place(MsCells& to, const MsMetadata& meta, const MsScalars& block, std::span<const std::size_t> rows)
      : cells(to), first_row(static_cast<casacore::rownr_t>(block.first_row) + rows.front()) {
    const int id = block.data_description[rows.front()];
    to.description = &meta.description(id);
    to.n_chan = meta.spws[static_cast<std::size_t>(to.description->spw)].channel_hz.size();
    to.wanted.assign(rows.begin(), rows.end());
    to.at.resize(rows.size());
    const std::size_t n_range = rows.back() - rows.front() + 1;
    bool dense = rows.size() * 2 >= n_range;
    for (std::size_t row = rows.front(); dense && row <= rows.back(); ++row)
      dense = block.data_description[row] == id;
    n_rows = dense ? n_range : rows.size();
    if (dense) {
      range =
          Slicer(IPosition(1, static_cast<ssize_t>(first_row)), IPosition(1, static_cast<ssize_t>(n_range)));
      for (std::size_t i = 0; i < rows.size(); ++i) to.at[i] = rows[i] - rows.front();
    } else {
      list.resize(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        list[i] = static_cast<casacore::rownr_t>(block.first_row) + rows[i];
        to.at[i] = i;
      }
    }
  }

  /// Of a cell as the data description says, or of the channels of it that are wanted.
  IPosition cell(bool wanted = false) const {
    return IPosition(2, static_cast<ssize_t>(cells.description->n_corr),
                     static_cast<ssize_t>(wanted ? cells.n_chan : cells.description->n_chan));
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

std::size_t MsCellReader::rows_at_once(std::size_t n_corr, std::size_t n_chan) const {
  constexpr std::size_t max_rows = 1u << 16;
  const std::size_t of_cell = sizeof(casacore::Complex) + sizeof(float) + sizeof(casacore::Bool);
  const std::size_t of_row = 3 * sizeof(double) + (coordinates_alone_ ? 0 : n_corr * n_chan * of_cell);
  return std::clamp<std::size_t>(kCellBytesAtOnce / of_row, 1, max_rows);
}

template <class T>
void MsCellReader::load(const casacore::ArrayColumn<T>& column, const Place& place, bool channels,
                        casacore::Array<T>& into) {
  const bool cut = channels && place.cells.n_chan != place.cells.description->n_chan;
  const Slicer section(IPosition(2, 0, static_cast<ssize_t>(first_channel_)), place.cell(true));
  if (place.list.empty()) {
    cut ? column.getColumnRange(place.range, section, into, true)
        : column.getColumnRange(place.range, into, true);
  } else {
    const casacore::RefRows rows(place.list, false, true);
    cut ? column.getColumnCells(rows, section, into, true) : column.getColumnCells(rows, into, true);
  }
}

void MsCellReader::check_shape(const casacore::TableColumn& column, const Place& place) const {
  const IPosition expected = place.cell();
  const std::string name = column.columnDesc().name();
  if (!column.isDefined(place.first_row))
    throw DataError("{}: row {}: {} holds nothing", path_, place.first_row, name);
  const IPosition shape = column.shape(place.first_row);
  if (!shape.isEqual(expected))
    throw DataError("{}: row {}: {} has shape {}, its data description says {}", path_, place.first_row, name,
                    shape.toString(), expected.toString());
}

bool MsCellReader::has_weight_spectrum(const Place& place) const {
  if (!spectrum_column_ || !spectrum_column_->isDefined(place.first_row)) return false;
  return spectrum_column_->shape(place.first_row).isEqual(place.cell());
}

void MsCellReader::load_uvw(const Place& place, casacore::Array<double>& uvw) {
  uvw_tiles_.check(place.first_row, IPosition(1, 3));
  load(uvw_column_, place, false, uvw);
  if (!uvw.shape().isEqual(IPosition(2, 3, static_cast<ssize_t>(place.n_rows))))
    throw DataError("{}: row {}: UVW has shape {}", path_, place.first_row, uvw.shape().toString());
}

void MsCellReader::load(MsCells& cells, const MsScalars& scalars, std::span<const std::size_t> wanted) {
  const Place place(cells, meta_, scalars, wanted);
  load_uvw(place, cells.uvw);
  if (coordinates_alone_) return;
  check_shape(data_column_, place);
  check_shape(flag_column_, place);
  cells.spectrum = has_weight_spectrum(place);
  const IPosition cell = place.cell(), per_correlation(1, cell[0]);
  data_tiles_.check(place.first_row, cell);
  flag_tiles_.check(place.first_row, cell);
  cells.spectrum ? spectrum_tiles_.check(place.first_row, cell)
                 : weight_tiles_.check(place.first_row, per_correlation);
  load(data_column_, place, true, cells.data);
  load(flag_column_, place, true, cells.flag);
  cells.spectrum ? load(*spectrum_column_, place, true, cells.weight)
                 : load(weight_column_, place, false, cells.weight);
  const IPosition expected(2, cell[0], static_cast<ssize_t>(place.n_rows));
  if (!cells.spectrum && !cells.weight.shape().isEqual(expected))
    throw DataError("{}: row {}: WEIGHT has shape {}, not one value per correlation", path_, place.first_row,
                    cells.weight.shape().toString());
}

void MsCellReader::fold(const MsCells& cells, const MsScalars& scalars, View<double, 2> uvw_m,
                        View<std::complex<float>, 3> data_out, View<float, 3> weight_out) const {
  const std::size_t n_chan = cells.n_chan, n_product = meta_.products.size();
  const std::size_t n_corr = cells.description->n_corr, n_values = n_chan * n_product;
  const double* uvw = cells.uvw.data();
  for (std::size_t row = 0; row < cells.wanted.size(); ++row)
    std::copy_n(uvw + 3 * cells.at[row], 3, &uvw_m(row, 0));
  if (coordinates_alone_) return;
  const std::vector<int>& corr_of = cells.description->corr_of;
  const bool all_there = std::all_of(corr_of.begin(), corr_of.end(), [](int corr) { return corr >= 0; });
  // Stride of the weights from channel to channel: WEIGHT holds for every channel.
  const std::size_t weight_step = cells.spectrum ? n_corr : 0,
                    weight_row = cells.spectrum ? n_corr * n_chan : n_corr;
  for (std::size_t row = 0; row < cells.wanted.size(); ++row) {
    const std::size_t at = cells.at[row];
    std::complex<float>* to = data_out.data() + row * n_values;
    float* to_weight = weight_out.data() + row * n_values;
    const bool placed =
        std::isfinite(uvw[3 * at]) && std::isfinite(uvw[3 * at + 1]) && std::isfinite(uvw[3 * at + 2]);
    if (!placed) std::fill_n(&uvw_m(row, 0), 3, 0.0);
    const bool used = placed && !scalars.flag_row[cells.wanted[row]];
    if (!used || !all_there) {
      std::fill_n(to, n_values, std::complex<float>{});
      std::fill_n(to_weight, n_values, 0.0f);
    }
    if (!used) continue;
    const casacore::Complex* data = cells.data.data() + at * n_chan * n_corr;
    const casacore::Bool* flag = cells.flag.data() + at * n_chan * n_corr;
    const float* weight = cells.weight.data() + at * weight_row;
    for (std::size_t chan = 0; chan < n_chan; ++chan, data += n_corr, flag += n_corr, weight += weight_step)
      for (std::size_t p = 0; p < n_product; ++p, ++to, ++to_weight) {
        const int corr = corr_of[p];
        if (corr < 0) continue;
        const casacore::Complex value = data[corr];
        const float w = weight[corr];
        const bool valid = !flag[corr] && w > 0 && std::isfinite(w) && std::isfinite(value.real()) &&
                           std::isfinite(value.imag());
        *to = valid ? value : casacore::Complex(0, 0);
        *to_weight = valid ? w : 0.0f;
      }
  }
}

}  // namespace apsyn
