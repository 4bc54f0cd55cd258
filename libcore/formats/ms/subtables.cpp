// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/subtables.h"

#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/ms/MeasurementSets/MSColumns.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/SetupNewTab.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/formats/ms/metadata.h"
#include "libcore/visibility/stokes.h"

namespace apsyn {
namespace {

using casacore::Matrix;
using casacore::String;
using casacore::Vector;

constexpr double kAllTime_s = 1e30;  ///< INTERVAL of what never changes

Vector<double> vector_of(const std::vector<double>& values) {
  return Vector<double>(values);
}
Vector<double> vector_of(const Vec3& values) {
  Vector<double> result(3);
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

void fill_antennas(casacore::MSAntenna& table, const ArrayLayout& layout) {
  casacore::MSAntennaColumns columns(table);
  table.addRow(layout.antennas.size());
  for (std::size_t i = 0; i < layout.antennas.size(); ++i) {
    const Antenna& antenna = layout.antennas[i];
    const std::string name = antenna.name.empty() ? std::to_string(i) : antenna.name;
    columns.name().put(i, name);
    columns.station().put(i, name);
    columns.type().put(i, "GROUND-BASED");
    columns.mount().put(i, antenna.mount);
    columns.position().put(i, vector_of(geocentric_from_enu(*layout.site, antenna.enu_m)));
    columns.offset().put(i, Vector<double>(3, 0.0));
    columns.dishDiameter().put(i, antenna.dish_diameter_m);
    columns.flagRow().put(i, antenna.flagged);
  }
}

/// The two receptors that the products name.
Vector<String> receptors(const std::vector<Product>& products) {
  const bool circular = are_circular(products);
  Vector<String> types(2);
  types[0] = circular ? "R" : "X";
  types[1] = circular ? "L" : "Y";
  return types;
}

void fill_feeds(casacore::MSFeed& table, std::size_t n_ant, const std::vector<Product>& products) {
  casacore::MSFeedColumns columns(table);
  table.addRow(n_ant);
  Matrix<casacore::Complex> response(2, 2, casacore::Complex(0, 0));
  response(0, 0) = response(1, 1) = casacore::Complex(1, 0);
  for (std::size_t i = 0; i < n_ant; ++i) {
    columns.antennaId().put(i, static_cast<int>(i));
    columns.feedId().put(i, 0);
    columns.spectralWindowId().put(i, -1);
    columns.time().put(i, 0.0);
    columns.interval().put(i, kAllTime_s);
    columns.numReceptors().put(i, 2);
    columns.beamId().put(i, -1);
    columns.beamOffset().put(i, Matrix<double>(2, 2, 0.0));
    columns.polarizationType().put(i, receptors(products));
    columns.polResponse().put(i, response);
    columns.position().put(i, Vector<double>(3, 0.0));
    columns.receptorAngle().put(i, Vector<double>(2, 0.0));
  }
}

void fill_fields(casacore::MSField& table, const MsDescription& description) {
  std::vector<MsField> fields{{description.source, description.phase_centre, description.pointing}};
  fields.insert(fields.end(), description.more_fields.begin(), description.more_fields.end());
  casacore::MSFieldColumns columns(table);
  table.addRow(fields.size());
  const auto cell = [](const SkyDirection& direction) {
    Matrix<double> values(2, 1);
    values(0, 0) = direction.ra_rad;
    values(1, 0) = direction.dec_rad;
    return values;
  };
  casacore::ArrayColumn<double> tile;
  if (std::any_of(fields.begin(), fields.end(), [](const MsField& field) { return field.pointing.tile; })) {
    casacore::ArrayColumnDesc<double> desc("LOFAR_TILE_BEAM_DIR", "", casacore::IPosition(1, 2),
                                           casacore::ColumnDesc::Direct | casacore::ColumnDesc::FixedShape);
    desc.rwKeywordSet().define("QuantumUnits", Vector<String>(2, "rad"));
    casacore::TableRecord measure;
    measure.define("type", "direction");
    measure.define("Ref", "J2000");
    desc.rwKeywordSet().defineRecord("MEASINFO", measure);
    table.addColumn(desc);
    tile.attach(table, "LOFAR_TILE_BEAM_DIR");
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const SkyDirection& centre = fields[i].phase_centre;
    const MsPointing& pointing = fields[i].pointing;
    columns.name().put(i, fields[i].name);
    columns.code().put(i, "");
    columns.time().put(i, 0.0);
    columns.numPoly().put(i, 0);
    columns.delayDir().put(i, cell(pointing.delay.value_or(centre)));
    columns.phaseDir().put(i, cell(centre));
    columns.referenceDir().put(i, cell(pointing.reference.value_or(centre)));
    if (!tile.isNull()) {
      const SkyDirection at = pointing.tile.value_or(pointing.delay.value_or(centre));
      Vector<double> values(2);
      values[0] = at.ra_rad;
      values[1] = at.dec_rad;
      tile.put(i, values);
    }
    columns.sourceId().put(i, -1);
    columns.flagRow().put(i, false);
  }
}

void fill_spectral_windows(casacore::MSSpectralWindow& table, const MsDescription& description) {
  const std::size_t n_chan = description.channel_hz.size();
  std::vector<MsSpectralWindow> windows{
      {description.channel_hz, description.channel_widths_hz, description.window_name, description.frame}};
  if (windows[0].width_hz.empty()) windows[0].width_hz.assign(n_chan, description.channel_width_hz);
  windows.insert(windows.end(), description.more_windows.begin(), description.more_windows.end());
  casacore::MSSpWindowColumns columns(table);
  table.addRow(windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const std::vector<double>& channel_hz = windows[i].channel_hz;
    const bool descending = n_chan > 1 && channel_hz[1] < channel_hz[0];
    const Vector<double> widths = vector_of(windows[i].width_hz);
    Vector<double> signed_widths(widths.copy());
    double total_hz = 0;
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      total_hz += widths[chan];
      if (descending) signed_widths[chan] = -widths[chan];
    }
    columns.numChan().put(i, static_cast<int>(n_chan));
    columns.name().put(i, windows[i].name.empty() ? "band" + std::to_string(i) : windows[i].name);
    columns.refFrequency().put(i, channel_hz.front());
    columns.chanFreq().put(i, vector_of(channel_hz));
    columns.chanWidth().put(i, signed_widths);
    columns.effectiveBW().put(i, widths);
    columns.resolution().put(i, widths);
    columns.totalBandwidth().put(i, total_hz);
    columns.measFreqRef().put(i, frequency_reference(windows[i].frame));
    columns.netSideband().put(i, descending ? -1 : 1);
    columns.ifConvChain().put(i, 0);
    columns.freqGroup().put(i, 0);
    columns.freqGroupName().put(i, "");
    columns.flagRow().put(i, false);
  }
}

/// The receptors (0 or 1) that a product takes from the first and the second antenna.
std::pair<int, int> receptor_pair(Product product) {
  switch (product) {
    case Product::XY:
    case Product::RL:
      return {0, 1};
    case Product::YX:
    case Product::LR:
      return {1, 0};
    case Product::YY:
    case Product::LL:
      return {1, 1};
    default:
      return {0, 0};
  }
}

void fill_polarization(casacore::MSPolarization& table, const std::vector<Product>& products) {
  casacore::MSPolarizationColumns columns(table);
  table.addRow();
  Vector<int> types(products.size());
  Matrix<int> pairs(2, products.size());
  for (std::size_t i = 0; i < products.size(); ++i) {
    types[i] = static_cast<int>(products[i]);
    std::tie(pairs(0, i), pairs(1, i)) = receptor_pair(products[i]);
  }
  columns.numCorr().put(0, static_cast<int>(products.size()));
  columns.corrType().put(0, types);
  columns.corrProduct().put(0, pairs);
  columns.flagRow().put(0, false);
}

void fill_small_tables(casacore::MeasurementSet& ms, const MsDescription& description) {
  const std::size_t n_window = 1 + description.more_windows.size();
  ms.dataDescription().addRow(n_window);
  casacore::MSDataDescColumns data_description(ms.dataDescription());
  for (std::size_t i = 0; i < n_window; ++i) {
    data_description.spectralWindowId().put(i, static_cast<int>(i));
    data_description.polarizationId().put(i, 0);
    data_description.flagRow().put(i, false);
  }

  ms.processor().addRow();
  casacore::MSProcessorColumns processor(ms.processor());
  processor.type().put(0, "CORRELATOR");
  processor.subType().put(0, "");
  processor.typeId().put(0, -1);
  processor.modeId().put(0, -1);
  processor.flagRow().put(0, false);

  ms.state().addRow();
  casacore::MSStateColumns state(ms.state());
  state.sig().put(0, true);
  state.ref().put(0, false);
  state.cal().put(0, 0.0);
  state.load().put(0, 0.0);
  state.subScan().put(0, 0);
  state.obsMode().put(0, "OBSERVE_TARGET.ON_SOURCE");
  state.flagRow().put(0, false);

  ms.observation().addRow();
  casacore::MSObservationColumns observation(ms.observation());
  observation.telescopeName().put(0, description.telescope);
  observation.observer().put(0, description.observer);
  observation.log().put(0, Vector<String>(1, ""));
  observation.scheduleType().put(0, "");
  observation.schedule().put(0, Vector<String>(1, ""));
  observation.project().put(0, "");
  observation.releaseDate().put(0, 0.0);
  observation.timeRange().put(0, Vector<double>(2, 0.0));
  observation.flagRow().put(0, false);
}

/// casacore stores arrays of any shape with padding that it does not set; arrays of one shape go directly
/// into the rows, and a rerun gives the same bytes.
void fix_shape(casacore::TableDesc& desc, const String& column, const casacore::IPosition& shape) {
  casacore::ColumnDesc& description = desc.rwColumnDesc(column);
  description.setOptions(0);
  description.setShape(shape);
  description.setOptions(casacore::ColumnDesc::Direct | casacore::ColumnDesc::FixedShape);
}

casacore::TableDesc feed_desc() {
  casacore::TableDesc desc = casacore::MSFeed::requiredTableDesc();
  for (const char* column : {"BEAM_OFFSET", "POL_RESPONSE"})
    fix_shape(desc, column, casacore::IPosition(2, 2, 2));
  return desc;
}
casacore::TableDesc field_desc() {
  casacore::TableDesc desc = casacore::MSField::requiredTableDesc();
  for (const char* column : {"DELAY_DIR", "PHASE_DIR", "REFERENCE_DIR"})
    fix_shape(desc, column, casacore::IPosition(2, 2, 1));
  return desc;
}

}  // namespace

void create_subtables(casacore::MeasurementSet& ms) {
  const std::pair<casacore::MS::PredefinedKeywords, casacore::TableDesc> subtables[] = {
      {casacore::MS::ANTENNA, casacore::MSAntenna::requiredTableDesc()},
      {casacore::MS::DATA_DESCRIPTION, casacore::MSDataDescription::requiredTableDesc()},
      {casacore::MS::FEED, feed_desc()},
      {casacore::MS::FIELD, field_desc()},
      {casacore::MS::FLAG_CMD, casacore::MSFlagCmd::requiredTableDesc()},
      {casacore::MS::HISTORY, casacore::MSHistory::requiredTableDesc()},
      {casacore::MS::OBSERVATION, casacore::MSObservation::requiredTableDesc()},
      {casacore::MS::POINTING, casacore::MSPointing::requiredTableDesc()},
      {casacore::MS::POLARIZATION, casacore::MSPolarization::requiredTableDesc()},
      {casacore::MS::PROCESSOR, casacore::MSProcessor::requiredTableDesc()},
      {casacore::MS::SPECTRAL_WINDOW, casacore::MSSpectralWindow::requiredTableDesc()},
      {casacore::MS::STATE, casacore::MSState::requiredTableDesc()}};
  for (const auto& [keyword, desc] : subtables) {
    const String name = casacore::MS::keywordName(keyword);
    casacore::SetupNewTable setup(ms.tableName() + "/" + name, desc, casacore::Table::New);
    casacore::Table table(setup);
    table.markForDelete();  // until MeasurementSetWriter::commit
    ms.rwKeywordSet().defineTable(name, table);
  }
  ms.initRefs();
}

void fill_subtables(casacore::MeasurementSet& ms, const MsDescription& description) {
  fill_antennas(ms.antenna(), description.layout);
  fill_feeds(ms.feed(), description.layout.antennas.size(), description.products);
  fill_fields(ms.field(), description);
  fill_spectral_windows(ms.spectralWindow(), description);
  fill_polarization(ms.polarization(), description.products);
  fill_small_tables(ms, description);
}

void fill_times_and_history(casacore::MeasurementSet& ms, const MsDescription& description,
                            const MsTimeRange& range) {
  Vector<double> span(2);
  span[0] = range.first_s;
  span[1] = range.last_s;
  casacore::MSObservationColumns(ms.observation()).timeRange().put(0, span);
  for (casacore::rownr_t row = 0; row < ms.field().nrow(); ++row)
    casacore::MSFieldColumns(ms.field()).time().put(row, range.first_s);

  append_history(ms.history(), description.history, range.last_s);
}

void append_history(casacore::MSHistory& table, const std::vector<std::string>& lines, double time_s) {
  casacore::MSHistoryColumns columns(table);
  casacore::rownr_t row = table.nrow();
  table.addRow(lines.size());
  for (const std::string& line : lines) {
    columns.time().put(row, time_s);
    columns.observationId().put(row, 0);
    columns.message().put(row, line);
    columns.priority().put(row, "INFO");
    columns.origin().put(row, "apsyn");
    columns.objectId().put(row, 0);
    columns.application().put(row, "apsyn");
    columns.cliCommand().put(row, Vector<String>(1, line));
    columns.appParams().put(row, Vector<String>(1, ""));
    ++row;
  }
}

}  // namespace apsyn
