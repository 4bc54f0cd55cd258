// SPDX-License-Identifier: GPL-3.0-or-later
#include <casacore/casa/Arrays/Cube.h>
#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/ms/MeasurementSets/MSColumns.h>
#include <casacore/ms/MeasurementSets/MeasurementSet.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/files/output.h"
#include "libcore/formats/ms/cell_values.h"
#include "libcore/formats/ms/main_table.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/formats/ms/metadata.h"
#include "libcore/formats/ms/probe.h"
#include "libcore/formats/ms/subtables.h"
#include "libcore/formats/ms/tile_files.h"
#include "libcore/formats/ms/update.h"
#include "libcore/measures/casacore_log.h"

namespace apsyn {
namespace {

using casacore::IPosition;

void check_description(const MsDescription& description, const std::string& path) {
  if (!description.layout.site) throw DataError("{}: the array has no site: give --site LAT,LON,ALT", path);
  if (description.layout.antennas.empty() || description.channel_hz.empty() || description.products.empty())
    throw DataError("{}: no antennas, channels or products to write", path);
  if (!(description.channel_width_hz > 0))
    throw DataError("{}: channel width {} Hz: it must be above 0", path, description.channel_width_hz);
  for (const MsSpectralWindow& window : description.more_windows)
    if (window.channel_hz.size() != description.channel_hz.size() ||
        window.width_hz.size() != description.channel_hz.size())
      throw DataError("{}: {} channels in one spectral window, {} in another: write a set for each", path,
                      window.channel_hz.size(), description.channel_hz.size());
}

template <class T>
void put_rows(casacore::ScalarColumn<T> column, casacore::rownr_t first, const casacore::Vector<T>& values) {
  column.putColumnRange(casacore::Slicer(IPosition(1, static_cast<ssize_t>(first)),
                                         IPosition(1, static_cast<ssize_t>(values.size()))),
                        values);
}
template <class T>
void put_rows(casacore::ScalarColumn<T> column, casacore::rownr_t first, std::size_t n, const T& value) {
  put_rows(column, first, casacore::Vector<T>(n, value));
}
template <class T>
void put_rows(casacore::ArrayColumn<T> column, casacore::rownr_t first, const casacore::Array<T>& values) {
  const ssize_t n = values.shape()[values.ndim() - 1];
  column.putColumnRange(casacore::Slicer(IPosition(1, static_cast<ssize_t>(first)), IPosition(1, n)), values);
}

/// The value of each row, or the common one repeated.
template <class T>
casacore::Vector<T> values_of(const std::vector<T>& own, T common, std::size_t n) {
  return own.empty() ? casacore::Vector<T>(n, common) : casacore::Vector<T>(own);
}

/// One call's visibilities as the main table stores them, in casacore's order of axes, fastest first.
struct MainArrays {
  casacore::Cube<casacore::Complex> data;           ///< (product, chan, row)
  casacore::Cube<casacore::Bool> flag;              ///< the same
  casacore::Cube<casacore::Float> weight_spectrum;  ///< the same
  casacore::Matrix<casacore::Float> weight, sigma;  ///< (product, row)
  casacore::Vector<casacore::Bool> flag_row;
  casacore::Cube<casacore::Complex> own_data;  ///< memory of `data`, unless that is the caller's
  casacore::Cube<casacore::Float> own_weight;  ///< of weight_spectrum
};

/// Whether a non-standard subtable describes the stations: beam models, or the weather there. Other subtables
/// refer to rows that are numbered differently in the new set, or hold statistics of the old data.
bool describes_stations(const std::string& name) {
  for (const char* prefix : {"LOFAR_", "MWA_", "OSKAR_", "PHASED_ARRAY", "WEATHER"})
    if (name.starts_with(prefix)) return true;
  return false;
}

/// Columns of ANTENNA that describe the stations.
std::vector<std::string> station_columns(const casacore::Table& antennas) {
  std::vector<std::string> columns;
  for (const casacore::String& name : antennas.tableDesc().columnNames())
    if (name.starts_with("LOFAR_")) columns.push_back(name);
  return columns;
}

/// Cells of antennas that have the same name; rows of other antennas, of another set perhaps, stay as they
/// are.
void copy_station_columns(const casacore::Table& from, const std::vector<std::string>& columns,
                          casacore::Table& to) {
  const casacore::ScalarColumn<casacore::String> from_name(from, "NAME"), to_name(to, "NAME");
  std::map<std::string, casacore::rownr_t> row_of;
  for (casacore::rownr_t row = 0; row < from.nrow(); ++row) row_of.emplace(from_name(row), row);
  for (const std::string& name : columns) {
    const casacore::TableColumn given(from, name);
    const bool is_new = !to.tableDesc().isColumn(name);
    if (is_new) to.addColumn(from.tableDesc().columnDesc(name));
    casacore::TableColumn cells(to, name);
    if (is_new) cells.rwKeywordSet() = given.keywordSet();
    for (casacore::rownr_t row = 0; row < to.nrow(); ++row)
      if (const auto at = row_of.find(to_name(row)); at != row_of.end()) cells.put(row, given, at->second);
  }
}

/// fold() for some cells, with bit operations so that the compiler can vectorise it.
void fold_cells(const float* data, const float* weight, std::size_t n, float* data_out,
                std::uint8_t* flag_out, float* weight_out) {
  constexpr std::uint32_t kInfinity = 0x7f800000, kSign = 0x80000000;
  for (std::size_t i = 0; i < n; ++i) {
    const auto re = std::bit_cast<std::uint32_t>(data[2 * i]),
               im = std::bit_cast<std::uint32_t>(data[2 * i + 1]),
               w = std::bit_cast<std::uint32_t>(weight[i]);
    const bool finite = ((re & ~kSign) < kInfinity) & ((im & ~kSign) < kInfinity);
    // Read as an integer, a finite weight above 0 lies between 1 and the bits of infinity minus 1.
    const bool valid = finite & (w - 1 < kInfinity - 1);
    const std::uint32_t value_mask = finite ? ~std::uint32_t{0} : 0, mask = valid ? ~std::uint32_t{0} : 0;
    data_out[2 * i] = std::bit_cast<float>(re & value_mask);
    data_out[2 * i + 1] = std::bit_cast<float>(im & value_mask);
    weight_out[i] = std::bit_cast<float>(w & mask);
    flag_out[i] = !valid;
  }
}

/// Sums of the weights and numbers of valid cells of each product, for a number of products that the compiler
/// knows: sums in registers.
template <std::size_t kProducts>
void sum_weights(const float* weight, const std::uint8_t* flag, std::size_t n_cell, double* sum,
                 std::uint32_t* n_valid) {
  std::array<double, kProducts> sums{};
  std::array<std::uint32_t, kProducts> counts{};
  for (std::size_t i = 0; i < n_cell; i += kProducts)
    for (std::size_t p = 0; p < kProducts; ++p) {
      sums[p] += static_cast<double>(weight[i + p]);
      counts[p] += 1u - flag[i + p];
    }
  std::copy(sums.begin(), sums.end(), sum);
  std::copy(counts.begin(), counts.end(), n_valid);
}

/// Cells in memory of somebody else's, or in `own` if there is none.
template <class T>
void take_cells(const T* from, const IPosition& shape, casacore::Cube<T>& own, casacore::Cube<T>& to) {
  if (from == nullptr) own.resize(shape);
  to.reference(from == nullptr ? own : casacore::Cube<T>(shape, const_cast<T*>(from), casacore::SHARE));
}

/// A cell without weight, or with a value that is no number, is flagged; its value is then kept when finite.
/// Where this changes nothing, as with what a reader gives, data and weights are what came in itself: `out`
/// holds only until they are gone.
void fold(View<const std::complex<float>, 3> data_in, View<const float, 3> weight_in, MainArrays& out) {
  const auto [n_row, n_chan, n_product] = data_in.shape();
  const IPosition shape(3, n_product, n_chan, n_row);
  const bool as_it_is = are_finite(reinterpret_cast<const float*>(data_in.data()), 2 * data_in.size()) &&
                        are_weights(weight_in.data(), weight_in.size());
  take_cells(as_it_is ? data_in.data() : nullptr, shape, out.own_data, out.data);
  take_cells(as_it_is ? weight_in.data() : nullptr, shape, out.own_weight, out.weight_spectrum);
  out.flag.resize(shape);
  out.weight.resize(n_product, n_row);
  out.sigma.resize(n_product, n_row);
  out.flag_row.resize(n_row);
  const std::size_t n_cell = n_chan * n_product;
  thread_local std::vector<double> sum;
  thread_local std::vector<std::uint32_t> n_valid;
  for (std::size_t row = 0; row < n_row; ++row) {
    const auto* data = reinterpret_cast<const float*>(data_in.data() + row * n_cell);
    const float* weight = weight_in.data() + row * n_cell;
    auto* data_out = reinterpret_cast<float*>(out.data.data() + row * n_cell);
    auto* flag_out = reinterpret_cast<std::uint8_t*>(out.flag.data() + row * n_cell);
    float* weight_out = out.weight_spectrum.data() + row * n_cell;
    as_it_is ? flag_zeros(weight, n_cell, flag_out)
             : fold_cells(data, weight, n_cell, data_out, flag_out, weight_out);
    sum.assign(n_product, 0.0);
    n_valid.assign(n_product, 0);
    switch (n_product) {
      case 1:
        sum_weights<1>(weight_out, flag_out, n_cell, sum.data(), n_valid.data());
        break;
      case 2:
        sum_weights<2>(weight_out, flag_out, n_cell, sum.data(), n_valid.data());
        break;
      case 4:
        sum_weights<4>(weight_out, flag_out, n_cell, sum.data(), n_valid.data());
        break;
      default:
        for (std::size_t i = 0; i < n_cell; ++i) {
          sum[i % n_product] += static_cast<double>(weight_out[i]);
          n_valid[i % n_product] += 1u - flag_out[i];
        }
    }
    bool any = false;
    for (std::size_t p = 0; p < n_product; ++p) {
      const double mean = n_valid[p] == 0 ? 0.0 : sum[p] / static_cast<double>(n_valid[p]);
      out.weight(p, row) = static_cast<float>(mean);
      out.sigma(p, row) = mean > 0 ? static_cast<float>(1.0 / std::sqrt(mean)) : 0.0f;
      any |= n_valid[p] != 0;
    }
    out.flag_row[row] = !any;
  }
}

}  // namespace

struct MeasurementSetWriter::State {
  MsDescription description;
  PendingOutput pending;
  std::unique_ptr<casacore::MeasurementSet> ms;
  std::unique_ptr<casacore::MSMainColumns> columns;
  MainArrays arrays;
  MsTimeRange range;
  /// For a set whose rows exist from the start: row flags found by write_cells(), and the files of columns
  /// that can be written without casacore.
  std::vector<std::uint8_t> flag_row;
  std::optional<TileFiles> data, flag, weight_spectrum, weight, sigma;
  std::vector<casacore::Table> added;  ///< subtables of another set
  std::mutex casacore_mutex;           ///< takes one thread at a time

