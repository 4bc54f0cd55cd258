// SPDX-License-Identifier: GPL-3.0-or-later
// Found against true sources as a table: one line per source, columns of plain text that awk or a spreadsheet
// reads.
#pragma once

#include <string>
#include <vector>

#include "libcore/base/units.h"

namespace apsyn {

struct SourceRow {
  std::string name;
  double true_jy = 0;
  SkyDirection true_direction;
  bool found = false;
  std::string why_not;  ///< one word where not found
  double found_jy = 0;
  SkyDirection found_direction;
};

struct SourceTable {
  double noise_jy = 0;  ///< RMS of the image, Jy per beam, or adu
  double beam_major_rad = 0, beam_minor_rad = 0;
  std::vector<SourceRow> rows;
  FluxUnit flux_unit = FluxUnit::jansky;  ///< of the image, and of what was found in it
};

/// "# name true_jy found_jy ...", found_adu in images of that unit, and one aligned line per source; '-'
/// where nothing was found.
std::vector<std::string> format_source_table(const SourceTable& table);
/// One sentence: how many were found, and the largest differences.
std::string summarise(const SourceTable& table);

}  // namespace apsyn
