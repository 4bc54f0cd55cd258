// SPDX-License-Identifier: GPL-3.0-or-later
// The first pass over the data: the weight grid, the range of w, and what the plan's cost model asks.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/weighting/image_weights.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/system/program_memory.h"
#include "tools/imaging/field.h"
#include "tools/imaging/rank_share.h"

namespace apsyn::imaging {

/// How large blocks of visibilities become.
struct BlockSizes {
  std::uint64_t n_rows = 0, n_visibilities = 0, n_values = 0;  ///< each the most of any block

  void add(const ImagingBlock& block) {
    n_rows = std::max<std::uint64_t>(n_rows, block.data.extent(0));
    n_visibilities = std::max<std::uint64_t>(n_visibilities, block.data.extent(0) * block.data.extent(1));
    n_values = std::max<std::uint64_t>(n_values, block.data.size());
  }
  /// One block as it is read.
  std::uint64_t block_bytes() const {
    constexpr std::uint64_t kRow = 3 * 8 + 8 + 8 + 2 * 4;
    return n_values * (sizeof(std::complex<float>) + sizeof(float)) + n_rows * kRow;
  }
  /// What gridding or predicting one takes beside it: its weights in the image, coordinates about another
  /// centre, and the lists of what lies in which subgrid.
  std::uint64_t work_bytes() const { return n_values * sizeof(float) + n_rows * 200 + n_visibilities * 2; }
};

class Survey {
 public:
  explicit Survey(std::size_t n_fields) : max_lambda_(n_fields), by_w_(n_fields) {}

  void add(const ImagingBlock& block, const std::vector<Field>& fields) {
    blocks.add(block);
    const auto [low, high] = std::minmax_element(block.channel_hz.begin(), block.channel_hz.end());
    const double lowest = *low / kSpeedOfLight_m_s, highest = *high / kSpeedOfLight_m_s;
    for (std::size_t row = 0; row < block.uvw_m.extent(0); ++row) {
      const View<const float, 2> weights = std::as_const(block.weight).view()[row];
      const auto used = std::count_if(weights.begin(), weights.end(), [](float w) { return w != 0; });
      if (used == 0) continue;
      const Vec3 uvw{block.uvw_m(row, 0), block.uvw_m(row, 1), block.uvw_m(row, 2)};
      const double n = static_cast<double>(used) / static_cast<double>(block.weight.extent(2));
      for (std::size_t f = 0; f < fields.size(); ++f) {
        const Vec3 there = fields[f].moved(uvw);
        for (std::size_t i = 0; i < 3; ++i)
          max_lambda_[f][i] = std::max(max_lambda_[f][i], std::abs(there[i]) * highest);
        const double k = (lowest + highest) / 2;
        by_w_[f].add({there[0] * k, there[1] * k, there[2] * k}, n);
      }
      n_visibilities += n;
      follow(block, row, (lowest + highest) / 2, highest - lowest);
    }
  }

  IdgWorkload workload(std::size_t field, std::size_t n_planes, const Device& device) const {
    const auto n = static_cast<double>(std::max<std::size_t>(1, last_.size()));
    return {.max_w_lambda = max_lambda_[field][2],
            .max_u_lambda = max_lambda_[field][0],
            .max_v_lambda = max_lambda_[field][1],
            .n_visibilities = n_visibilities,
            .n_planes = n_planes,
            .n_baselines = static_cast<double>(last_.size()),
            .time_track_lambda = time_track_ / n,
            .channel_track_lambda = channel_track_ / std::max(1.0, n_rows_),
            .device = device.kind};
  }

  /// The part of a field's work that falls to this process.
  RankShare share(const Ranks& ranks, std::size_t field, const IdgPlan& plan, const IdgWorkload& work) const {
    return share_of(ranks, plan, modelled_cost(plan, work), by_w_[field]);
  }

  double n_visibilities = 0;
  BlockSizes blocks;

 private:
  /// A baseline's path in the uv plane.
  void follow(const ImagingBlock& block, std::size_t row, double wavenumber, double span) {
    const double u = block.uvw_m(row, 0), v = block.uvw_m(row, 1);
    const std::uint64_t key = std::uint64_t{block.station(row, 0)} << 32 | block.station(row, 1);
    const auto [place, first] = last_.try_emplace(key, std::array{u, v});
    if (!first) time_track_ += std::hypot(u - place->second[0], v - place->second[1]) * wavenumber;
    place->second = {u, v};
    channel_track_ += std::hypot(u, v) * span;
    n_rows_ += 1;
  }

