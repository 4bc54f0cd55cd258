// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of a Measurement Set that a prediction is made for, and where it goes. All selected rows count:
// flagged ones and autocorrelations too.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libcore/formats/ms/columns.h"
#include "libcore/visibility/imaging.h"

namespace apsyn {

/// Rows of one spectral window. `at` has coordinates, channels, stations and times, but no data.
struct PredictionBlock {
  ImagingBlock at;
  MsRows rows;                           ///< as the set has them
  std::vector<std::size_t> channels;     ///< [chan] of `at`, in the spectral window
  std::vector<std::size_t> without_uvw;  ///< rows whose coordinates are no numbers, and 0 here
};

class PredictionTarget {
 public:
  /// Opens for reading. `selection.column` is of no account. Throws as MeasurementSetReader; UsageError when
  /// the selection fits no row.
  PredictionTarget(const std::string& path, const MsSelection& selection);
  ~PredictionTarget();
  const std::string& path() const;
  const std::vector<Product>& products() const;
  std::vector<double> channel_hz() const;  ///< distinct, rising
  SkyDirection phase_centre() const;       ///< of the first of these:
  std::vector<MsField> fields() const;     ///< as MeasurementSetReader::fields_with_rows
  std::int64_t n_rows() const;
  const ArrayLayout& layout() const;  ///< its antennas are the stations of the blocks
  /// With the column whose data the prediction is to be compared with.
  ArrayTables tables(const std::string& column) const;
  double first_time_mjd_s() const;

  /// Opens the set anew, at its first row: a process sees a column that another has added only if it has the
  /// set open nowhere when it does.
  void reopen();
  /// As MeasurementSetReader::take_part(); n_rows() stays that of all.
  void take_part(std::size_t part, std::size_t n_parts);
  /// Back to the first row, now for the channels that `wanted` takes, about another centre.
  void rewind(const std::function<bool(double freq_hz)>& wanted, const SkyDirection& centre);
  /// Up to max_visibilities (rows times channels, but at least one row); false at the end. Coordinates are
  /// turned by up to n_threads threads.
  bool read(PredictionBlock& block, std::size_t max_visibilities, unsigned n_threads = 1);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
