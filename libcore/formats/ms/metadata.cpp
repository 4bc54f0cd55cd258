// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/metadata.h"

#include <casacore/casa/Arrays/Array.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "libcore/base/constants.h"
#include "libcore/measures/casacore_log.h"

namespace apsyn {
namespace {

ArrayLayout read_antennas(const casacore::Table& ms, const std::string& path) {
  const casacore::Table table = ms_subtable(ms, path, "ANTENNA");
  const casacore::ScalarColumn<casacore::String> name(table, "NAME");
  const casacore::ArrayColumn<double> position(table, "POSITION");
  const casacore::ScalarColumn<casacore::Bool> flag_row(table, "FLAG_ROW");
  std::optional<casacore::ScalarColumn<casacore::String>> mount;
  std::optional<casacore::ScalarColumn<double>> diameter;
  if (table.tableDesc().isColumn("MOUNT")) mount.emplace(table, "MOUNT");
  if (table.tableDesc().isColumn("DISH_DIAMETER")) diameter.emplace(table, "DISH_DIAMETER");
  // Unused antennas may stand at the geocentre, and simulated arrays about nowhere.
  constexpr double kMinRadius_m = 6e6;
  ArrayLayout layout;
  std::vector<Vec3> itrf_m;
  Vec3 sum{};
  int n_on_earth = 0;
  for (casacore::rownr_t row = 0; row < table.nrow(); ++row) {
    const casacore::Vector<double> p = position(row);
    if (p.size() != 3 || !std::isfinite(p[0] + p[1] + p[2]))
      throw DataError("{}: ANTENNA row {}: POSITION is no point", path, row);
    itrf_m.push_back({p[0], p[1], p[2]});
    if (dot(itrf_m.back(), itrf_m.back()) > kMinRadius_m * kMinRadius_m) {
      sum = sum + itrf_m.back();
      ++n_on_earth;
    }
    layout.antennas.push_back({name(row), {}, 0, flag_row(row)});
    if (mount) layout.antennas.back().mount = (*mount)(row);
    if (diameter && std::isfinite((*diameter)(row)))
      layout.antennas.back().dish_diameter_m = (*diameter)(row);
  }
  if (itrf_m.empty()) throw DataError("{}: ANTENNA is empty: nothing to read", path);
  if (n_on_earth > 0) {
    for (double& component : sum) component /= n_on_earth;
    if (dot(sum, sum) > kMinRadius_m * kMinRadius_m) layout.site = site_from_geocentric(sum);
  }
  for (std::size_t i = 0; i < itrf_m.size(); ++i)
    layout.antennas[i].enu_m = layout.site ? enu_from_geocentric(*layout.site, itrf_m[i]) : itrf_m[i];
  return layout;
}

std::string read_telescope(const casacore::Table& ms, const std::string& path) {
  const casacore::Table table = ms_subtable(ms, path, "OBSERVATION");
  if (table.nrow() == 0) return "unknown";
  const std::string name = casacore::ScalarColumn<casacore::String>(table, "TELESCOPE_NAME")(0);
  return name.empty() ? "unknown" : name;
}

std::string read_observer(const casacore::Table& ms, const std::string& path) {
  const casacore::Table table = ms_subtable(ms, path, "OBSERVATION");
  if (table.nrow() == 0 || !table.tableDesc().isColumn("OBSERVER")) return {};
  return casacore::ScalarColumn<casacore::String>(table, "OBSERVER")(0);
}

MsSpectralWindow read_window(const casacore::Table& table, int row, const std::string& path) {
  MsSpectralWindow window;
  const casacore::ArrayColumn<double> freq(table, "CHAN_FREQ"), width(table, "CHAN_WIDTH");
  window.channel_hz = casacore::Array<double>(freq(row)).tovector();
  window.width_hz = casacore::Array<double>(width(row)).tovector();
  if (table.tableDesc().isColumn("NAME"))
    window.name = casacore::ScalarColumn<casacore::String>(table, "NAME")(row);
  if (table.tableDesc().isColumn("MEAS_FREQ_REF"))
    window.frame = frequency_frame(casacore::ScalarColumn<casacore::Int>(table, "MEAS_FREQ_REF")(row));
  if (window.channel_hz.empty() || window.width_hz.size() != window.channel_hz.size())
    throw DataError("{}: SPECTRAL_WINDOW row {}: {} frequencies, {} widths", path, row,
                    window.channel_hz.size(), window.width_hz.size());
  for (double& width_hz : window.width_hz) width_hz = std::abs(width_hz);
  for (std::size_t i = 0; i < window.channel_hz.size(); ++i)
    if (!(window.channel_hz[i] > 0) || !std::isfinite(window.channel_hz[i]) ||
        !std::isfinite(window.width_hz[i]))
      throw DataError("{}: SPECTRAL_WINDOW row {}: channel {} at {} Hz", path, row, i, window.channel_hz[i]);
  return window;
}

void apply_channel_range(MsSpectralWindow& window, int row, const MsSelection& selection,
                         const std::string& path) {
  const std::size_t n = window.channel_hz.size(), first = selection.first_channel;
  const std::size_t count = selection.n_channels != 0 ? selection.n_channels : n - std::min(n, first);
  if (first >= n || count > n - first)
    throw UsageError("{}: channels {} to {}: spectral window {} has {}", path, first, first + count, row, n);
  const auto cut = [&](std::vector<double>& values) {
    values = {values.begin() + static_cast<std::ptrdiff_t>(first),
              values.begin() + static_cast<std::ptrdiff_t>(first + count)};
  };
  cut(window.channel_hz);
  cut(window.width_hz);
}

/// CORR_TYPE of every POLARIZATION row.
std::vector<std::vector<int>> read_correlations(const casacore::Table& ms, const std::string& path) {
  const casacore::Table table = ms_subtable(ms, path, "POLARIZATION");
  const casacore::ArrayColumn<casacore::Int> corr_type(table, "CORR_TYPE");
  std::vector<std::vector<int>> result;
  for (casacore::rownr_t row = 0; row < table.nrow(); ++row) {
    const casacore::Array<casacore::Int> types = corr_type(row);
    result.emplace_back(types.begin(), types.end());
    if (std::set<int>(types.begin(), types.end()).size() != types.size() || types.empty())
      throw DataError("{}: POLARIZATION row {}: CORR_TYPE names a product twice or none", path, row);
  }
  return result;
}

/// 0 for Stokes, 1 circular, 2 linear; other CORR_TYPEs are refused.
int basis_of(int corr_type, const std::string& path) {
  if (corr_type < 1 || corr_type > 12)
    throw DataError("{}: CORR_TYPE {}: only Stokes, circular and linear products are supported", path,
                    corr_type);
  return (corr_type - 1) / 4;
}

/// The data descriptions of the selected windows of which there are rows.
std::vector<bool> wanted_descriptions(const casacore::Table& ms, const casacore::Vector<casacore::Int>& spws,
                                      const MsSelection& selection) {
  std::vector<bool> wanted(spws.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = selected(selection.spws, spws[i]);
  const std::vector<bool> with_rows = descriptions_with_rows(ms, selection, wanted);
  return std::find(with_rows.begin(), with_rows.end(), true) == with_rows.end() ? wanted : with_rows;
}

void read_data_descriptions(MsMetadata& meta, const casacore::Table& ms, const std::string& path,
                            const MsSelection& selection) {
  const casacore::Table table = ms_subtable(ms, path, "DATA_DESCRIPTION");
  const casacore::Table spw_table = ms_subtable(ms, path, "SPECTRAL_WINDOW");
  const casacore::ScalarColumn<casacore::Int> spw_id(table, "SPECTRAL_WINDOW_ID"),
      polarization_id(table, "POLARIZATION_ID");
  const std::vector<std::vector<int>> correlations = read_correlations(ms, path);
  for (int spw : selection.spws)
    if (spw < 0 || spw >= static_cast<int>(spw_table.nrow()))
      throw UsageError("{}: spectral window {}: the set has {}", path, spw, spw_table.nrow());
  std::vector<int> index_of(spw_table.nrow(), -1);  // of the selected windows
  std::set<int> types;
  std::vector<const std::vector<int>*> types_of(table.nrow(), nullptr);
  meta.data_descriptions.resize(table.nrow());
  const std::vector<bool> wanted = wanted_descriptions(ms, spw_id.getColumn(), selection);
  for (casacore::rownr_t row = 0; row < table.nrow(); ++row) {
    const int spw = spw_id(row), polarization = polarization_id(row);
    if (spw < 0 || spw >= static_cast<int>(index_of.size()) || polarization < 0 ||
        polarization >= static_cast<int>(correlations.size()))
      throw DataError("{}: DATA_DESCRIPTION row {}: no spectral window {} or polarization {}", path, row, spw,
                      polarization);
    if (!wanted[row]) continue;
    MsDataDescription& description = meta.data_descriptions[row];
    MsSpectralWindow window = read_window(spw_table, spw, path);
    description.n_chan = window.channel_hz.size();
    if (index_of[spw] < 0) {
      apply_channel_range(window, spw, selection, path);
      index_of[spw] = static_cast<int>(meta.spws.size());
      meta.spws.push_back(std::move(window));
    }
    description.spw = index_of[spw];
    types_of[row] = &correlations[polarization];
    description.n_corr = types_of[row]->size();
    types.insert(types_of[row]->begin(), types_of[row]->end());
  }
  if (types.empty()) throw DataError("{}: DATA_DESCRIPTION describes none of the selected data", path);
  for (int type : types) {
    if (basis_of(type, path) != basis_of(*types.begin(), path))
      throw UsageError("{}: linear and circular products together: select spectral windows of one kind",
                       path);
    meta.products.push_back(static_cast<Product>(type));
  }
  for (casacore::rownr_t row = 0; row < table.nrow(); ++row) {
    if (types_of[row] == nullptr) continue;
    for (int type : types) {
      const auto at = std::find(types_of[row]->begin(), types_of[row]->end(), type);
      meta.data_descriptions[row].corr_of.push_back(
          at == types_of[row]->end() ? -1 : static_cast<int>(at - types_of[row]->begin()));
    }
  }
}

}  // namespace

namespace {
constexpr const char* kFrames[] = {"SOURCE",   "LSRK",     "LSRD",     "BARYCENT", "GEOCENTR",
                                   "TOPOCENT", "GALACTOC", "LOCALGRP", "CMBDIPOL"};
constexpr int kTopocentric = 5;
}  // namespace

std::string frequency_frame(int reference) {
  return kFrames[reference >= 0 && reference < static_cast<int>(std::size(kFrames)) ? reference
                                                                                    : kTopocentric];
}

int frequency_reference(const std::string& frame) {
  for (int i = 0; i < static_cast<int>(std::size(kFrames)); ++i)
    if (frame == kFrames[i]) return i;
  return kTopocentric;
}

casacore::Table ms_subtable(const casacore::Table& ms, const std::string& path, const std::string& name) {
  const casacore::TableRecord& keywords = ms.keywordSet();
  if (!keywords.isDefined(name) || keywords.dataType(name) != casacore::TpTable)
    throw DataError("{}: no subtable {}: not a complete Measurement Set version 2", path, name);
  return keywords.asTable(name);
}

MsMetadata read_ms_metadata(const casacore::Table& ms, const std::string& path,
                            const MsSelection& selection) {
  MsMetadata meta;
  meta.telescope = read_telescope(ms, path);
  meta.observer = read_observer(ms, path);
  meta.layout = read_antennas(ms, path);
  meta.layout.telescope = meta.telescope;
  meta.fields = read_ms_fields(ms, path, selection);
  for (int field : selection.fields)
    if (field < 0 || field >= static_cast<int>(meta.fields.size()))
      throw UsageError("{}: field {}: the set has {}", path, field, meta.fields.size());
  read_data_descriptions(meta, ms, path, selection);
  return meta;
}

}  // namespace apsyn
