// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

namespace apsyn {

/// Measurement Sets whose tables tell more of an array than its layout. They differ in their frequencies
/// only: where none is named nothing else is known of the array.
struct ArrayTables {
  std::vector<std::string> sets;  ///< their folders
  std::string column;             ///< of the data that are read, empty when none are
  std::vector<int> fields;        ///< whose rows are read; empty: all
};

}  // namespace apsyn
