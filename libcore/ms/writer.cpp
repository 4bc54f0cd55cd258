// SPDX-License-Identifier: GPL-3.0-or-later
#include <casacore/casa/Arrays/Cube.h>
#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Slicer.h>
#include <casacore/ms/MeasurementSets/MSColumns.h>
#include <casacore/ms/MeasurementSets/MeasurementSet.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/files/output.h"
#include "libcore/measures/casacore_log.h"
#include "libcore/ms/main_table.h"
#include "libcore/ms/measurement_set.h"
#include "libcore/ms/metadata.h"
#include "libcore/ms/subtables.h"

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

/// The rows' own values, or the one of all.
template <class T>
casacore::Vector<T> values_of(const std::vector<T>& own, T common, std::size_t n) {
  return own.empty() ? casacore::Vector<T>(n, common) : casacore::Vector<T>(own);
}

/// What the tables hold of one call's visibilities; casacore's order, fastest axis first.
struct MainArrays {
  casacore::Cube<casacore::Complex> data;           ///< (product, chan, row)
  casacore::Cube<casacore::Bool> flag;              ///< the same
  casacore::Cube<casacore::Float> weight_spectrum;  ///< the same
  casacore::Matrix<casacore::Float> weight, sigma;  ///< (product, row)
  casacore::Vector<casacore::Bool> flag_row;
};