  std::vector<Vec3> max_lambda_;                                   ///< of each field: |u|, |v|, |w|
  std::vector<WHistogram> by_w_;                                   ///< of each field, at the middle frequency
  std::unordered_map<std::uint64_t, std::array<double, 2>> last_;  ///< of each baseline: u, v, metres
  double time_track_ = 0, channel_track_ = 0, n_rows_ = 0;
};

template <class Use>
void for_each_block(Imager& imager, const ChannelGroup& group, Use use) {
  imager.source.rewind(group);
  while (const ImagingBlock* block = imager.source.next(imager.block_bytes)) use(*block);
}

/// What there is of a group's visibilities, which are added to the weights unless those are null.
inline Survey survey(Imager& imager, const ChannelGroup& group, const std::vector<Field>& fields,
                     ImageWeights* weights) {
  Survey result(fields.size());
  for_each_block(imager, group, [&](const ImagingBlock& block) {
    if (weights != nullptr) weights->add(block);
    result.add(block, fields);
  });
  return result;
}

/// The largest --scale, to three digits, whose uv grid has a cell for so long a baseline, for the command
/// line.
inline std::string scale_for(double max_lambda) {
  const double asec = 0.99 * 0.5 / max_lambda / kRadPerArcsec;  // its own limit has no cell
  const double step = std::pow(10, std::floor(std::log10(asec)) - 2);
  return fmt::format("{:.6g}asec", std::floor(asec / step) * step);
}

/// Says how many of the visibilities that were added to weights will not be in the image.
inline void warn_of_beyond(const Imager& imager, const BeyondGrid& beyond) {
  if (beyond.n_beyond == 0) return;
  const std::string& input = imager.options.inputs[0];
  if (beyond.max_lambda == 0)
    return log_warning("{}: u or v of {} of {} visibilities is no finite number: they are left out", input,
                       beyond.n_beyond, beyond.n_visibilities);
  const double cell_rad = imager.options.imaging.cell_rad;
  log_warning(
      "{}: {} of {} visibilities ({:.3g} %) are of baselines too long for pixels of {}, whose uv grid ends "
      "at {:.6g} wavelengths, and are left out: take --scale {} or less to have them, or --maxuv-l {:.6g} "
      "to do without",
      input, beyond.n_beyond, beyond.n_visibilities,
      100 * static_cast<double>(beyond.n_beyond) / static_cast<double>(beyond.n_visibilities),
      format_angle(cell_rad), 0.5 / cell_rad, scale_for(beyond.max_lambda), 0.5 / cell_rad);
}

/// The weights' grid comes before the plan that knows all of the memory, and may be far beyond it.
inline void check_memory_for_weights(const Imager& imager) {
  // The plan knows how much is enough: little that is taken before it says so does no harm.
  constexpr double kLittle = 256e6;
  const ImagingOptions& wanted = imager.options.imaging;
  const double pixels = static_cast<double>(wanted.n_x) * static_cast<double>(wanted.n_y);
  const double least = double(program_bytes(0)) + ImageWeights::bytes_for(wanted.n_x, wanted.n_y) +
                       sizeof(double) * static_cast<double>(imager.n_planes()) * pixels;
  const auto most = static_cast<double>(imager.tool.common().max_memory_bytes);
  if (least > std::max(most, kLittle))
    throw UsageError("--max-memory {}: this image needs more than {}: allow more, or make it smaller",
                     format_bytes(most), format_bytes(least));
}

inline std::unique_ptr<ImageWeights> make_weights(const Imager& imager) {
  check_memory_for_weights(imager);
  const ImagingOptions& wanted = imager.options.imaging;
  WeightSettings settings = weight_settings(wanted);
  // It makes no weight 0 and none of 0 another: a plan is the same without.
  if (imager.tool.common().dry_run) settings.rank_filter_level = 0;
  return std::make_unique<ImageWeights>(settings, wanted.n_x, wanted.n_y, wanted.cell_rad);
}

/// With --mf-weighting the weights of all groups together, else nothing.
inline std::unique_ptr<ImageWeights> weights_of_all(Imager& imager, const std::vector<ChannelGroup>& groups) {
  if (!imager.options.imaging.weigh_groups_together || groups.size() == 1) return nullptr;
  imager.tool.stage("weights");
  auto weights = make_weights(imager);
  for (const ChannelGroup& group : groups)
    for_each_block(imager, group, [&](const ImagingBlock& block) { weights->add(block); });
  warn_of_beyond(imager, weights->beyond());
  weights->finish(imager.threads());
  return weights;
}

}  // namespace apsyn::imaging
