// SPDX-License-Identifier: GPL-3.0-or-later
// Times of a Measurement Set's columns as UTC, whatever scale MEASINFO says they are in. For
// libcore/formats/ms only.
#pragma once

#include <casacore/casa/Arrays/Vector.h>
#include <casacore/measures/Measures/MEpoch.h>
#include <casacore/tables/Tables/Table.h>

#include <string>

namespace apsyn {

class MsTimeScale {
 public:
  /// UTC if the column names no reference. DataError for sidereal times, for unknown scales, and for
  /// references that differ from row to row.
  MsTimeScale(const casacore::Table& table, const std::string& column, const std::string& path);
  /// Converts MJD in seconds from TAI, UT1, TT, TDB, TCG or TCB to UTC in place, to within 1e-9 s and
  /// rounding. FailureError when casacore has no table of leap seconds.
  void to_utc(casacore::Vector<double>& mjd_s) const;

 private:
  casacore::MEpoch::Types type_ = casacore::MEpoch::UTC;
};

}  // namespace apsyn
