// SPDX-License-Identifier: GPL-3.0-or-later
// Images on a GPU that keeps the visibilities from the survey on (kernels/idg/kept_visibilities.h), where its
// memory holds them beside what makes the images. Elsewhere the host keeps them, or reads them again, and
// sends them block by block.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/idg/kept_visibilities.h"
#include "tools/imaging/imager.h"

namespace apsyn::imaging {

/// What a survey of these fields lets the GPU keep; null for jobs whose gridder takes visibilities from the
/// host: on the CPU, with several processes that read the same rows, A-terms, several fields, cycles or
/// intervals. From here on the host keeps none.
std::unique_ptr<KeptVisibilities> keep_while_surveying(Imager& imager, const std::vector<Field>& fields);

/// Surveys like survey(), while the GPU takes the planes; the sums of the weights are made there. No value:
/// it has no room for all, and nothing has been added to the weights.
std::optional<Survey> survey_keeping(Imager& imager, const ChannelGroup& group,
                                     const std::vector<Field>& fields, ImageWeights* weights,
                                     KeptVisibilities& kept);

/// Gives up what is kept unless the GPU has room beside it for all layers at once.
void keep_if_layers_fit(Imager& imager, PreparedGroup& own);

/// Weights and grids what is kept, and sums the weights into `images`.
void grid_kept(Imager& imager, PreparedGroup& own, Gridder& gridder, GroupImages& images);

}  // namespace apsyn::imaging
