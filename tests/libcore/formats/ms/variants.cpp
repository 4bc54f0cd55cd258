// SPDX-License-Identifier: GPL-3.0-or-later
// Sets that MeasurementSetWriter does not make: several windows and fields, flags, row weights.
#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/Tables/ArrColDesc.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <map>
#include <tuple>

#include "libcore/base/error.h"
#include "tests/libcore/formats/ms/ms_observation.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(variants)

namespace {

/// A second spectral window, 2 channels at 200 MHz, for every odd row, and a second field for interval 1.
void add_window_and_field(const std::string& path) {
  casacore::Table windows = repeat_row(edit(path + "/SPECTRAL_WINDOW"));
  casacore::ArrayColumn<double>(windows, "CHAN_FREQ").put(1, casacore::Vector<double>(4, 200e6));
  casacore::Table descriptions = repeat_row(edit(path + "/DATA_DESCRIPTION"));
  casacore::ScalarColumn<casacore::Int>(descriptions, "SPECTRAL_WINDOW_ID").put(1, 1);
  casacore::Table fields = repeat_row(edit(path + "/FIELD"));
  casacore::ScalarColumn<casacore::String>(fields, "NAME").put(1, "second");
  casacore::Table main = edit(path);
  casacore::ScalarColumn<casacore::Int> description(main, "DATA_DESC_ID"), field(main, "FIELD_ID");
  for (casacore::rownr_t row = 0; row < main.nrow(); ++row) {
    description.put(row, static_cast<int>(row % 2));
    field.put(row, row / 6 == 1);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_tables_hold_what_other_programs_read) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  Observation observation(ms_description(), 2);
  observation.weight(0, 1, 2, 3) = 0;
  for (int c = 0; c < 4; ++c)
    for (int p = 0; p < 4; ++p) observation.weight(1, 2, c, p) = 0;
  observation.write(path);
  const casacore::Table main(path);
  BOOST_TEST(main.keywordSet().asFloat("MS_VERSION") == 2.0f);
  for (const char* name :
       {"ANTENNA", "DATA_DESCRIPTION", "FEED", "FIELD", "FLAG_CMD", "HISTORY", "OBSERVATION", "POINTING",
        "POLARIZATION", "PROCESSOR", "SPECTRAL_WINDOW", "STATE"})
    BOOST_TEST(main.keywordSet().isDefined(name), name);
  const auto reference = [](const casacore::Table& table, const char* column) {
    return std::string(
        casacore::TableColumn(table, column).keywordSet().subRecord("MEASINFO").asString("Ref"));
  };
  BOOST_TEST(reference(main, "TIME") == "UTC");
  BOOST_TEST(reference(main, "UVW") == "J2000");
  const casacore::Matrix<casacore::Bool> flag = casacore::ArrayColumn<casacore::Bool>(main, "FLAG")(1);
  BOOST_TEST((flag(3, 2) && !flag(2, 2)));
  const casacore::ScalarColumn<casacore::Bool> flag_row(main, "FLAG_ROW");
  const casacore::Vector<float> weight = casacore::ArrayColumn<float>(main, "WEIGHT")(1);
  const casacore::Vector<float> sigma = casacore::ArrayColumn<float>(main, "SIGMA")(1);
  double sum = 0;
  for (int c : {0, 1, 3}) sum += static_cast<double>(observation.weight(0, 1, c, 3));
  BOOST_TEST(weight[3] == static_cast<float>(sum / 3), boost::test_tools::tolerance(1e-6f));
  BOOST_TEST(sigma[3] * sigma[3] * weight[3] == 1.0f, boost::test_tools::tolerance(1e-5f));
  for (casacore::rownr_t row = 0; row < 12; ++row) BOOST_TEST(flag_row(row) == (row == 8));

  const casacore::Table window(path + "/SPECTRAL_WINDOW"), feed(path + "/FEED"), history(path + "/HISTORY"),
      field(path + "/FIELD"), observations(path + "/OBSERVATION"), polarization(path + "/POLARIZATION");
  BOOST_TEST(casacore::ScalarColumn<casacore::Int>(window, "MEAS_FREQ_REF")(0) == 5);
  BOOST_TEST(casacore::ScalarColumn<double>(window, "TOTAL_BANDWIDTH")(0) == 40e3);
  BOOST_TEST(feed.nrow() == 3u);
  const casacore::Vector<casacore::String> receptors =
      casacore::ArrayColumn<casacore::String>(feed, "POLARIZATION_TYPE")(2);
  BOOST_TEST((receptors[0] == "X" && receptors[1] == "Y"));
  BOOST_TEST(history.nrow() == 2u);
  BOOST_TEST(std::string(casacore::ScalarColumn<casacore::String>(history, "MESSAGE")(1)) == "-o x.ms");
  BOOST_TEST(reference(field, "PHASE_DIR") == "J2000");
  const casacore::Vector<double> span = casacore::ArrayColumn<double>(observations, "TIME_RANGE")(0);
  BOOST_TEST(span[0] == observation.time_s(0) - 1);
  BOOST_TEST(span[1] == observation.time_s(1) + 1);
  const casacore::Matrix<casacore::Int> pairs =
      casacore::ArrayColumn<casacore::Int>(polarization, "CORR_PRODUCT")(0);
  BOOST_TEST((pairs(0, 1) == 0 && pairs(1, 1) == 1 && pairs(0, 2) == 1 && pairs(1, 2) == 0));
}

/// What the reader makes of a keyword of DATA: the keyword that casacore's tables have, and an older one.
BOOST_AUTO_TEST_CASE(data_are_in_the_unit_that_their_column_says) {
  ScratchFolder folder;
  const std::string path = folder / "units.ms";
  const auto unit = [&] { return MeasurementSetReader(path, {}).flux_unit(); };
  for (const FluxUnit written : {FluxUnit::adu, FluxUnit::jansky}) {
    MsDescription description = ms_description();
    description.flux_unit = written;
    std::filesystem::remove_all(path);
    Observation(description, 1).write(path);
    const casacore::Table main(path);
    const casacore::Array<casacore::String> keyword =
        casacore::TableColumn(main, "DATA").keywordSet().asArrayString("QuantumUnits");
    BOOST_TEST(keyword.size() == 1u);
    BOOST_TEST(std::string(*keyword.begin()) == (written == FluxUnit::adu ? "adu" : "Jy"));
    BOOST_TEST((unit() == written));
  }
  const auto say = [&](const char* name, const char* text) {
    casacore::Table main(path, casacore::Table::Update);
    casacore::TableRecord& keywords = casacore::TableColumn(main, "DATA").rwKeywordSet();
    for (const char* known : {"QuantumUnits", "UNIT"})
      if (keywords.isDefined(known)) keywords.removeField(known);
    if (std::string(name) == "UNIT")
      keywords.define(name, casacore::String(text));
    else if (*name != 0)
      keywords.define(name, casacore::Vector<casacore::String>(1, text));
  };
  const std::tuple<const char*, const char*, FluxUnit> cases[] = {
      {"", "", FluxUnit::jansky},
      {"UNIT", "adu", FluxUnit::adu},
      {"UNIT", "Jy", FluxUnit::jansky},
      {"UNIT", "", FluxUnit::jansky},
      {"QuantumUnits", "ADU", FluxUnit::adu},
      {"UNIT", "K", FluxUnit::jansky},
      {"QuantumUnits", "UNCALIB", FluxUnit::jansky}};
  for (const auto& [name, text, expected] : cases) {
    say(name, text);
    BOOST_TEST((unit() == expected), name << " " << text);
  }
}

BOOST_AUTO_TEST_CASE(windows_and_fields_are_told_apart) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  const Observation observation(ms_description(), 3);
  observation.write(path);
  add_window_and_field(path);
  for (const std::vector<int>& spws : {std::vector<int>{}, {0}, {1}})
    for (const std::vector<int>& fields : {std::vector<int>{}, {1}}) {
      MsSelection selection;
      selection.autos = true;
      selection.spws = spws;
      selection.fields = fields;
      MeasurementSetReader reader(path, selection);
      BOOST_TEST(reader.spectral_windows().size() == (spws.empty() ? 2u : 1u));
      BOOST_TEST(reader.spectral_windows().back().channel_hz[0] == (spws == std::vector{0} ? 150e6 : 200e6));
      BOOST_TEST(reader.fields().size() == 2u);
      std::map<std::int64_t, int> seen;
      MsRows rows;
      while (reader.read(rows, 5))
        for (std::size_t i = 0; i < rows.ant1.size(); ++i) {
          const std::int64_t row = rows.row_number[i];
          ++seen[row];
          const int spw = static_cast<int>(row % 2);
          BOOST_TEST(rows.spw == (spws.empty() ? spw : 0));
          BOOST_TEST((spws.empty() || spws[0] == spw));
          BOOST_TEST(rows.field[i] == (row / 6 == 1));
          BOOST_TEST((rows.data(i, 3, 1) == observation.data(row / 6, row % 6, 3, 1)));
          BOOST_TEST(rows.uvw_m(i, 1) == observation.uvw_m(row / 6, row % 6, 1));
          BOOST_TEST(rows.ant2[i] == observation.baselines[row % 6].ant2);
        }
      BOOST_TEST(seen.size() == (spws.empty() ? 2u : 1u) * (fields.empty() ? 9u : 3u));
      BOOST_TEST(reader.n_rows() == static_cast<std::int64_t>(seen.size()));
      for (const auto& [row, times] : seen) BOOST_TEST(times == 1);
    }
}

