// SPDX-License-Identifier: GPL-3.0-or-later
// Where the rows go: a Measurement Set whose number of rows is known, or a visibility stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"

namespace apsyn::transform {

class RowSink {
 public:
  virtual ~RowSink() = default;
  /// Consecutive rows are going to come: their antennas, window and times are known (row_time_mjd_s,
  /// row_interval_s), nothing else.
  virtual void place(std::int64_t first_row, const MsWriteRows& rows) = 0;
  /// Their cells [row][chan][product], in pieces, from any thread.
  virtual void put_cells(std::int64_t first_row, View<const std::complex<float>, 3> data,
                         View<const float, 3> weight) = 0;
  /// Then all else of them.
  virtual void put_rows(std::int64_t first_row, const MsWriteRows& rows) = 0;
  virtual void commit() = 0;
};

/// A Measurement Set. Each of its further subtables is copied from the first set in `from` that has it;
/// `column` is the one whose data it holds.
std::unique_ptr<RowSink> make_set_sink(const std::string& path, const MsDescription& description,
                                       bool overwrite, std::int64_t n_rows,
                                       const std::vector<std::string>& from, const std::string& column);

/// A UVH5 or UVFITS file of a known number of rows. `conjugated`: their UVW are r_2 - r_1.
std::unique_ptr<RowSink> make_uvh5_sink(const std::string& path, const MsDescription& description,
                                        bool overwrite, std::int64_t n_rows, bool conjugated);
std::unique_ptr<RowSink> make_uvfits_sink(const std::string& path, const MsDescription& description,
                                          bool overwrite, std::int64_t n_rows, bool conjugated);

/// How rows become the records of a stream.
struct StreamShape {
  double begin_mjd_s = 0, integration_s = 0;
  std::vector<int> antennas;  ///< of the set, those that the stream has, rising
  bool autos = false;
  bool conjugate = false;  ///< UVW of the set are r_2 - r_1
};

/// A stream of one window and one field, in rising time; "-" is standard output. Integrations and baselines
/// of which there are no rows have weight 0. UsageError where the set cannot be told by a stream's header,
/// DataError for rows that are not in their order or at no integration.
std::unique_ptr<RowSink> make_stream_sink(const std::string& path, const MsDescription& description,
                                          bool overwrite, const StreamShape& shape);

}  // namespace apsyn::transform