  State(const std::string& path, const MsDescription& wanted, bool overwrite)
      : description(wanted), pending(path, overwrite) {}

  IPosition cell() const {
    return IPosition(2, static_cast<ssize_t>(description.products.size()),
                     static_cast<ssize_t>(description.channel_hz.size()));
  }

  /// Creates a set that is empty or, with n_rows, has rows that are all 0.
  void create(std::optional<std::int64_t> n_rows) {
    pending.create_folder();
    {
      casacore::SetupNewTable setup =
          set_up_main_table(pending.part(), cell(), description.flux_unit, n_rows.has_value());
      ms = std::make_unique<casacore::MeasurementSet>(
          setup, casacore::TableLock(casacore::TableLock::PermanentLocking));
      ms->markForDelete();
    }
    create_subtables(*ms);
    mark(true);
    casacore::MSColumns all(*ms);
    all.setDirectionRef(casacore::MDirection::J2000);
    all.setUVWRef(casacore::Muvw::J2000);
    fill_subtables(*ms, description);
    columns = std::make_unique<casacore::MSMainColumns>(*ms);
    if (!n_rows) return;
    flag_row.assign(static_cast<std::size_t>(*n_rows), 1);
    if (*n_rows == 0) return;
    ms->addRow(static_cast<casacore::rownr_t>(*n_rows));
    ms->flush();
    const auto open = [&](const char* column) {
      return TileFiles::open(*ms, column, TileFiles::Access::write);
    };
    data = open("DATA");
    flag = open("FLAG");
    weight_spectrum = open("WEIGHT_SPECTRUM");
    weight = open("WEIGHT");
    sigma = open("SIGMA");
  }

