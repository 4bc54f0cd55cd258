// SPDX-License-Identifier: GPL-3.0-or-later
// Corrected visibilities in an existing set: a data column derived from another one, with its weights and
// flags. A Measurement Set keeps SIGMA_SPECTRUM for DATA and WEIGHT_SPECTRUM for CORRECTED_DATA. Where
// SIGMA_SPECTRUM is missing it is added; an element of 0 there stands for WEIGHT_SPECTRUM^-1/2 (or, without
// WEIGHT_SPECTRUM, WEIGHT^-1/2) and is written before the weight is changed. So the weights of DATA are never
// lost, and correcting twice gives the same result as correcting once. casacore types stay out of this
// header.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"

namespace apsyn {

struct CorrectionColumns {
  std::string input = "DATA", output = "CORRECTED_DATA";
  bool weights = true;  ///< write WEIGHT_SPECTRUM; of the input DATA alone
};

/// The effects that correcting would have, determined without changing the set.
struct CorrectionState {
  bool output_exists = false;
  FluxUnit input_unit = FluxUnit::jansky, output_unit = FluxUnit::jansky;
  bool has_sigma_spectrum = false, has_weight_spectrum = false;
  std::uint64_t bytes_to_add = 0;  ///< of all missing columns
};
/// UsageError when the output's name cannot be used for visibilities, DataError when the input is missing,
/// FailureError when the set cannot be written.
CorrectionState inspect_corrections(const std::string& path, const CorrectionColumns& columns);

/// Cells of some rows, flagged ones too. [row][chan][product as MeasurementSetReader::products()], whole
/// windows of the selection.
struct CorrectionCells {
  std::size_t first_row = 0;          ///< in the MsRows
  View<std::complex<float>, 3> data;  ///< of the input, to be replaced by those of the output
  View<float, 3> weight;              ///< of the input, the same; no size where none are written
  View<std::uint8_t, 3> flag;         ///< 1 = flagged; may be set, and never unset
};
using CorrectCells = std::function<void(const CorrectionCells& cells)>;

class CorrectionWriter {
 public:
  /// Adds the missing columns before it returns: the space of all of them is then allocated. Throws as
  /// inspect_corrections; FailureError when another program holds the set's lock or the disk is full: the set
  /// is then unchanged or has one more column. A process killed at any moment leaves a set that opens.
  CorrectionWriter(const std::string& path, const MsSelection& selection, const CorrectionColumns& columns,
                   const CorrectionState& inspected);
  ~CorrectionWriter();
  /// Reads the cells of these rows, calls `correct` for some rows at a time on up to n_threads threads, in
  /// any order, and writes the results.
  void correct(const MsRows& rows, unsigned n_threads, const CorrectCells& correct);
  /// Samples flagged by `correct` so far that were not before.
  std::uint64_t n_flagged() const;
  /// Like VisibilityColumnWriter::commit().
  void commit(const std::vector<std::string>& history);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
