// SPDX-License-Identifier: GPL-3.0-or-later
// UVFITS of one spectral window and one source: random groups of a known number, then the table of antennas
// (AIPS Memo 117).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "libcore/formats/ms/measurement_set.h"

namespace apsyn {

class UvfitsWriter {
 public:
  /// `conjugated`: UVW of the rows are r_2 - r_1; the file has r_1 - r_2 always. UsageError for several
  /// windows or fields, uneven channels, and correlations that the STOKES axis cannot count; UsageError and
  /// FailureError as check_output.
  UvfitsWriter(const std::string& path, const MsDescription& description, bool overwrite, std::int64_t n_rows,
               bool conjugated);
  ~UvfitsWriter();
  /// Cells of rows, by any number of threads at once. A weight of 0 is a flag, and stays 0.
  void write_cells(std::int64_t first_row, View<const std::complex<float>, 3> data,
                   View<const float, 3> weight);
  /// Antennas, coordinates and times of rows, from one thread.
  void write_rows(std::int64_t first_row, const MsWriteRows& rows);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
