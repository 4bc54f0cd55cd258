// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of stations that are there, and those that are missing, malformed or empty.
#include "libcore/formats/ms/station_tables.h"

#include <casacore/casa/Arrays/Array.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/casa/Containers/Record.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/Measures/MeasureHolder.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/SetupNewTab.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/formats/ms/update.h"
#include "tests/libcore/aterms/beam/beam_sets.h"

using namespace apsyn;
using namespace beam_test;

BOOST_AUTO_TEST_SUITE(station_tables)

namespace {

void change(const std::string& path, const std::function<void(casacore::Table&)>& how) {
  casacore::Table table(path, casacore::Table::Update);
  how(table);
}

/// What reading says; empty when it is accepted.
std::string complaint(const std::function<void()>& read) {
  try {
    read();
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

void expect(const std::string& message, const char* first, const char* second) {
  BOOST_TEST(message.find(first) != std::string::npos, message);
  BOOST_TEST(message.find(second) != std::string::npos, message);
}

/// To CORRECTED_DATA.
void say_that_a_beam_was_applied(casacore::Table& ms) {
  casacore::TableRecord& keywords = casacore::TableColumn(ms, "CORRECTED_DATA").rwKeywordSet();
  keywords.define("LOFAR_APPLIED_BEAM_MODE", "Full");
  const casacore::MDirection there(casacore::Quantity(25, "deg"), casacore::Quantity(33.5, "deg"),
                                   casacore::MDirection::J2000);
  casacore::Record record;
  casacore::String why;
  casacore::MeasureHolder(there).toRecord(why, record);
  keywords.defineRecord("LOFAR_APPLIED_BEAM_DIR", record);
}

}  // namespace

BOOST_AUTO_TEST_CASE(lofar_has_its_tiles_and_flags) {
  const BeamSet set = lofar_set();
  const StationArray array = read_lofar_stations({{set.path}, "", {}});
  BOOST_TEST(array.stations.size() == 8u);
  BOOST_TEST(array.stations[0].name == "CS001HBA0");
  const StationField& field = array.stations[0].fields.at(0);
  BOOST_TEST(field.elements_m.size() == 48u);
  BOOST_TEST(field.tile_m.size() == 16u);
  BOOST_TEST(field.element == 1u);
  BOOST_TEST(!field.enabled[0][0]);
  BOOST_TEST(field.enabled[1][1]);
  BOOST_TEST(std::abs(field.elements_m[1][1] - 6.511999) < 1e-5);
  BOOST_TEST(std::abs(field.axes[2][0] - 0.598753) < 1e-5);  // the normal of Exloo
  BOOST_TEST(array.windows.at(0).reference_hz == 134375000.0);
  BOOST_TEST(std::abs(array.delay.ra_rad - 0.426246) < 1e-5);
}

BOOST_AUTO_TEST_CASE(oskar_has_its_elements_by_coordinate) {
  const BeamSet set = oskar_set();
  const StationArray array = read_oskar_stations({{set.path}, "", {}});
  BOOST_TEST(array.stations.size() == 4u);
  const StationField& field = array.stations[0].fields.at(0);
  BOOST_TEST(field.elements_m.size() == 256u);
  BOOST_TEST(field.enabled.size() == 256u);
  // All on one plane, the ground.
  for (const Vec3& element : field.elements_m) BOOST_TEST(std::abs(dot(element, field.axes[2])) < 0.5);
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_named) {
  const BeamSet set = lofar_set();
  const ArrayTables tables{{set.path}, "", {}};
  const auto read = [&] { read_lofar_stations(tables); };
  expect(complaint([&] { read_oskar_stations(tables); }), "PHASED_ARRAY", "OSKAR");
  change(set.path + "/LOFAR_ANTENNA_FIELD", [](auto& table) { table.renameColumn("OTHER", "ELEMENT_FLAG"); });
  expect(complaint(read), "LOFAR_ANTENNA_FIELD", "no column ELEMENT_FLAG");
  change(set.path + "/LOFAR_ANTENNA_FIELD", [](auto& table) { table.renameColumn("ELEMENT_FLAG", "OTHER"); });
  BOOST_TEST(complaint(read) == "");
  change(set.path + "/LOFAR_ANTENNA_FIELD", [](auto& table) {
    casacore::ArrayColumn<double>(table, "COORDINATE_AXES")
        .put(2, casacore::Array<double>(casacore::IPosition(2, 3, 3), 0.5));
  });
  expect(complaint(read), "LOFAR_ANTENNA_FIELD row 2", "right angles");
  change(set.path + "/LOFAR_ANTENNA_FIELD",
         [](auto& table) { casacore::ScalarColumn<casacore::Int>(table, "ANTENNA_ID").put(0, 100); });
  expect(complaint(read), "LOFAR_ANTENNA_FIELD row 0", "ANTENNA_ID 100");
  change(set.path + "/FIELD", [](auto& table) { table.renameColumn("OTHER", "LOFAR_TILE_BEAM_DIR"); });
  expect(complaint(read), "FIELD", "LOFAR_TILE_BEAM_DIR");
  change(set.path, [](auto& table) { table.rwKeywordSet().removeField("LOFAR_ANTENNA_FIELD"); });
  change(set.path + "/FIELD", [](auto& table) { table.renameColumn("LOFAR_TILE_BEAM_DIR", "OTHER"); });
  expect(complaint(read), "no subtable LOFAR_ANTENNA_FIELD", "copy the tables");
}

BOOST_AUTO_TEST_CASE(shapes_are_checked) {
  const BeamSet set = oskar_set();
  const ArrayTables tables{{set.path}, "", {}};
  change(set.path + "/PHASED_ARRAY", [](auto& table) {
    casacore::ArrayColumn<casacore::Bool>(table, "ELEMENT_FLAG")
        .put(1, casacore::Array<casacore::Bool>(casacore::IPosition(2, 255, 2), false));
  });
  expect(complaint([&] { read_oskar_stations(tables); }), "PHASED_ARRAY row 1", "two flags for each element");
  change(set.path + "/PHASED_ARRAY", [](auto& table) { table.removeRow(3); });
  expect(complaint([&] { read_oskar_stations(tables); }), "3 rows", "one for each antenna");
}

BOOST_AUTO_TEST_CASE(elements_that_are_all_flagged_have_no_beam) {
  const BeamSet set = oskar_set();
  change(set.path + "/PHASED_ARRAY", [](auto& table) {
    casacore::ArrayColumn<casacore::Bool> flags(table, "ELEMENT_FLAG");
    casacore::Array<casacore::Bool> all(flags(2).shape(), true);
    flags.put(2, all);
  });
  const auto model = set.open("beam.element_response_model = oskar_dipole");
  const auto j = towards(*model, 5279054405.0, 98.5e6, 330, -20);
  for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(std::abs(j(2, 0, 0, i)) == 0);
  BOOST_TEST(std::abs(j(1, 0, 0, 1)) > 0.5);
}

BOOST_AUTO_TEST_CASE(broken_elements_are_left_out) {
  const BeamSet set = lofar_set();
  change(set.path + "/LOFAR_ELEMENT_FAILURE", [](auto& table) {
    table.addRow(1);
    casacore::ScalarColumn<casacore::Int>(table, "ANTENNA_FIELD_ID").put(0, 1);
    casacore::ScalarColumn<casacore::Int>(table, "ELEMENT_INDEX").put(0, 3);
  });
  const StationArray array = read_lofar_stations({{set.path}, "", {}});
  BOOST_TEST(!array.stations[1].fields[0].enabled[3][0]);
  BOOST_TEST(array.stations[0].fields[0].enabled[3][0]);
}

BOOST_AUTO_TEST_CASE(sets_that_look_alike_share_their_stations) {
  const BeamSet set = lofar_set();
  const std::string other = set.folder.path + "/oskar-dev.ms";
  const std::string unpack =
      "tar -xzf '" APSYN_TEST_DATA "/oskar-dev.ms.tar.gz' -C '" + set.folder.path + "' 2>/dev/null";
  BOOST_REQUIRE(std::system(unpack.c_str()) == 0);
  const ArrayTables own{{set.path}, "DATA", {}};
  BOOST_TEST(same_pointing(own, own));
  BOOST_TEST(!same_pointing(own, {{other}, "DATA", {}}));
  BOOST_TEST(!same_pointing(own, {}));
  BOOST_TEST(same_pointing({}, {}));
  BOOST_TEST(read_lofar_stations({{set.path, other}, "", {}}).windows.size() == 2u);
}

BOOST_AUTO_TEST_CASE(delays_of_the_mwa_are_read) {
  const BeamSet set = oskar_set();
  BOOST_TEST(!read_ms_mwa_delays(set.path));
  change(set.path, [&](auto& ms) {
    casacore::TableDesc description("", "", casacore::TableDesc::Scratch);
    description.addColumn(casacore::ArrayColumnDesc<casacore::Int>("DELAYS"));
    casacore::SetupNewTable setup(set.path + "/MWA_TILE_POINTING", description, casacore::Table::New);
    casacore::Table table(setup, 1);
    casacore::Vector<casacore::Int> delays(16);
    for (int k = 0; k < 16; ++k) delays[static_cast<std::size_t>(k)] = k;
    casacore::ArrayColumn<casacore::Int>(table, "DELAYS").put(0, delays);
    table.flush();
    ms.rwKeywordSet().defineTable("MWA_TILE_POINTING", table);
  });
  const auto delays = read_ms_mwa_delays(set.path);
  BOOST_REQUIRE(delays.has_value());
  BOOST_TEST((*delays)[15] == 15);
  change(set.path + "/MWA_TILE_POINTING", [](auto& table) {
    casacore::ArrayColumn<casacore::Int>(table, "DELAYS").put(0, casacore::Vector<casacore::Int>(16, 33));
  });
  expect(complaint([&] { read_ms_mwa_delays(set.path); }), "MWA_TILE_POINTING", "33");
}

// What was applied to a column is taken off the beam; other columns keep it whole.
BOOST_AUTO_TEST_CASE(applied_beams_count) {
  const BeamSet set = lofar_set();
  change(set.path, say_that_a_beam_was_applied);
  const AppliedBeam applied = read_applied_beam(set.path, "CORRECTED_DATA");
  BOOST_TEST((applied.mode == AppliedBeam::Mode::full));
  BOOST_TEST(std::abs(applied.direction.ra_rad - 25 * kRadPerDeg) < 1e-9);
  BOOST_TEST((read_applied_beam(set.path, "DATA").mode == AppliedBeam::Mode::none));

  const double time_mjd_s = 4871282393.007, hz = 134288024.902;
  const auto at = [&](const std::string& text, const std::string& column, double ra_deg, double dec_deg) {
    return towards(*set.open("beam.update_interval = 0.001\n" + text, column), time_mjd_s, hz, ra_deg,
                   dec_deg);
  };
  const auto matrix = [](const auto& j, std::size_t station) {
    return Jones{j(station, 0, 0, 0), j(station, 0, 0, 1), j(station, 0, 0, 2), j(station, 0, 0, 3)};
  };
  const auto whole = at("", "DATA", 24, 33), there = at("", "DATA", 25, 33.5);
  const auto rest = at("", "CORRECTED_DATA", 24, 33);
  const auto unit = at("beam.beam_normalisation_mode = preapplied_or_full", "CORRECTED_DATA", 25, 33.5);
  const auto amplitude = at("beam.beam_normalisation_mode = amplitude", "CORRECTED_DATA", 24, 33);
  const auto factor = at("beam.beam_mode = array_factor", "DATA", 24, 33);
  const auto element = at("beam.beam_mode = element", "DATA", 24, 33);
  for (std::size_t station = 0; station < 8; ++station) {
    const Jones j0 = matrix(there, station);
    const Jones expected = product(inverse_or_zero(j0), matrix(whole, station));
    for (std::size_t i = 0; i < 4; ++i) {
      BOOST_TEST(std::abs(matrix(rest, station)[i] - expected[i]) < 1e-5);
      BOOST_TEST(std::abs(matrix(unit, station)[i] - kUnitJones[i]) < 1e-5);
      BOOST_TEST(std::abs(matrix(amplitude, station)[i] -
                          matrix(whole, station)[i] / std::sqrt(squared_norm(j0) / 2)) < 1e-5);
      BOOST_TEST(std::abs(product(matrix(factor, station), matrix(element, station))[i] -
                          matrix(whole, station)[i]) < 1e-5);
    }
  }
}

// Data that are written anew, for another phase centre, are seen through the same beam; joined ones, too,
// though a set before has not all of the stations.
BOOST_AUTO_TEST_CASE(a_copy_tells_the_same_of_its_stations) {
  const BeamSet set = lofar_set();
  const std::string other = set.path + "-other.ms";
  std::filesystem::copy(set.path, other, std::filesystem::copy_options::recursive);
  change(other + "/ANTENNA",
         [](auto& table) { casacore::ScalarColumn<casacore::String>(table, "NAME").put(0, "OTHER"); });
  change(set.path, say_that_a_beam_was_applied);
  const MeasurementSetReader reader(set.path, {});
  MsDescription description;
  description.layout = reader.layout();
  description.phase_centre = {1.5, -0.5};
  description.pointing = reader.fields().at(0).pointing;
  description.channel_hz = reader.spectral_windows().at(0).channel_hz;
  description.channel_width_hz = 1e3;
  description.products = reader.products();
  const std::string copy = set.path + "-copy.ms";
  {
    MeasurementSetWriter writer(copy, description, false);
    writer.add_subtables_of(other);
    writer.add_subtables_of(set.path, "CORRECTED_DATA");
    writer.commit();
  }
  const StationArray expected = read_lofar_stations({{set.path}, "", {}}),
                     found = read_lofar_stations({{copy}, "", {}});
  BOOST_TEST_REQUIRE(found.stations.size() == expected.stations.size());
  for (std::size_t i = 0; i < found.stations.size(); ++i) {
    BOOST_TEST(found.stations[i].name == expected.stations[i].name);
    BOOST_TEST((found.stations[i].phase_reference_m == expected.stations[i].phase_reference_m));
    BOOST_TEST((found.stations[i].fields.at(0).elements_m == expected.stations[i].fields.at(0).elements_m));
  }
  const auto same = [](const SkyDirection& a, const SkyDirection& b) {
    return std::abs(a.ra_rad - b.ra_rad) < 1e-14 && std::abs(a.dec_rad - b.dec_rad) < 1e-14;
  };
  BOOST_TEST(same(found.delay, expected.delay));
  BOOST_TEST(same(found.tile, expected.tile));
  BOOST_TEST(same(found.reference, expected.reference));
  BOOST_TEST(same(MeasurementSetReader(copy, {}).fields().at(0).phase_centre, description.phase_centre));

  const AppliedBeam applied = read_applied_beam(set.path, "CORRECTED_DATA");
  const auto has_it = [&](const std::string& path, const std::string& column) {
    const AppliedBeam own = read_applied_beam(path, column);
    return own.mode == applied.mode && same(own.direction, applied.direction);
  };
  BOOST_TEST(has_it(copy, "DATA"));
  casacore::Table ms(set.path, casacore::Table::Update);
  keep_open(ms);
  add_visibility_column(ms, set.path, "FURTHER", FluxUnit::jansky, "CORRECTED_DATA");
  add_visibility_column(ms, set.path, "PLAIN", FluxUnit::jansky, "DATA");
  BOOST_TEST(has_it(set.path, "FURTHER"));
  BOOST_TEST((read_applied_beam(set.path, "PLAIN").mode == AppliedBeam::Mode::none));
}

BOOST_AUTO_TEST_SUITE_END()
