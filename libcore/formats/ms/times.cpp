// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/times.h"

#include <casacore/measures/Measures/MCEpoch.h>
#include <casacore/measures/Measures/MeasConvert.h>
#include <casacore/tables/Tables/TableColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/measures/casacore_log.h"
#include "libcore/measures/coordinates.h"

namespace apsyn {

MsTimeScale::MsTimeScale(const casacore::Table& table, const std::string& column, const std::string& path) {
  const casacore::TableRecord& keywords = casacore::TableColumn(table, column).keywordSet();
  if (!keywords.isDefined("MEASINFO")) return;
  const casacore::TableRecord& info = keywords.subRecord("MEASINFO");
  if (info.isDefined("VarRefCol"))
    throw DataError(
        "{}: {}: MEASINFO has a time scale for each row (VarRefCol {}): rewrite the column in UTC", path,
        column, info.asString("VarRefCol"));
  if (!info.isDefined("Ref")) return;
  const casacore::String name = info.asString("Ref");
  const bool known = casacore::MEpoch::getType(type_, name);
  const bool atomic_or_solar = type_ == casacore::MEpoch::UT1 || type_ == casacore::MEpoch::UTC ||
                               type_ == casacore::MEpoch::TAI || type_ == casacore::MEpoch::TDT ||
                               type_ == casacore::MEpoch::TCG || type_ == casacore::MEpoch::TDB ||
                               type_ == casacore::MEpoch::TCB;
  if (!known || !atomic_or_solar)
    throw DataError(
        "{}: {}: time scale {} (MEASINFO): UTC, UT1, TAI, TT, TDB, TCG and TCB are read: rewrite the "
        "column in UTC",
        path, column, std::string(name));
}

void MsTimeScale::to_utc(casacore::Vector<double>& mjd_s) const {
  if (type_ == casacore::MEpoch::UTC || mjd_s.empty()) return;
  const std::lock_guard lock(casacore_measures_mutex());
  try {
    if (type_ == casacore::MEpoch::UT1) check_earth_orientation(mjd_s[0] / kSecondsPerDay);
    casacore::MEpoch::Convert convert(casacore::MEpoch(casacore::MVEpoch(0.0), type_), casacore::MEpoch::UTC);
    double last_s = NAN, offset_s = 0;
    for (double& time_s : mjd_s) {
      if (!std::isfinite(time_s)) continue;
      if (time_s != last_s) {
        // days and fractions apart, so that the difference keeps its digits
        const double day = std::floor(time_s / kSecondsPerDay),
                     fraction = (time_s - day * kSecondsPerDay) / kSecondsPerDay;
        const casacore::MVEpoch utc = convert(casacore::MVEpoch(day, fraction)).getValue();
        offset_s = (utc.getDay() - day + (utc.getDayFraction() - fraction)) * kSecondsPerDay;
        last_s = time_s;
      }
      time_s += offset_s;
    }
  } catch (const std::exception& error) {
    throw measures_failure(error);
  }
}

}  // namespace apsyn
