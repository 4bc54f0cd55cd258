// SPDX-License-Identifier: GPL-3.0-or-later
// The first pass over the data: the weight grid, the range of w, and the quantities that the plan's cost
// model needs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/idg/idg.h"
#include "kernels/idg/plan/cost.h"
#include "kernels/idg/residual_imager.h"
#include "kernels/weighting/image_weights.h"
#include "libcore/array/array_layout.h"
#include "libcore/imaging/intervals.h"
#include "libcore/system/device.h"
#include "libcore/system/ranks.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/field.h"
#include "tools/imaging/group_share.h"
#include "tools/imaging/rank_share.h"
#include "tools/imaging/w_ranges.h"

namespace apsyn::imaging {

/// Number of the weights that are not 0.
std::uint32_t count_used(std::span<const float> weights);

/// Sizes of the largest blocks of visibilities, and the times of all.
struct BlockSizes {
  std::uint64_t n_rows = 0, n_visibilities = 0, n_values = 0;  ///< maxima over all blocks
  std::vector<BlockTimes> times;                               ///< of each block, in their order

  void add(const ImagingBlock& block, std::size_t n_planes);
  /// Memory of one block as it is read.
  std::uint64_t block_bytes() const;
  /// Further memory for gridding or predicting a block: its imaging weights, coordinates about another
  /// centre, and the lists of the visibilities in each subgrid.
  std::uint64_t work_bytes() const { return n_values * sizeof(float) + n_rows * 200 + n_visibilities * 2; }
};

/// Where each baseline was last. Integrations mostly have the same baselines in the same order, so that the
/// one that followed last time is looked at first.
class EarlierRows {
 public:
  using Uv = std::array<double, 2>;
  /// Where the baseline was, if it has been anywhere, before it is at `uv_m` now.
  std::optional<Uv> replace(std::uint64_t baseline, const Uv& uv_m);
  std::size_t n_baselines() const { return last_.size(); }

 private:
  struct Last {
    std::uint64_t baseline;
    Uv uv_m;
  };
  std::vector<Last> last_;  ///< in the order in which they came first
  std::unordered_map<std::uint64_t, std::size_t> place_;
  std::size_t expected_ = 0;
};

/// What a block's rows contribute to a survey, before it is summed.
struct SurveyedRows {
  /// Of a row with data.
  struct Row {
    double n = 0;          ///< visibilities with data
    double length_m = 0;   ///< of (u, v)
    bool follows = false;  ///< an earlier row of its baseline
    EarlierRows::Uv earlier_m{};
    double step_m = 0;  ///< from there
  };
  struct Moved {
    double w_lambda = 0, length_lambda = 0;
  };
  std::vector<Row> rows;
  std::vector<Moved> moved;      ///< [row][field]
  std::vector<Vec3> max_lambda;  ///< of each field: |u|, |v|, |w|
};

class Survey {
 public:
  explicit Survey(std::size_t n_fields) : max_lambda_(n_fields), by_w_(n_fields) {}

  void add(const ImagingBlock& block, const std::vector<Field>& fields, unsigned n_threads);
  /// The same in steps for a block whose planes are elsewhere. n_used [row]: its values with data, in all of
  /// n_planes planes. Blocks are followed in their order, and added in their order; several may be measured
  /// at the same time.
  void follow(const ImagingBlock& block, std::span<const std::uint32_t> n_used, SurveyedRows& rows);
  void measure(const ImagingBlock& block, std::span<const std::uint32_t> n_used, std::size_t n_planes,
               const std::vector<Field>& fields, unsigned n_threads, SurveyedRows& rows) const;
  void add(const ImagingBlock& block, std::size_t n_planes, const SurveyedRows& rows);

  /// Where processes read rows of their own: makes it that of the rows of all, but for `blocks` and load().
  void sum_over_ranks();

  /// What a plan has to serve: all visibilities, gridded in `n_intervals` parts of equal length in time.
  IdgWorkload workload(std::size_t field, std::size_t n_planes, const Device& device,
                       std::size_t n_intervals = 1) const;

  /// The part of a field's work that falls to this process.
  RankShare share(const Ranks& ranks, std::size_t field, const IdgPlan& plan, const IdgWorkload& work) const {
    return share_of(ranks, plan, modelled_cost(plan, work), by_w_[field]);
  }

  /// The data that a GPU would keep.
  ResidualLoad load() const {
    return {n_rows_read_, n_cells_, static_cast<double>(blocks.n_rows),
            static_cast<double>(blocks.n_visibilities)};
  }

  /// With data, in one of so many intervals of equal length.
  double n_rows_of_interval(std::size_t n_intervals) const {
    return n_rows_ / static_cast<double>(n_intervals);
  }
  /// With or without data.
  double n_rows_read() const { return n_rows_read_; }

  double n_visibilities = 0;
  BlockSizes blocks;

 private:
  std::vector<Vec3> max_lambda_;  ///< of each field: |u|, |v|, |w|
  std::vector<WHistogram> by_w_;  ///< of each field, at the middle frequency
  EarlierRows earlier_;
  std::size_t n_baselines_ = 0;  ///< of all processes
  double time_track_ = 0, channel_track_ = 0, n_rows_ = 0;
  double n_rows_read_ = 0, n_cells_ = 0;  ///< numbers of rows and of cells, with or without data
  std::vector<std::uint32_t> n_used_;     ///< [row] of a block
  SurveyedRows rows_;                     ///< of a block
};

template <class Use>
void for_each_block(Imager& imager, const ChannelGroup& group, Use use) {
  imager.source.rewind(group);
  while (const ImagingBlock* block = imager.source.next(imager.block_bytes)) use(*block);
}

/// Surveys a group's visibilities and adds them to `weights` if these are given.
Survey survey(Imager& imager, const ChannelGroup& group, const std::vector<Field>& fields,
              ImageWeights* weights);

/// Adds up what processes that read rows of their own have added to their weights; before finish().
void sum_over_ranks(ImageWeights& weights);
void sum_over_ranks(BeyondGrid& beyond);

/// Warns how many of the visibilities added to the weights will not be in the image.
void warn_of_beyond(const Imager& imager, const BeyondGrid& beyond);

std::unique_ptr<ImageWeights> make_weights(const Imager& imager);

/// With --mf-weighting the weights of all groups together, whichever process reads each, else nothing.
std::unique_ptr<ImageWeights> weights_of_all(Imager& imager, const std::vector<ChannelGroup>& groups,
                                             const GroupShare& share = {});

}  // namespace apsyn::imaging
