// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/units.h"

#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/Tables/TableColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cctype>

#include "libcore/base/log.h"

namespace apsyn {
namespace {

constexpr const char* kKeyword = "QuantumUnits";

/// The text of a keyword of one string, or of the first of several; empty without it.
std::string keyword_text(const casacore::TableRecord& keywords, const char* name) {
  if (!keywords.isDefined(name)) return {};
  if (keywords.dataType(name) == casacore::TpString) return keywords.asString(name);
  if (keywords.dataType(name) != casacore::TpArrayString) return {};
  const casacore::Array<casacore::String> texts = keywords.asArrayString(name);
  return texts.empty() ? std::string() : std::string(*texts.begin());
}

}  // namespace

FluxUnit unit_of_column(const casacore::Table& table, const std::string& path, const std::string& column) {
  if (column.empty() || !table.tableDesc().isColumn(column)) return FluxUnit::jansky;
  const casacore::TableRecord& keywords = casacore::TableColumn(table, column).keywordSet();
  std::string unit = keyword_text(keywords, kKeyword);
  if (unit.empty()) unit = keyword_text(keywords, "UNIT");
  std::string letters;
  for (const char c : unit) letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (letters == "adu" || letters == "count" || letters == "counts") return FluxUnit::adu;
  // UVFITS files of calibrated data, and sets made from them, often say UNCALIB.
  if (!letters.empty() && letters != "jy" && letters != "uncalib")
    log_warning("{}: column {} is in '{}', which is neither Jy nor adu: it is taken as Jy", path, column,
                unit);
  return FluxUnit::jansky;
}

void set_unit(casacore::ColumnDesc& column, FluxUnit unit) {
  column.rwKeywordSet().define(kKeyword, casacore::Vector<casacore::String>(1, name_of(unit)));
}

}  // namespace apsyn
