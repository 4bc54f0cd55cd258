// SPDX-License-Identifier: GPL-3.0-or-later
// One channel group: survey the data, plan, grid all fields in as many passes as the available memory
// requires.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/idg/idg.h"
#include "kernels/idg/kept_visibilities.h"
#include "kernels/idg/residual_imager.h"
#include "kernels/weighting/image_weights.h"
#include "libcore/base/view.h"
#include "libcore/imaging/intervals.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/field.h"
#include "tools/imaging/intervals/plan.h"
#include "tools/imaging/passes.h"
#include "tools/imaging/prediction/degrid_passes.h"
#include "tools/imaging/rank_share.h"
#include "tools/imaging/survey.h"

namespace apsyn::imaging {

/// Rows that a GPU keeps one after the other, all of one time.
struct KeptRun {
  double time_mjd_s = 0;
  std::size_t part = 0, first = 0, n = 0;  ///< Gridder::grid_kept()
};

/// What the host notes of rows that a GPU keeps.
struct KeptNotes {
  std::vector<KeptRun> runs;       ///< with intervals of time
  std::vector<ImagingBlock> rows;  ///< [part] times, stations and channels, with A-terms
};

/// One channel group, planned: everything that stays the same each time it is gridded.
struct PreparedGroup {
  ChannelGroup group;
  Survey found{0};
  std::unique_ptr<ImageWeights> own_weights;
  const ImageWeights* weights = nullptr;  ///< own_weights, or those of the whole band
  std::vector<FieldGridder> fields;       ///< empty: no usable data
  std::vector<RankShare> shares;          ///< [field] the part that this process does
  std::size_t n_layers = 0;               ///< the largest number in any field's share
  std::uint64_t other_bytes = 0;          ///< bytes beside the gridders
  std::uint64_t between_bytes = 0;        ///< further bytes between griddings, or for predicting one layer
  Passes passes;
  IntervalPlan intervals;  ///< how images of intervals of time are made; none are planned unless asked for
  std::unique_ptr<KeptVisibilities> kept;     ///< where a GPU keeps the visibilities for one gridding
  KeptNotes noted;                            ///< of these
  std::unique_ptr<ResidualImager> residuals;  ///< where a GPU keeps the visibilities
  std::vector<double> weight_sum;             ///< [plane] of all processes' visibilities
  std::vector<double> own_weight_sum;         ///< [plane] of those on this process's GPU

  /// Layers of every field's share that are gridded in one pass, at most.
  std::size_t layers_per_pass() const { return std::min(passes.layers, n_layers); }
  std::size_t n_passes() const { return (n_layers + passes.layers - 1) / passes.layers; }
};

/// Settings for predicting the model that is subtracted to make residuals.
IdgSetup prediction_setup(const Imager& imager);

/// Memory that predicting one field for residuals may use; fields are predicted one after another.
DegridDemand prediction_demand(const Imager& imager, const PreparedGroup& own);

/// Chooses how many layers a pass has. If there is not enough memory for even one, no visibilities are kept
/// and blocks are made small.
void plan_passes(Imager& imager, PreparedGroup& own);

/// Reads the group once. `whole_band`: existing weights for the whole band. If null, the group gets its own
/// weights, and visibilities beyond their grid are counted in imager.beyond.
PreparedGroup prepare_group(Imager& imager, const ChannelGroup& group, const std::vector<Field>& fields,
                            const ImageWeights* whole_band);

/// The layers that are needed to predict every visibility that this process grids. For predicting, a GPU may
/// divide blocks at other rows than for gridding, so that a subgrid at a layer's edge can fall into the next
/// layer: one more layer on either side allows for that.
LayerRange predicted_layers(const Imager& imager, const PreparedGroup& prepared, std::size_t f);

/// Whether predicting can run while gridding does: on a CPU, in a single pass, with memory for both.
bool predicts_while_gridding(const Imager& imager, const PreparedGroup& own);

/// How each field's model is predicted for a group of which residuals, or predictions, are kept in between,
/// and the memory that all takes if these are kept in memory.
struct KeptPlan {
  std::vector<DegridPasses> fields;
  std::uint64_t bytes = 0;
};
KeptPlan plan_kept(const Imager& imager, const PreparedGroup& own);

/// `intervals`: those of which images are made; empty where they are of all times.
void print_plan(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                std::span<const TimeInterval> intervals = {});

/// Adds weights [row][chan][plane] to the weight sums of the images.
void add_weights(const Imager& imager, View<const float, 3> weight, unsigned n_threads,
                 std::vector<double>& sums);

/// Images of one group, one set for each field, from the visibilities of `source`, to which the group's
/// weights have not been applied yet. Where several processes share the work only the first returns images
/// that are valid.
std::vector<GroupImages> make_images(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                                     ImagingSource& source);

}  // namespace apsyn::imaging
