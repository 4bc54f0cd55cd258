// SPDX-License-Identifier: GPL-3.0-or-later
// MsCellReader: cells of the main table, read in few large pieces, folded into weights.
#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/tables/Tables/RefRows.h>

#include <algorithm>
#include <cmath>

#include "libcore/formats/ms/cell_values.h"
#include "libcore/formats/ms/rows.h"

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

  /// Also fills the members of `to` that describe the rows.
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

  /// Calls use(first row, rows, rows read before them) for consecutive rows.
  template <class Use>
  void for_spans(Use use) const {
    if (list.empty()) return use(std::uint64_t{first_row}, n_rows, std::size_t{0});
    for (std::size_t at = 0, n = 1; at < list.size(); at += n, n = 1) {
      while (at + n < list.size() && list[at + n] == list[at] + n) ++n;
      use(std::uint64_t{list[at]}, n, at);
    }
  }

  /// Shape of a cell according to the data description, or of its wanted channels.
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

/// 1 / sigma^2 of a row, [chan][corr], or the weight where sigma is 0; `step` from channel to channel of the
/// weights.
void weights_of_sigma(const float* sigma, const float* weight, std::size_t step, std::size_t n_corr,
                      std::vector<float>& to) {
  for (std::size_t i = 0, first = 0; i < to.size(); i += n_corr, first += step)
    for (std::size_t corr = 0; corr < n_corr; ++corr) {
      const float s = sigma[i + corr];
      to[i + corr] = s == 0 ? weight[first + corr] : 1 / (s * s);
    }
}

const std::uint8_t* flag_bytes(const casacore::Bool* flag) {
  return reinterpret_cast<const std::uint8_t*>(flag);
}

bool is_number(const double* uvw) {
  return std::isfinite(uvw[0]) && std::isfinite(uvw[1]) && std::isfinite(uvw[2]);
}

/// Whether correlations are the products, in their order.
bool are_in_order(const MsDataDescription& description, std::size_t n_product) {
  bool in_order = description.n_corr == n_product;
  for (std::size_t p = 0; p < n_product; ++p)
    in_order = in_order && description.corr_of[p] == static_cast<int>(p);
  return in_order;
}

}  // namespace

template <class T>
void MsCellReader::Column<T>::attach(const casacore::Table& table, const std::string& name,
                                     const std::string& path, bool by_files) {
  cells.attach(table, name);
  tiles = MsTileCheck(table, name, path);
  if (by_files) files = TileFiles::open(table, name, TileFiles::Access::read);
}

MsCellReader::MsCellReader(const casacore::Table& table, const MsMetadata& meta, const MsSelection& selection,
                           const std::string& path)
    : meta_(meta),
      first_channel_(selection.first_channel),
      path_(path),
      coordinates_alone_(selection.column.empty()),
      keep_flagged_(selection.keep_flagged) {
  const bool by_files = !selection.by_casacore_alone;
  require_column(table, path, "UVW");
  uvw_.attach(table, "UVW", path, by_files);
  if (coordinates_alone_) return;
  for (const std::string& name : {std::string("FLAG"), std::string("WEIGHT"), selection.column})
    require_column(table, path, name);
  data_.attach(table, selection.column, path, by_files);
  flag_.attach(table, "FLAG", path, by_files);
  weight_.attach(table, "WEIGHT", path, by_files);
  if (table.tableDesc().isColumn("WEIGHT_SPECTRUM"))
    spectrum_.emplace().attach(table, "WEIGHT_SPECTRUM", path, by_files);
  if (selection.weights_of_sigma && selection.column == "DATA" &&
      table.tableDesc().isColumn("SIGMA_SPECTRUM"))
    sigma_.emplace().attach(table, "SIGMA_SPECTRUM", path, by_files);
}

void MsCellReader::close() {
  const auto close = [](auto& column) {
    if (column.files) column.files->close();
  };
  close(uvw_);
  close(data_);
  close(flag_);
  close(weight_);
  if (spectrum_) close(*spectrum_);
  if (sigma_) close(*sigma_);
}

std::size_t MsCellReader::rows_at_once(std::size_t n_corr, std::size_t n_chan) const {
  constexpr std::size_t max_rows = 1u << 16;
  const std::size_t of_cell = sizeof(casacore::Complex) + sizeof(float) + sizeof(casacore::Bool);
  const std::size_t of_row = 3 * sizeof(double) + (coordinates_alone_ ? 0 : n_corr * n_chan * of_cell);
  return std::clamp<std::size_t>(kCellBytesAtOnce / of_row, 1, max_rows);
}

template <class T>
bool MsCellReader::Column<T>::has(const Place& place, const IPosition& cell) const {
  if (!files) return false;
  bool all = true;
  place.for_spans(
      [&](std::uint64_t first, std::size_t n, std::size_t) { all = all && files->hold(first, n, cell); });
  return all;
}