  /// Writes cells of consecutive rows, directly to the files or through casacore.
  template <class T>
  void put(const std::optional<TileFiles>& files, casacore::ArrayColumn<T> column, std::int64_t first_row,
           const casacore::Array<T>& values) {
    const IPosition shape = values.shape();
    const IPosition of_cell = shape.getFirst(shape.size() - 1);
    const auto n = static_cast<std::size_t>(shape[shape.size() - 1]);
    const auto row = static_cast<std::uint64_t>(first_row);
    if (files && files->hold(row, n, of_cell)) {
      const std::size_t n_chan = of_cell.size() == 2 ? static_cast<std::size_t>(of_cell[1]) : 1;
      return files->write(row, n, 0, n_chan, values.data());
    }
    std::lock_guard lock(casacore_mutex);
    put_rows(column, static_cast<casacore::rownr_t>(first_row), values);
  }

  void put_scalars(casacore::rownr_t first, const MsWriteRows& rows,
                   const casacore::Vector<casacore::Bool>& flagged) {
    const std::size_t n_row = rows.baselines->size();
    casacore::Vector<casacore::Int> ant1(n_row), ant2(n_row);
    for (std::size_t row = 0; row < n_row; ++row) {
      ant1[row] = (*rows.baselines)[row].ant1;
      ant2[row] = (*rows.baselines)[row].ant2;
    }
    put_rows(columns->antenna1(), first, ant1);
    put_rows(columns->antenna2(), first, ant2);
    const casacore::Vector<double> time = values_of(rows.row_time_mjd_s, rows.time_mjd_s, n_row),
                                   interval = values_of(rows.row_interval_s, rows.interval_s, n_row),
                                   exposure = values_of(rows.row_exposure_s, rows.exposure_s, n_row);
    put_rows(columns->time(), first, time);
    put_rows(columns->timeCentroid(), first,
             rows.row_centroid_mjd_s.empty() ? time : casacore::Vector<double>(rows.row_centroid_mjd_s));
    put_rows(columns->interval(), first, interval);
    put_rows(columns->exposure(), first, exposure);
    put_rows(columns->dataDescId(), first, n_row, rows.window);
    put_rows(columns->fieldId(), first, values_of(rows.row_field, 0, n_row));
    put_rows(columns->scanNumber(), first, values_of(rows.row_scan, 1, n_row));
    widen(time, interval);
    put_rows(columns->flagRow(), first, flagged);
    const casacore::Matrix<double> uvw(IPosition(2, 3, static_cast<ssize_t>(n_row)),
                                       const_cast<double*>(rows.uvw_m.data()), casacore::SHARE);
    put_rows(columns->uvw(), first, uvw);
  }

