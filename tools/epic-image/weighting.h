// SPDX-License-Identifier: GPL-3.0-or-later
// Imaging weights of baselines (kernels/weighting), as idg-grid has them of the same data.
#pragma once

#include <string>

#include "kernels/epic/epic.h"
#include "tools/epic-image/options.h"

namespace apsyn {

/// --weight in words: "briggs, robustness 0, rank filter 3".
std::string describe_weight(const EpicOptions& options);

/// uniform or briggs on the uv grid of the plan's image. Each image has weights of its own: those of the
/// baselines and channels that it adds up.
PairWeighting pair_weighting(const EpicOptions& options, const EpicPlan& plan);

}  // namespace apsyn
