// SPDX-License-Identifier: GPL-3.0-or-later
// What a prediction into a Measurement Set is told.
#pragma once

#include <cstddef>
#include <string>

#include "libcore/cli/imaging_options.h"
#include "libcore/formats/ms/measurement_set.h"

namespace apsyn::imaging {

/// What becomes of the predicted visibilities.
enum class Combine { replace, subtract, add };

struct PredictionOptions {
  std::size_t n_sets = 1;  ///< Measurement Sets that the run opens
  std::string column = "MODEL_DATA", input_column = "DATA", output_column = "CORRECTED_DATA";
  bool subtract = false, add = false;
  bool unnamed_output = false;  ///< nobody has named output_column
  ImagingOptions imaging;

  Combine combine() const { return subtract ? Combine::subtract : add ? Combine::add : Combine::replace; }
  /// Whose beam the prediction has: what was applied to it counts as applied to the prediction, too.
  std::string compared_column() const { return combine() == Combine::replace ? "DATA" : input_column; }
  const std::string& written_column() const { return combine() == Combine::replace ? column : output_column; }
};

MsSelection selection_of(const PredictionOptions& options, const std::string& column);

}  // namespace apsyn::imaging
