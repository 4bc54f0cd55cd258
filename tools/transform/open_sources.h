// SPDX-License-Identifier: GPL-3.0-or-later
// What the inputs are, and the sources of rows that they become.
#pragma once

#include <memory>
#include <vector>

#include "tools/transform/options.h"
#include "tools/transform/row_source.h"

namespace apsyn::transform {

/// The sources that the inputs are: a Measurement Set or a file of another format each, or all files of an
/// MWA correlator together. None where the input is a visibility stream. UsageError for what is neither or
/// does not go together. Warns of what the files leave to be desired.
std::vector<std::unique_ptr<RowSource>> open_sources(const Options& options);

}  // namespace apsyn::transform