BOOST_AUTO_TEST_CASE(what_no_row_has_is_of_no_account) {
  // A set that was split off another one: its rows have the last of two windows, polarisations and fields.
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  Observation(ms_description(), 2).write(path);
  casacore::Table windows = repeat_row(edit(path + "/SPECTRAL_WINDOW"));
  casacore::ArrayColumn<double>(windows, "CHAN_FREQ").put(0, casacore::Vector<double>(4, 200e6));
  casacore::ScalarColumn<casacore::Int>(windows, "MEAS_FREQ_REF").put(0, 1);
  casacore::Table polarizations = repeat_row(edit(path + "/POLARIZATION"));
  casacore::Vector<casacore::Int> circular(4);
  for (int i = 0; i < 4; ++i) circular[static_cast<std::size_t>(i)] = 5 + i;
  casacore::ArrayColumn<casacore::Int>(polarizations, "CORR_TYPE").put(0, circular);
  casacore::Table descriptions = repeat_row(edit(path + "/DATA_DESCRIPTION"));
  casacore::ScalarColumn<casacore::Int>(descriptions, "SPECTRAL_WINDOW_ID").put(1, 1);
  casacore::ScalarColumn<casacore::Int>(descriptions, "POLARIZATION_ID").put(1, 1);
  casacore::Table fields = repeat_row(edit(path + "/FIELD"));
  casacore::Table main = edit(path);
  casacore::ScalarColumn<casacore::Int>(main, "DATA_DESC_ID").fillColumn(1);
  casacore::ScalarColumn<casacore::Int>(main, "FIELD_ID").fillColumn(1);
  for (casacore::Table* table : {&windows, &polarizations, &descriptions, &fields, &main}) table->flush();

  const MeasurementSetReader all(path, {});
  BOOST_REQUIRE(all.spectral_windows().size() == 1u);
  BOOST_TEST(all.spectral_windows()[0].frame == "TOPOCENT");
  BOOST_TEST(all.spectral_windows()[0].channel_hz[0] == 150e6);
  BOOST_TEST((all.products() == ms_description().products));
  BOOST_TEST(all.fields_with_rows() == std::vector{1});
  BOOST_TEST(all.fields().size() == 2u);
  // Where nothing is left, what is described stands.
  MsSelection other;
  other.spws = {0};
  const MeasurementSetReader none(path, other);
  BOOST_TEST(none.n_rows() == 0);
  BOOST_TEST(none.fields_with_rows().empty());
  BOOST_TEST((none.products()[0] == Product::RR));
  // A field that has rows of one window alone.
  casacore::ScalarColumn<casacore::Int>(main, "FIELD_ID").put(0, 0);
  casacore::ScalarColumn<casacore::Int>(main, "DATA_DESC_ID").put(0, 0);
  main.flush();
  MsSelection first;
  first.fields = {0};
  BOOST_TEST(MeasurementSetReader(path, first).spectral_windows()[0].channel_hz[0] == 200e6);
  BOOST_TEST(MeasurementSetReader(path, first).spectral_windows()[0].frame == "LSRK");
  BOOST_CHECK_THROW(MeasurementSetReader(path, {}), UsageError);  // linear and circular products together
}

