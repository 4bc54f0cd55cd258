// SPDX-License-Identifier: GPL-3.0-or-later
// Predicts one Measurement Set block by block, in as many passes as necessary, and writes it to a column.
// Processes that share the work each go through all rows; the first adds the others' predictions of a block
// to its own, and writes the sum.
#pragma once

#include <optional>

#include "libcore/base/units.h"
#include "libcore/cli/tool.h"
#include "libcore/imaging/prediction_target.h"
#include "tools/imaging/prediction/prediction_output.h"
#include "tools/imaging/prediction/predictors.h"

namespace apsyn::imaging {

/// First pass: counts the visibilities and finds the largest |u|, |v| and |w| about `centre`.
void survey(PredictionTarget& target, const SkyDirection& centre, unsigned n_threads, Task& task);

/// Memory for rows that are kept so that several passes can add to them.
double kept_bytes(const Predictor& predictor, const Task& task);
/// Whether the memory suffices for that; a single pass keeps nothing.
bool kept_in_memory(const Tool& tool, const Predictor& predictor, const Task& task);

/// Predicts all the task's rows and channels into `output`, which only the first process has unless each
/// writes rows of its own. Returns the number of visibilities times planes.
double predict(Tool& tool, PredictionTarget& target, Output* output, Predictor& predictor, const Task& task);

}  // namespace apsyn::imaging
