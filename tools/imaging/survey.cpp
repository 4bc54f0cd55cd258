// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/survey.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/system/parallel.h"
#include "libcore/system/program_memory.h"
#include "tools/imaging/options.h"

namespace apsyn::imaging {
namespace {

/// The largest --scale, to three digits, whose uv grid still has a cell for a baseline of this length, as
/// text for the command line.
std::string scale_for(double max_lambda) {
  const double asec = 0.99 * 0.5 / max_lambda / kRadPerArcsec;  // its own limit has no cell
  const double step = std::pow(10, std::floor(std::log10(asec)) - 2);
  return fmt::format("{:.6g}asec", std::floor(asec / step) * step);
}

/// The grid of the weights is allocated before the plan that counts all memory, and may exceed the limit by
/// far.
void check_memory_for_weights(const Imager& imager) {
  // A small grid does no harm: the plan will report if the memory does not suffice.
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

/// Lowest and highest of the channels, in 1/m.
std::pair<double, double> wavenumbers_of(const ImagingBlock& block) {
  const auto [low, high] = std::minmax_element(block.channel_hz.begin(), block.channel_hz.end());
  return {*low / kSpeedOfLight_m_s, *high / kSpeedOfLight_m_s};
}

}  // namespace

std::uint32_t count_used(std::span<const float> weights) {
  std::uint32_t n = 0;
  for (const float weight : weights) n += weight != 0 ? 1 : 0;
  return n;
}

void BlockSizes::add(const ImagingBlock& block, std::size_t n_planes) {
  const std::uint64_t own_rows = block.uvw_m.extent(0), own_visibilities = own_rows * block.channel_hz.size();
  n_rows = std::max(n_rows, own_rows);
  n_visibilities = std::max(n_visibilities, own_visibilities);
  n_values = std::max<std::uint64_t>(n_values, own_visibilities * n_planes);
  times.push_back(times_of_block(block));
}

std::uint64_t BlockSizes::block_bytes() const {
  return ImagingBlock::bytes_of(n_rows, n_values);
}

void Survey::add(const ImagingBlock& block, const std::vector<Field>& fields, unsigned n_threads) {
  const std::size_t n_rows = block.weight.extent(0);
  constexpr std::size_t kRows = 1 << 10;
  n_used_.resize(n_rows);
  parallel_for(n_threads, (n_rows + kRows - 1) / kRows, [&](std::size_t item, unsigned) {
    for (std::size_t row = item * kRows; row < std::min(n_rows, (item + 1) * kRows); ++row)
      n_used_[row] = count_used(std::as_const(block.weight).view()[row].span());
  });
  follow(block, n_used_, rows_);
  measure(block, n_used_, block.weight.extent(2), fields, n_threads, rows_);
  add(block, block.weight.extent(2), rows_);
}

void Survey::follow(const ImagingBlock& block, std::span<const std::uint32_t> n_used, SurveyedRows& rows) {
  const std::size_t n_rows = block.uvw_m.extent(0);
  rows.rows.resize(n_rows);
  for (std::size_t row = 0; row < n_rows; ++row) {
    if (n_used[row] == 0) continue;
    const std::uint64_t baseline = std::uint64_t{block.station(row, 0)} << 32 | block.station(row, 1);
    const auto earlier = earlier_.replace(baseline, {block.uvw_m(row, 0), block.uvw_m(row, 1)});
    rows.rows[row].follows = earlier.has_value();
    if (earlier) rows.rows[row].earlier_m = *earlier;
  }
}

void Survey::measure(const ImagingBlock& block, std::span<const std::uint32_t> n_used, std::size_t n_planes,
                     const std::vector<Field>& fields, unsigned n_threads, SurveyedRows& rows) const {
  const std::pair<double, double> wavenumber = wavenumbers_of(block);
  const double highest = wavenumber.second, k = (wavenumber.first + highest) / 2;
  const std::size_t n_rows = block.uvw_m.extent(0), n_fields = fields.size();
  constexpr std::size_t kRows = 1 << 10;
  rows.moved.resize(n_rows * n_fields);
  std::vector<std::vector<Vec3>> longest((n_rows + kRows - 1) / kRows, std::vector<Vec3>(n_fields));
  parallel_for(n_threads, longest.size(), [&](std::size_t item, unsigned) {
    for (std::size_t row = item * kRows; row < std::min(n_rows, (item + 1) * kRows); ++row) {
      const Vec3 uvw{block.uvw_m(row, 0), block.uvw_m(row, 1), block.uvw_m(row, 2)};
      SurveyedRows::Row& own = rows.rows[row];
      own.n = static_cast<double>(n_used[row]) / static_cast<double>(n_planes);
      if (n_used[row] == 0) continue;
      own.length_m = std::hypot(uvw[0], uvw[1]);
      if (own.follows) own.step_m = std::hypot(uvw[0] - own.earlier_m[0], uvw[1] - own.earlier_m[1]);
      for (std::size_t f = 0; f < n_fields; ++f) {
        const Vec3 there = fields[f].moved(uvw);
        for (std::size_t i = 0; i < 3; ++i)
          longest[item][f][i] = std::max(longest[item][f][i], std::abs(there[i]) * highest);
        rows.moved[row * n_fields + f] = {there[2] * k, std::hypot(there[0] * k, there[1] * k)};
      }
    }
  });
  rows.max_lambda.assign(n_fields, Vec3{});
  for (const std::vector<Vec3>& part : longest)
    for (std::size_t f = 0; f < n_fields; ++f)
      for (std::size_t i = 0; i < 3; ++i) rows.max_lambda[f][i] = std::max(rows.max_lambda[f][i], part[f][i]);
}

void Survey::add(const ImagingBlock& block, std::size_t n_planes, const SurveyedRows& rows) {
  blocks.add(block, n_planes);
  n_rows_read_ += static_cast<double>(rows.rows.size());
  n_cells_ += static_cast<double>(rows.rows.size() * block.channel_hz.size());
  const auto [lowest, highest] = wavenumbers_of(block);
  const double k = (lowest + highest) / 2;
  const std::size_t n_fields = max_lambda_.size();
  for (std::size_t f = 0; f < n_fields; ++f)
    for (std::size_t i = 0; i < 3; ++i)
      max_lambda_[f][i] = std::max(max_lambda_[f][i], rows.max_lambda[f][i]);
  for (std::size_t row = 0; row < rows.rows.size(); ++row) {
    const SurveyedRows::Row& own = rows.rows[row];
    const double n = own.n;
    if (n == 0) continue;
    for (std::size_t f = 0; f < n_fields; ++f) {
      const SurveyedRows::Moved& moved = rows.moved[row * n_fields + f];
      by_w_[f].add(moved.w_lambda, moved.length_lambda, n);
    }
    n_visibilities += n;
    // The mean lengths of tracks in the uv plane, along time and along frequency.
    if (own.follows) time_track_ += own.step_m * k;
    channel_track_ += own.length_m * (highest - lowest);
    n_rows_ += 1;
  }
}

std::optional<EarlierRows::Uv> EarlierRows::replace(std::uint64_t baseline, const Uv& uv_m) {
  std::size_t at = expected_;
  bool is_new = false;
  if (at >= last_.size() || last_[at].baseline != baseline) {
    const auto [known, added] = place_.try_emplace(baseline, last_.size());
    at = known->second;
    is_new = added;
  }
  if (is_new) last_.push_back({baseline, uv_m});
  expected_ = at + 1 == last_.size() ? 0 : at + 1;
  const Uv before = std::exchange(last_[at].uv_m, uv_m);
  return is_new ? std::nullopt : std::optional(before);
}

IdgWorkload Survey::workload(std::size_t field, std::size_t n_planes, const Device& device,
                             std::size_t n_intervals) const {
  const std::size_t n_baselines = std::max(n_baselines_, earlier_.n_baselines());
  const auto n = static_cast<double>(std::max<std::size_t>(1, n_baselines));
  const auto parts = static_cast<double>(n_intervals);
  return {.max_w_lambda = max_lambda_[field][2],
          .max_u_lambda = max_lambda_[field][0],
          .max_v_lambda = max_lambda_[field][1],
          .n_visibilities = n_visibilities / parts,
          .n_planes = n_planes,
          .n_baselines = static_cast<double>(n_baselines),
          .time_track_lambda = time_track_ / n / parts,
          .channel_track_lambda = channel_track_ / std::max(1.0, n_rows_),
          .device = device.kind,
          .is_interval = n_intervals > 1};
}

void Survey::sum_over_ranks() {
  std::array sums{n_visibilities, time_track_, channel_track_, n_rows_};
  add_for_all(sums);
  n_visibilities = sums[0], time_track_ = sums[1], channel_track_ = sums[2], n_rows_ = sums[3];
  n_baselines_ = static_cast<std::size_t>(max_of_ranks(static_cast<double>(earlier_.n_baselines())));
  for (Vec3& of_field : max_lambda_)
    for (double& lambda : of_field) lambda = max_of_ranks(lambda);
  for (WHistogram& of_field : by_w_) of_field.sum_over_ranks();
}

Survey survey(Imager& imager, const ChannelGroup& group, const std::vector<Field>& fields,
              ImageWeights* weights) {
  Survey result(fields.size());
  for_each_block(imager, group, [&](const ImagingBlock& block) {
    if (weights != nullptr) weights->add(block, imager.threads());
    result.add(block, fields, imager.threads());
  });
  return result;
}

void sum_over_ranks(BeyondGrid& beyond) {
  std::array counts{static_cast<double>(beyond.n_visibilities), static_cast<double>(beyond.n_beyond)};
  add_for_all(counts);
  beyond = {static_cast<std::uint64_t>(counts[0]), static_cast<std::uint64_t>(counts[1]),
            max_of_ranks(beyond.max_lambda)};
}

void sum_over_ranks(ImageWeights& weights) {
  const ImageWeights::Sums sums = weights.sums();
  add_for_all(sums.cells.span());
  add_for_all({&sums.all, 1});
  sum_over_ranks(sums.beyond);
}

void warn_of_beyond(const Imager& imager, const BeyondGrid& beyond) {
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

std::unique_ptr<ImageWeights> make_weights(const Imager& imager) {
  check_memory_for_weights(imager);
  const ImagingOptions& wanted = imager.options.imaging;
  WeightSettings settings = weight_settings(wanted);
  // The filter changes no weight to or from 0, so the plan is the same without it.
  if (imager.tool.common().dry_run) settings.rank_filter_level = 0;
  return std::make_unique<ImageWeights>(settings, wanted.n_x, wanted.n_y, wanted.cell_rad);
}

std::unique_ptr<ImageWeights> weights_of_all(Imager& imager, const std::vector<ChannelGroup>& groups,
                                             const GroupShare& share) {
  if (!imager.options.imaging.weigh_groups_together || groups.size() == 1) return nullptr;
  imager.tool.stage("weights");
  auto weights = make_weights(imager);
  for (const ChannelGroup& group : share.own(groups))
    for_each_block(imager, group, [&](const ImagingBlock& block) { weights->add(block, imager.threads()); });
  if (imager.own_rows || share.is_shared()) sum_over_ranks(*weights);
  warn_of_beyond(imager, weights->beyond());
  weights->finish(imager.threads());
  return weights;
}

}  // namespace apsyn::imaging
