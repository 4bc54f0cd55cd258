// SPDX-License-Identifier: GPL-3.0-or-later
// FLAG of an existing set, read and written in place: no column is added, and no other column is changed.
// Rows are those of a MeasurementSetReader of the same selection, all channels of their window. casacore
// types stay out of this header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"

namespace apsyn {

class FlagColumn {
 public:
  enum class Access { read, write };
  /// FailureError when the set cannot be opened or, to be written, another program holds it. Take the set's
  /// lock (lock_measurement_set) before opening any part of the set.
  FlagColumn(const std::string& path, const MsSelection& selection, Access access);
  ~FlagColumn();
  /// flags [row][chan][product], 1 = flagged, as they are stored; those of products that the rows lack are 0.
  void read(const MsRows& rows, View<std::uint8_t, 3> flags, unsigned n_threads = 1);
  void write(const MsRows& rows, View<const std::uint8_t, 3> flags, unsigned n_threads = 1);
  /// Adds lines to the set's HISTORY, unless it ends with them already, and flushes everything to disk.
  /// FailureError when that fails.
  void commit(const std::vector<std::string>& history);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