template <class T>
void MsCellReader::Column<T>::read(const Place& place, IPosition cell, std::size_t first_chan,
                                   casacore::Array<T>& into) const {
  const std::size_t cell_size = static_cast<std::size_t>(cell.product()),
                    n_chan = cell.size() == 2 ? static_cast<std::size_t>(cell[1]) : 1;
  cell.append(IPosition(1, static_cast<ssize_t>(place.n_rows)));
  into.resize(cell);
  T* to = into.data();
  place.for_spans([&](std::uint64_t first, std::size_t n, std::size_t at) {
    files->read(first, n, first_chan, n_chan, to + at * cell_size);
  });
}

template <class T>
void MsCellReader::load(const Column<T>& column, const Place& place, bool channels,
                        casacore::Array<T>& into) {
  const bool cut = channels && place.cells.n_chan != place.cells.description->n_chan;
  const Slicer section(IPosition(2, 0, static_cast<ssize_t>(first_channel_)), place.cell(true));
  if (place.list.empty()) {
    cut ? column.cells.getColumnRange(place.range, section, into, true)
        : column.cells.getColumnRange(place.range, into, true);
  } else {
    const casacore::RefRows rows(place.list, false, true);
    cut ? column.cells.getColumnCells(rows, section, into, true)
        : column.cells.getColumnCells(rows, into, true);
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
  if (!spectrum_ || !spectrum_->cells.isDefined(place.first_row)) return false;
  return spectrum_->cells.shape(place.first_row).isEqual(place.cell());
}

void MsCellReader::load_uvw(const Place& place, casacore::Array<double>& uvw) {
  uvw_.tiles.check(place.first_row, IPosition(1, 3));
  load(uvw_, place, false, uvw);
  if (!uvw.shape().isEqual(IPosition(2, 3, static_cast<ssize_t>(place.n_rows))))
    throw DataError("{}: row {}: UVW has shape {}", path_, place.first_row, uvw.shape().toString());
}

void MsCellReader::load_weights(const Place& place, MsCells& cells) {
  const IPosition cell = place.cell(), per_correlation(1, cell[0]);
  cells.spectrum ? spectrum_->tiles.check(place.first_row, cell)
                 : weight_.tiles.check(place.first_row, per_correlation);
  cells.spectrum ? load(*spectrum_, place, true, cells.weight) : load(weight_, place, false, cells.weight);
  const IPosition expected(2, cell[0], static_cast<ssize_t>(place.n_rows));
  if (!cells.spectrum && !cells.weight.shape().isEqual(expected))
    throw DataError("{}: row {}: WEIGHT has shape {}, not one value per correlation", path_, place.first_row,
                    cells.weight.shape().toString());
}

/// Leaves an empty array if these rows have none.
void MsCellReader::load_sigma(const Place& place, MsCells& cells) {
  const IPosition cell = place.cell();
  if (sigma_->has(place, cell)) return sigma_->read(place, place.cell(true), first_channel_, cells.sigma);
  std::lock_guard lock(casacore_);
  if (!sigma_->cells.isDefined(place.first_row) || !sigma_->cells.shape(place.first_row).isEqual(cell)) {
    cells.sigma.resize(IPosition(1, 0));
    return;
  }
  sigma_->tiles.check(place.first_row, cell);
  load(*sigma_, place, true, cells.sigma);
}

void MsCellReader::load(MsCells& cells, const MsScalars& scalars, std::span<const std::size_t> wanted) {
  const Place place(cells, meta_, scalars, wanted);
  const IPosition coordinates(1, 3), cell = place.cell(), per_correlation(1, cell[0]);
  const bool uvw = uvw_.has(place, coordinates), others = !coordinates_alone_;
  const bool data = others && data_.has(place, cell), flag = others && flag_.has(place, cell);
  cells.spectrum = others && spectrum_ && spectrum_->has(place, cell);
  bool weight = others && !cells.spectrum && weight_.has(place, per_correlation);
  const bool spectrum = cells.spectrum, spectrum_known = spectrum || !spectrum_;
  if (!uvw || (others && !(data && flag && spectrum_known && (spectrum || weight)))) {
    std::lock_guard lock(casacore_);
    if (!uvw) load_uvw(place, cells.uvw);
    if (others && !spectrum_known) cells.spectrum = has_weight_spectrum(place);
    weight = weight && !cells.spectrum;
    if (others && !data) check_shape(data_.cells, place);
    if (others && !flag) check_shape(flag_.cells, place);
    if (others && !data) data_.tiles.check(place.first_row, cell);
    if (others && !flag) flag_.tiles.check(place.first_row, cell);
    if (others && !data) load(data_, place, true, cells.data);
    if (others && !flag) load(flag_, place, true, cells.flag);
    if (others && !spectrum && !weight) load_weights(place, cells);
  }
  if (uvw) uvw_.read(place, coordinates, 0, cells.uvw);
  if (data) data_.read(place, place.cell(true), first_channel_, cells.data);
  if (flag) flag_.read(place, place.cell(true), first_channel_, cells.flag);
  if (spectrum) spectrum_->read(place, place.cell(true), first_channel_, cells.weight);
  if (weight) weight_.read(place, per_correlation, 0, cells.weight);
  if (sigma_) load_sigma(place, cells);
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
  const bool in_order = are_in_order(*cells.description, n_product);
  // Stride of the weights from channel to channel: WEIGHT holds for every channel.
  const std::size_t weight_step = cells.spectrum ? n_corr : 0,
                    weight_row = cells.spectrum ? n_corr * n_chan : n_corr;
  const bool has_sigma = cells.sigma.size() > 0;
  thread_local std::vector<float> repeated, of_sigma;
  for (std::size_t row = 0; row < cells.wanted.size(); ++row) {
    const std::size_t at = cells.at[row];
    std::complex<float>* to = data_out.data() + row * n_values;
    float* to_weight = weight_out.data() + row * n_values;
    const bool placed = is_number(uvw + 3 * at);
    if (!placed) std::fill_n(&uvw_m(row, 0), 3, 0.0);
    const bool weighs = !scalars.flag_row[cells.wanted[row]], used = placed && (weighs || keep_flagged_);
    if (!used || !all_there) {
      std::fill_n(to, n_values, std::complex<float>{});
      std::fill_n(to_weight, n_values, 0.0f);
    }
    if (!used) continue;
    const casacore::Complex* data = cells.data.data() + at * n_chan * n_corr;
    const casacore::Bool* flag = cells.flag.data() + at * n_chan * n_corr;
    const float* weight = cells.weight.data() + at * weight_row;
    std::size_t step = weight_step;
    if (has_sigma) {
      of_sigma.resize(n_corr * n_chan);
      weights_of_sigma(cells.sigma.data() + at * n_chan * n_corr, weight, step, n_corr, of_sigma);
      weight = of_sigma.data();
      step = n_corr;
    }
    if (in_order) {
      if (!cells.spectrum && !has_sigma) {
        repeated.resize(n_values);
        for (std::size_t i = 0; i < n_values; ++i) repeated[i] = weight[i % n_corr];
        weight = repeated.data();
      }
      (keep_flagged_ ? mask_cells_keeping_values : mask_cells)(data, flag_bytes(flag), weight, n_values, to,
                                                               to_weight);
      if (!weighs) std::fill_n(to_weight, n_values, 0.0f);
      continue;
    }
    for (std::size_t chan = 0; chan < n_chan; ++chan, data += n_corr, flag += n_corr, weight += step)
      for (std::size_t p = 0; p < n_product; ++p, ++to, ++to_weight) {
        const int corr = corr_of[p];
        if (corr < 0) continue;
        const casacore::Complex value = data[corr];
        const float w = weight[corr];
        const bool finite = std::isfinite(value.real()) && std::isfinite(value.imag());
        const bool valid = weighs && !flag[corr] && w > 0 && std::isfinite(w) && finite;
        *to = (keep_flagged_ ? finite : valid) ? value : casacore::Complex(0, 0);
        *to_weight = valid ? w : 0.0f;
      }
  }
}

bool MsCellReader::folds_in_place(const MsCells& cells) const {
  // Wanted rows rise: all that were read are wanted where the last of so many is the last one read.
  return !coordinates_alone_ && cells.spectrum && cells.sigma.empty() &&
         cells.at.back() + 1 == cells.wanted.size() && cells.data.size() == cells.weight.size() &&
         are_in_order(*cells.description, meta_.products.size());
}

void MsCellReader::fold_in_place(MsCells& cells, const MsScalars& scalars, View<double, 2> uvw_m) const {
  const std::size_t n_rows = cells.wanted.size(), n_values = cells.n_chan * cells.description->n_corr;
  std::copy_n(cells.uvw.data(), 3 * n_rows, uvw_m.data());
  for (std::size_t row = 0; row < n_rows; ++row) {
    casacore::Complex* data = cells.data.data() + row * n_values;
    float* weight = cells.weight.data() + row * n_values;
    const std::uint8_t* flag = flag_bytes(cells.flag.data() + row * n_values);
    const bool placed = is_number(&uvw_m(row, 0)), weighs = !scalars.flag_row[cells.wanted[row]];
    if (!placed) std::fill_n(&uvw_m(row, 0), 3, 0.0);
    if (!placed || (!weighs && !keep_flagged_)) {
      std::fill_n(data, n_values, casacore::Complex(0, 0));
      std::fill_n(weight, n_values, 0.0f);
      continue;
    }
    if (!keep_flagged_)
      mask_cells(data, flag, weight, n_values, data, weight);
    else if (are_finite(reinterpret_cast<const float*>(data), 2 * n_values))
      mask_weights(flag, n_values, weight);
    else
      mask_cells_keeping_values(data, flag, weight, n_values, data, weight);
    if (!weighs) std::fill_n(weight, n_values, 0.0f);
  }
}

}  // namespace apsyn