  /// Throws if rows do not have the shape of the set; `with_cells`: data and weights are included.
  void check(const MsWriteRows& rows, bool with_cells) const {
    const std::size_t n_row = rows.baselines == nullptr ? 0 : rows.baselines->size();
    const auto fits = [&](const auto& own) { return own.empty() || own.size() == n_row; };
    bool good = rows.baselines != nullptr && rows.uvw_m.shape() == std::array<std::size_t, 2>{n_row, 3} &&
                fits(rows.row_time_mjd_s) && fits(rows.row_exposure_s) && fits(rows.row_interval_s) &&
                fits(rows.row_field) && fits(rows.row_centroid_mjd_s) && fits(rows.row_scan) &&
                rows.window >= 0 && static_cast<std::size_t>(rows.window) <= description.more_windows.size();
    if (with_cells) good = good && rows.data.extent(0) == n_row && have_shape(rows.data, rows.weight);
    if (!good) throw DataError("{}: the rows do not have the shape of the set", pending.target());
  }
  bool have_shape(View<const std::complex<float>, 3> cells, View<const float, 3> weights) const {
    return weights.shape() == cells.shape() && cells.extent(1) == description.channel_hz.size() &&
           cells.extent(2) == description.products.size();
  }

  void widen(const casacore::Vector<double>& time_s, const casacore::Vector<double>& interval_s) {
    for (std::size_t row = 0; row < time_s.size(); ++row) {
      const double begin_s = time_s[row] - interval_s[row] / 2, end_s = time_s[row] + interval_s[row] / 2;
      const bool is_first = range.last_s == 0;
      range.first_s = is_first ? begin_s : std::min(range.first_s, begin_s);
      range.last_s = is_first ? end_s : std::max(range.last_s, end_s);
    }
  }