BOOST_AUTO_TEST_CASE(a_planet_does_no_harm_beside_the_selected_field) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  Observation(ms_description(), 1).write(path);
  casacore::Table fields = repeat_row(edit(path + "/FIELD"));
  casacore::TableRecord& keywords = casacore::TableColumn(fields, "PHASE_DIR").rwKeywordSet();
  casacore::Record reference = keywords.subRecord("MEASINFO");
  reference.define("VarRefCol", "NAME");
  keywords.defineRecord("MEASINFO", reference);
  casacore::ScalarColumn<casacore::String> name(fields, "NAME");
  name.put(0, "J2000");
  name.put(1, "JUPITER");
  fields.flush();
  MsSelection first;
  first.fields = {0};
  const MeasurementSetReader reader(path, first);
  BOOST_TEST(reader.fields()[0].phase_centre.dec_rad == ms_description().phase_centre.dec_rad,
             boost::test_tools::tolerance(1e-15));
  BOOST_CHECK_EXCEPTION(MeasurementSetReader(path, {}), DataError, [](const DataError& error) {
    return std::string(error.what()).find("JUPITER: only J2000") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(times_of_other_scales_become_utc) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  const Observation observation(ms_description(), 3);
  observation.write(path);
  const auto refer_to = [&](const char* key, const char* scale) {
    casacore::Table main = edit(path);
    casacore::TableRecord& keywords = casacore::TableColumn(main, "TIME").rwKeywordSet();
    casacore::Record info = keywords.subRecord("MEASINFO");
    info.define(key, scale);
    keywords.defineRecord("MEASINFO", info);
  };
  MsSelection selection;
  selection.first_interval = 1;
  // In June 2020 atomic time was 37 s ahead, terrestrial time 32.184 s more. Rounding: 2^-20 s.
  for (const auto& [scale, ahead_s] :
       {std::pair{"UTC", 0.0}, {"TAI", 37.0}, {"IAT", 37.0}, {"TDT", 69.184}, {"TT", 69.184}}) {
    refer_to("Ref", scale);
    MeasurementSetReader reader(path, selection);
    BOOST_TEST(std::abs(reader.first_time_mjd_s() - (observation.time_s(1) - ahead_s)) <= 0x1p-20);
    BOOST_TEST(std::abs(reader.last_time_mjd_s() - (observation.time_s(2) - ahead_s)) <= 0x1p-20);
    MsRows rows;
    std::size_t n_rows = 0;
    for (; reader.read(rows, 100); n_rows += rows.ant1.size())
      for (std::size_t i = 0; i < rows.ant1.size(); ++i) {
        const std::size_t t = static_cast<std::size_t>(rows.row_number[i]) / observation.baselines.size();
        BOOST_TEST(std::abs(rows.time_mjd_s[i] - (observation.time_s(t) - ahead_s)) <= 0x1p-20);
      }
    BOOST_TEST(n_rows == 6u);
  }
  // UT1 is kept within 0.9 s of UTC, TDB within 2 ms of TT.
  refer_to("Ref", "UT1");
  BOOST_TEST(std::abs(MeasurementSetReader(path, {}).first_time_mjd_s() - observation.time_s(0)) < 0.9);
  refer_to("Ref", "TDB");
  BOOST_TEST(std::abs(MeasurementSetReader(path, {}).first_time_mjd_s() - observation.time_s(0) + 69.184) <
             2e-3);
  for (const char* scale : {"LAST", "GMST1", "tea-time"}) {
    refer_to("Ref", scale);
    BOOST_CHECK_EXCEPTION(MeasurementSetReader(path, {}), DataError, [&](const DataError& error) {
      return std::string(error.what()).find(std::string("time scale ") + scale) != std::string::npos;
    });
  }
  refer_to("Ref", "UTC");
  refer_to("VarRefCol", "TIME_REF");
  BOOST_CHECK_THROW(MeasurementSetReader(path, {}), DataError);
}

BOOST_AUTO_TEST_CASE(apparent_directions_become_those_of_j2000) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  const Observation observation(ms_description(), 1);
  observation.write(path);
  casacore::Table fields = edit(path + "/FIELD");
  casacore::TableRecord& keywords = casacore::TableColumn(fields, "PHASE_DIR").rwKeywordSet();
  casacore::Record info = keywords.subRecord("MEASINFO");
  info.define("Ref", "APP");
  keywords.defineRecord("MEASINFO", info);
  casacore::Matrix<double> direction(2, 1);
  // 350, -30 degrees at the time of the first row by ERFA: eraAtci13, and its equation of the origins
  direction(0, 0) = 6.113382157089481;
  direction(1, 0) = -0.521618894261907;
  casacore::ArrayColumn<double>(fields, "PHASE_DIR").put(0, direction);
  for (const double field_time_s : {observation.time_s(0), 0.0}) {  // 0: the row tells it
    casacore::ScalarColumn<double>(fields, "TIME").put(0, field_time_s);
    fields.flush();
    const SkyDirection centre = MeasurementSetReader(path, {}).fields()[0].phase_centre;
    BOOST_TEST(std::abs(centre.ra_rad - 350 * kRadPerDeg) < 1e-8);
    BOOST_TEST(std::abs(centre.dec_rad + 30 * kRadPerDeg) < 1e-8);
  }
}