/// A cell without weight, or with a value that is no number, is flagged; its value is then kept when finite.
void fold(const MsWriteRows& rows, MainArrays& out) {
  const auto [n_row, n_chan, n_product] = rows.data.shape();
  const IPosition shape(3, n_product, n_chan, n_row);
  out.data.resize(shape);
  out.flag.resize(shape);
  out.weight_spectrum.resize(shape);
  out.weight.resize(n_product, n_row);
  out.sigma.resize(n_product, n_row);
  out.flag_row.resize(n_row);
  const std::complex<float>* data = rows.data.data();
  const float* weight = rows.weight.data();
  casacore::Complex* data_out = out.data.data();
  casacore::Bool* flag_out = out.flag.data();
  casacore::Float* weight_out = out.weight_spectrum.data();
  std::vector<double> sum(n_product);
  std::vector<std::size_t> n_valid(n_product);
  for (std::size_t row = 0; row < n_row; ++row) {
    std::fill(sum.begin(), sum.end(), 0.0);
    std::fill(n_valid.begin(), n_valid.end(), 0);
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      for (std::size_t p = 0; p < n_product; ++p, ++data, ++weight, ++data_out, ++flag_out, ++weight_out) {
        const bool finite = std::isfinite(data->real()) && std::isfinite(data->imag());
        const bool valid = finite && std::isfinite(*weight) && *weight > 0;
        *data_out = finite ? *data : casacore::Complex(0, 0);
        *flag_out = !valid;
        *weight_out = valid ? *weight : 0.0f;
        sum[p] += static_cast<double>(*weight_out);
        n_valid[p] += valid;
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

  State(const std::string& path, const MsDescription& wanted, bool overwrite)
      : description(wanted), pending(path, overwrite) {}

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
  }
};

MeasurementSetWriter::MeasurementSetWriter(const std::string& path, const MsDescription& description,
                                           bool overwrite)
    : state_(std::make_unique<State>(path, description, overwrite)) {
  adopt_casacore_log();
  check_description(description, path);
  with_writing_set(path, [&] {
    const IPosition cell(2, static_cast<ssize_t>(description.products.size()),
                         static_cast<ssize_t>(description.channel_hz.size()));
    state_->pending.create_folder();
    {
      casacore::SetupNewTable setup = set_up_main_table(state_->pending.part(), cell, description.flux_unit);
      state_->ms = std::make_unique<casacore::MeasurementSet>(
          setup, casacore::TableLock(casacore::TableLock::PermanentLocking));
      state_->ms->markForDelete();
    }
    create_subtables(*state_->ms);
    state_->mark(true);
    casacore::MSColumns all(*state_->ms);
    all.setDirectionRef(casacore::MDirection::J2000);
    all.setUVWRef(casacore::Muvw::J2000);
    fill_subtables(*state_->ms, description);
    state_->columns = std::make_unique<casacore::MSMainColumns>(*state_->ms);
  });
}

MeasurementSetWriter::~MeasurementSetWriter() = default;

void MeasurementSetWriter::write(const MsWriteRows& rows) {
  const std::size_t n_row = rows.data.extent(0);
  if (rows.baselines == nullptr || rows.baselines->size() != n_row ||
      rows.weight.shape() != rows.data.shape() ||
      rows.uvw_m.shape() != std::array<std::size_t, 2>{n_row, 3} ||
      rows.data.extent(1) != state_->description.channel_hz.size() ||
      rows.data.extent(2) != state_->description.products.size() ||
      (!rows.row_time_mjd_s.empty() && rows.row_time_mjd_s.size() != n_row) ||
      (!rows.row_exposure_s.empty() && rows.row_exposure_s.size() != n_row) ||
      (!rows.row_interval_s.empty() && rows.row_interval_s.size() != n_row) ||
      (!rows.row_field.empty() && rows.row_field.size() != n_row) || rows.window < 0 ||
      static_cast<std::size_t>(rows.window) > state_->description.more_windows.size())
    throw DataError("{}: the rows do not have the shape of the set", state_->pending.target());
  if (n_row == 0) return;
  fold(rows, state_->arrays);
  with_writing_set(state_->pending.target(), [&] {
    casacore::Vector<casacore::Int> ant1(n_row), ant2(n_row);
    for (std::size_t row = 0; row < n_row; ++row) {
      ant1[row] = (*rows.baselines)[row].ant1;
      ant2[row] = (*rows.baselines)[row].ant2;
    }
    casacore::MSMainColumns& columns = *state_->columns;
    const casacore::rownr_t first = state_->ms->nrow();
    state_->ms->addRow(n_row);
    put_rows(columns.antenna1(), first, ant1);
    put_rows(columns.antenna2(), first, ant2);
    const casacore::Vector<double> time = values_of(rows.row_time_mjd_s, rows.time_mjd_s, n_row),
                                   interval = values_of(rows.row_interval_s, rows.interval_s, n_row),
                                   exposure = values_of(rows.row_exposure_s, rows.exposure_s, n_row);
    put_rows(columns.time(), first, time);
    put_rows(columns.timeCentroid(), first, time);
    put_rows(columns.interval(), first, interval);
    put_rows(columns.exposure(), first, exposure);
    put_rows(columns.dataDescId(), first, n_row, rows.window);
    put_rows(columns.fieldId(), first, values_of(rows.row_field, 0, n_row));
    state_->widen(time, interval);
    for (auto* column : {&columns.arrayId(), &columns.feed1(), &columns.feed2(), &columns.observationId(),
                         &columns.processorId(), &columns.stateId()})
      put_rows(*column, first, n_row, 0);
    put_rows(columns.scanNumber(), first, n_row, 1);
    put_rows(columns.flagRow(), first, state_->arrays.flag_row);
    const casacore::Matrix<double> uvw(IPosition(2, 3, static_cast<ssize_t>(n_row)),
                                       const_cast<double*>(rows.uvw_m.data()), casacore::SHARE);
    put_rows(columns.uvw(), first, uvw);
    put_rows(columns.data(), first, state_->arrays.data);
    put_rows(columns.flag(), first, state_->arrays.flag);
    put_rows(columns.weightSpectrum(), first, state_->arrays.weight_spectrum);
    put_rows(columns.weight(), first, state_->arrays.weight);
    put_rows(columns.sigma(), first, state_->arrays.sigma);
  });
}

void MeasurementSetWriter::add_history(const std::vector<std::string>& lines) {
  auto& history = state_->description.history;
  history.insert(history.end(), lines.begin(), lines.end());
}

void MeasurementSetWriter::commit() {
  with_writing_set(state_->pending.target(), [&] {
    fill_times_and_history(*state_->ms, state_->description, state_->range);
    state_->ms->flush();  // with its subtables; PendingOutput syncs them
    state_->mark(false);
    state_->columns.reset();
    state_->ms.reset();
  });
  state_->pending.commit();
}

}  // namespace apsyn