  /// Tables that are marked for deletion write nothing when they are destroyed: a destructor that meets a
  /// full disk would end the process.
  void mark(bool for_deletion) {
    casacore::MeasurementSet& set = *ms;
    casacore::Table tables[] = {set,
                                set.antenna(),
                                set.dataDescription(),
                                set.feed(),
                                set.field(),
                                set.flagCmd(),
                                set.history(),
                                set.observation(),
                                set.pointing(),
                                set.polarization(),
                                set.processor(),
                                set.spectralWindow(),
                                set.state()};
    for (casacore::Table& table : tables) for_deletion ? table.markForDelete() : table.unmarkForDelete();
    for (casacore::Table& table : added) for_deletion ? table.markForDelete() : table.unmarkForDelete();
  }
};

MeasurementSetWriter::MeasurementSetWriter(const std::string& path, const MsDescription& description,
                                           bool overwrite)
    : state_(std::make_unique<State>(path, description, overwrite)) {
  adopt_casacore_log();
  check_description(description, path);
  with_writing_set(path, [&] { state_->create(std::nullopt); });
}

MeasurementSetWriter::MeasurementSetWriter(const std::string& path, const MsDescription& description,
                                           bool overwrite, std::int64_t n_rows)
    : state_(std::make_unique<State>(path, description, overwrite)) {
  adopt_casacore_log();
  check_description(description, path);
  with_writing_set(path, [&] { state_->create(n_rows); });
}

MeasurementSetWriter::~MeasurementSetWriter() = default;

void MeasurementSetWriter::write(const MsWriteRows& rows) {
  State& state = *state_;
  state.check(rows, true);
  const std::size_t n_row = rows.data.extent(0);
  if (n_row == 0) return;
  fold(rows.data, rows.weight, state.arrays);
  with_writing_set(state.pending.target(), [&] {
    casacore::MSMainColumns& columns = *state.columns;
    const casacore::rownr_t first = state.ms->nrow();
    state.ms->addRow(n_row);
    for (auto* column : {&columns.arrayId(), &columns.feed1(), &columns.feed2(), &columns.observationId(),
                         &columns.processorId(), &columns.stateId()})
      put_rows(*column, first, n_row, 0);
    state.put_scalars(first, rows, state.arrays.flag_row);
    put_rows(columns.data(), first, state.arrays.data);
    put_rows(columns.flag(), first, state.arrays.flag);
    put_rows(columns.weightSpectrum(), first, state.arrays.weight_spectrum);
    put_rows(columns.weight(), first, state.arrays.weight);
    put_rows(columns.sigma(), first, state.arrays.sigma);
  });
}

void MeasurementSetWriter::write_cells(std::int64_t first_row, View<const std::complex<float>, 3> data,
                                       View<const float, 3> weight) {
  State& state = *state_;
  const std::size_t n_row = data.extent(0);
  if (!state.have_shape(data, weight) || first_row < 0 ||
      static_cast<std::size_t>(first_row) + n_row > state.flag_row.size())
    throw DataError("{}: the cells do not have the shape of the set", state.pending.target());
  if (n_row == 0) return;
  thread_local MainArrays arrays;
  fold(data, weight, arrays);
  std::copy_n(arrays.flag_row.data(), n_row, state.flag_row.begin() + first_row);
  with_writing_set(state.pending.target(), [&] {
    casacore::MSMainColumns& columns = *state.columns;
    state.put(state.data, columns.data(), first_row, arrays.data);
    state.put(state.flag, columns.flag(), first_row, arrays.flag);
    state.put(state.weight_spectrum, columns.weightSpectrum(), first_row, arrays.weight_spectrum);
    state.put(state.weight, columns.weight(), first_row, arrays.weight);
    state.put(state.sigma, columns.sigma(), first_row, arrays.sigma);
  });
}

void MeasurementSetWriter::write_scalars(std::int64_t first_row, const MsWriteRows& rows) {
  State& state = *state_;
  state.check(rows, false);
  const std::size_t n_row = rows.baselines->size();
  if (first_row < 0 || static_cast<std::size_t>(first_row) + n_row > state.flag_row.size())
    throw DataError("{}: rows {} to {}: the set has {}", state.pending.target(), first_row,
                    first_row + static_cast<std::int64_t>(n_row), state.flag_row.size());
  if (n_row == 0) return;
  casacore::Vector<casacore::Bool> flagged(n_row);
  std::copy_n(state.flag_row.begin() + first_row, n_row, flagged.begin());
  std::lock_guard lock(state.casacore_mutex);
  with_writing_set(state.pending.target(),
                   [&] { state.put_scalars(static_cast<casacore::rownr_t>(first_row), rows, flagged); });
}

void MeasurementSetWriter::add_history(const std::vector<std::string>& lines) {
  auto& history = state_->description.history;
  history.insert(history.end(), lines.begin(), lines.end());
}

void MeasurementSetWriter::add_subtables_of(const std::string& path, const std::string& column) {
  State& state = *state_;
  const casacore::Table from(path, casacore::TableLock(casacore::TableLock::AutoNoReadLocking));
  const casacore::TableRecord& keywords = from.keywordSet();
  const casacore::Table antennas = keywords.asTable("ANTENNA");
  if (const std::vector<std::string> columns = station_columns(antennas); !columns.empty()) {
    probe_in_subprocess(path, [&] { antennas.copyToMemoryTable("probe"); });
    with_writing_set(state.pending.target(),
                     [&] { copy_station_columns(antennas, columns, state.ms->antenna()); });
  }
  if (from.tableDesc().isColumn(column))
    with_writing_set(state.pending.target(), [&] {
      copy_applied_beam(casacore::TableColumn(from, column).keywordSet(),
                        casacore::TableColumn(*state.ms, "DATA").rwKeywordSet());
    });
  std::vector<casacore::uInt> wanted;
  for (casacore::uInt i = 0; i < keywords.nfields(); ++i)
    if (keywords.dataType(i) == casacore::TpTable && describes_stations(keywords.name(i)) &&
        !state.ms->keywordSet().isDefined(keywords.name(i)))
      wanted.push_back(i);
  if (wanted.empty()) return;
  probe_in_subprocess(path, [&] {
    for (const casacore::uInt i : wanted) keywords.asTable(i).copyToMemoryTable("probe");
  });
  with_writing_set(state.pending.target(), [&] {
    for (const casacore::uInt i : wanted) {
      const casacore::String name = keywords.name(i), copy = state.ms->tableName() + "/" + name;
      keywords.asTable(i).deepCopy(copy, casacore::Table::New);
      state.added.emplace_back(copy, casacore::Table::Update);
      state.added.back().markForDelete();
      state.ms->rwKeywordSet().defineTable(name, state.added.back());
    }
  });
}

void MeasurementSetWriter::commit() {
  with_writing_set(state_->pending.target(), [&] {
    fill_times_and_history(*state_->ms, state_->description, state_->range);
    for (casacore::Table& table : state_->added) table.flush();
    state_->ms->flush();  // with its subtables; PendingOutput syncs them
    state_->mark(false);
    state_->columns.reset();
    for (auto* files :
         {&state_->data, &state_->flag, &state_->weight_spectrum, &state_->weight, &state_->sigma})
      files->reset();
    state_->added.clear();
    state_->ms.reset();
  });
  state_->pending.commit();
}

}  // namespace apsyn
