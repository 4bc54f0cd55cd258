// SPDX-License-Identifier: GPL-3.0-or-later
// One channel group: survey the data, plan, grid all fields in as many passes as the memory asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/idg/idg.h"
#include "kernels/weighting/image_weights.h"
#include "libcore/base/view.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/degrid_passes.h"
#include "tools/imaging/field.h"
#include "tools/imaging/passes.h"
#include "tools/imaging/rank_share.h"
#include "tools/imaging/survey.h"

namespace apsyn::imaging {

/// One channel group, planned: what stays the same however often it is gridded.
struct PreparedGroup {
  ChannelGroup group;
  Survey found{0};
  std::unique_ptr<ImageWeights> own_weights;
  const ImageWeights* weights = nullptr;  ///< own_weights, or those of the whole band
  std::vector<FieldGridder> fields;       ///< empty: no usable data
  std::vector<RankShare> shares;          ///< of each field, what this process does
  std::size_t n_layers = 0;               ///< of the share that has most
  std::uint64_t other_bytes = 0;          ///< of memory, beside the gridders
  std::uint64_t between_bytes = 0;        ///< beside that, before and after gridding, and to predict a layer
  Passes passes;

  std::size_t n_passes() const { return (n_layers + passes.layers - 1) / passes.layers; }
};

/// How residuals of an imager's visibilities are predicted.
IdgSetup prediction_setup(const Imager& imager);

/// What is predicted of one field for residuals, one field after the other.
DegridDemand prediction_demand(const Imager& imager, const PreparedGroup& own);

/// Chooses how many layers a pass has. When there is not even room for one, no visibilities are kept and
/// blocks are made small.
void plan_passes(Imager& imager, PreparedGroup& own);

/// Reads the group once. `whole_band`: weights that are made already, or null; else what the group's own grid
/// has no cell for is added to imager.beyond.
PreparedGroup prepare_group(Imager& imager, const ChannelGroup& group, const std::vector<Field>& fields,
                            const ImageWeights* whole_band);

/// All that the visibilities of a share's layers reach. They are cut into the same subgrids as when they are
/// gridded, but for a GPU, which may cut blocks at other rows: subgrids next to a layer's border may then be
/// of the neighbour.
LayerRange predicted_layers(const Imager& imager, const PreparedGroup& prepared, std::size_t f);

/// Whether there is room for that.
bool predicts_while_gridding(const Imager& imager, const PreparedGroup& own);

void print_plan(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields);

/// Adds weights [row][chan][plane] to those of the images.
void add_weights(const Imager& imager, View<const float, 3> weight, std::vector<double>& sums);

/// The images of one group, a field each, out of the visibilities that `source` gives, which the group's
/// weights are still to be applied to. Where processes share the work, the first has them; those of the
/// others are of no use.
std::vector<GroupImages> make_images(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                                     ImagingSource& source);

}  // namespace apsyn::imaging
