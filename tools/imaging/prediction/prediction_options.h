// SPDX-License-Identifier: GPL-3.0-or-later
// Options of a prediction into a Measurement Set.
#pragma once

#include <cstddef>
#include <string>

#include "libcore/cli/imaging_options.h"
#include "libcore/formats/ms/measurement_set.h"

namespace apsyn::imaging {

/// How predicted visibilities are combined with a column.
enum class Combine { replace, subtract, add };

struct PredictionOptions {
  std::size_t n_sets = 1;  ///< Measurement Sets that the run opens
  std::string column = "MODEL_DATA", input_column = "DATA", output_column = "CORRECTED_DATA";
  bool subtract = false, add = false;
  bool unnamed_output = false;  ///< whether output_column is a default and not the user's choice
  ImagingOptions imaging;

  Combine combine() const { return subtract ? Combine::subtract : add ? Combine::add : Combine::replace; }
  /// The column whose beam the prediction has: a beam correction applied to that column counts as applied to
  /// the prediction.
  std::string compared_column() const { return combine() == Combine::replace ? "DATA" : input_column; }
  const std::string& written_column() const { return combine() == Combine::replace ? column : output_column; }
};

MsSelection selection_of(const PredictionOptions& options, const std::string& column);

}  // namespace apsyn::imaging
