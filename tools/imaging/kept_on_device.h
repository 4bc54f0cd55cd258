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

/// Whether the GPU is to keep the visibilities of intervals of time, which then have no times until a survey
/// has read them. Where their images turn out to need subgrids, prepare_group() reads all again.
bool keeps_intervals(const Imager& imager, const std::vector<Field>& fields);

/// What a survey of these fields lets the GPU keep; null for jobs whose gridder takes visibilities from the
/// host: on the CPU, with several processes that read the same rows, A-terms, several fields or cycles. From
/// here on the host keeps none.
std::unique_ptr<KeptVisibilities> keep_while_surveying(Imager& imager, const std::vector<Field>& fields);

/// Surveys like survey(), while the GPU takes the planes; the sums of the weights are made there. No value:
/// it has no room for all, and nothing has been added to the weights. For intervals of time it fills `runs`;
/// no value, too, where rows are not sorted by time.
std::optional<Survey> survey_keeping(Imager& imager, const ChannelGroup& group,
                                     const std::vector<Field>& fields, ImageWeights* weights,
                                     KeptVisibilities& kept, std::vector<KeptRun>& runs);

/// Gives up what is kept unless the GPU has room beside it for all layers at once.
void keep_if_layers_fit(Imager& imager, PreparedGroup& own);

/// Weights and grids what is kept, and sums the weights into `images`.
void grid_kept(Imager& imager, PreparedGroup& own, Gridder& gridder, GroupImages& images);

}  // namespace apsyn::imaging