BOOST_AUTO_TEST_CASE(flags_and_row_weights_fold_into_the_weight) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  const Observation observation(ms_description(), 1);
  observation.write(path);
  {
    casacore::Table main = edit(path);
    casacore::ArrayColumn<casacore::Bool> flag(main, "FLAG");
    casacore::Matrix<casacore::Bool> cell = flag(1);
    cell(2, 3) = true;
    flag.put(1, cell);
    casacore::ScalarColumn<casacore::Bool>(main, "FLAG_ROW").put(2, true);
    casacore::ArrayColumn<double>(main, "UVW")
        .put(4, casacore::Vector<double>(3, std::numeric_limits<double>::quiet_NaN()));
  }
  const auto weights_of = [&] {
    MsRows rows;
    MsSelection selection;
    selection.autos = true;
    MeasurementSetReader(path, selection).read(rows, 100);
    BOOST_REQUIRE(rows.weight.extent(0) == 6u);
    BOOST_TEST(rows.weight(1, 3, 2) == 0);
    BOOST_TEST((rows.data(1, 3, 2) == std::complex<float>{}));
    for (int c = 0; c < 4; ++c)
      for (int p = 0; p < 4; ++p) {
        BOOST_TEST(rows.weight(2, c, p) == 0);  // FLAG_ROW
        BOOST_TEST(rows.weight(4, c, p) == 0);  // no uvw
      }
    for (int k = 0; k < 3; ++k) BOOST_TEST(rows.uvw_m(4, k) == 0);
    return rows;
  };
  MsRows rows = weights_of();
  BOOST_TEST(rows.weight(1, 3, 1) == observation.weight(0, 1, 3, 1));
  {
    casacore::Table main = edit(path);
    main.removeColumn("WEIGHT_SPECTRUM");
    casacore::Vector<float> weight(4);
    weight[0] = 7, weight[1] = -1, weight[2] = 9, weight[3] = std::numeric_limits<float>::infinity();
    casacore::ArrayColumn<float>(main, "WEIGHT").put(1, weight);
  }
  rows = weights_of();
  for (int c = 0; c < 4; ++c) {
    BOOST_TEST(rows.weight(1, c, 0) == 7);
    BOOST_TEST(rows.weight(1, c, 1) == 0);
    BOOST_TEST(rows.weight(1, c, 2) == (c == 3 ? 0 : 9));
    BOOST_TEST(rows.weight(1, c, 3) == 0);
  }
}

BOOST_AUTO_TEST_CASE(weight_spectrum_without_cells_leaves_the_row_weight) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  Observation(ms_description(), 1).write(path);
  {
    casacore::Table main = edit(path);
    main.removeColumn("WEIGHT_SPECTRUM");
    main.addColumn(casacore::ArrayColumnDesc<float>("WEIGHT_SPECTRUM", 2));
    casacore::ArrayColumn<float>(main, "WEIGHT").put(1, casacore::Vector<float>(4, 3.0f));
  }
  MsRows rows;
  BOOST_REQUIRE(MeasurementSetReader(path, {}).read(rows, 100));
  BOOST_TEST(rows.weight(0, 2, 1) == 3.0f);
}

BOOST_AUTO_TEST_SUITE_END()
