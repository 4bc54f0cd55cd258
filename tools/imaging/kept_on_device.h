// SPDX-License-Identifier: GPL-3.0-or-later
// Images on a GPU that keeps the visibilities from the survey on (kernels/idg/kept_visibilities.h), where its
// memory holds them beside what makes the images. Elsewhere the host keeps them, or reads them again, and
// sends them block by block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/idg/aterms/average_beam.h"
#include "kernels/idg/kept_visibilities.h"
#include "tools/imaging/imager.h"

namespace apsyn::imaging {

/// Whether the GPU is to keep the visibilities of intervals of time, which then have no times until a survey
/// has read them. Where their images turn out to need subgrids, prepare_group() reads all again.
bool keeps_intervals(const Imager& imager, const std::vector<Field>& fields);

/// What a survey of these fields lets the GPU keep; null for jobs whose gridder takes visibilities from the
/// host: on the CPU, with several processes that read the same rows, several fields or cycles, and with
/// A-terms from sources that give no planes. From here on the host keeps none.
std::unique_ptr<KeptVisibilities> keep_while_surveying(Imager& imager, const std::vector<Field>& fields);

/// Surveys like survey(), while the GPU takes the planes; the sums of the weights are made there. No value:
/// it has no room for all, or the rows of intervals of time are not sorted by time, and nothing has been
/// added to the weights.
std::optional<Survey> survey_keeping(Imager& imager, const ChannelGroup& group,
                                     const std::vector<Field>& fields, ImageWeights* weights,
                                     KeptVisibilities& kept, KeptNotes& noted);

/// Host memory of rows.
std::uint64_t kept_row_bytes(const std::vector<ImagingBlock>& rows);

/// Gives up what is kept unless the GPU has room beside it for all layers at once.
void keep_if_layers_fit(Imager& imager, PreparedGroup& own);

/// Weights and grids what is kept, and sums the weights into `images` and, with A-terms, `beam`.
void grid_kept(Imager& imager, PreparedGroup& own, Gridder& gridder, GroupImages& images, AverageBeam* beam);

}  // namespace apsyn::imaging
