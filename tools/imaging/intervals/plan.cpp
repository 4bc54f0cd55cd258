// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/intervals/plan.h"

#include <algorithm>
#include <limits>

#include "kernels/idg/grid_memory.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/planes.h"
#include "libcore/base/log.h"
#include "libcore/system/device.h"
#include "tools/imaging/imager.h"

namespace apsyn::imaging {
namespace {

/// One gridder for each field, by so many threads.
std::uint64_t gridder_bytes(const Imager& imager, const PreparedGroup& own, unsigned n_threads) {
  IdgSetup setup = imager.setup();
  setup.n_threads = n_threads;
  std::uint64_t bytes = 0;
  for (const FieldGridder& field : own.fields)
    bytes += field.memory(imager.device.kind, setup).bytes(own.layers_per_pass());
  return bytes;
}

/// Whether intervals can be gridded at the same time: on a GPU those without subgrids, whose gridders leave
/// room for others.
bool shares_device(const Imager& imager, const PreparedGroup& own) {
  return imager.device.kind == Device::Kind::cpu ||
         std::all_of(own.fields.begin(), own.fields.end(),
                     [](const FieldGridder& field) { return field.planes.has_value(); });
}

/// Intervals of which a GPU holds gridders at the same time, at most.
std::size_t max_open_on_device(const Imager& imager, const PreparedGroup& own) {
  if (imager.device.kind == Device::Kind::cpu) return std::numeric_limits<std::size_t>::max();
  if (!shares_device(imager, own)) return 1;
  std::uint64_t bytes = 0;
  for (const FieldGridder& field : own.fields) bytes += planes_device_bytes(*field.planes, imager.setup());
  return std::max<std::uint64_t>(1, device_room(imager.device).free_bytes / 2 / bytes);
}

/// The largest max_open() of batches of so many intervals, which one worker grids.
std::size_t max_open_of_batches(std::span<const BlockRange> intervals, std::size_t batch) {
  std::size_t most = 0;
  for (std::size_t first = 0; first < intervals.size(); first += batch)
    most = std::max(most, max_open(intervals.subspan(first, std::min(batch, intervals.size() - first)), 1));
  return most;
}

}  // namespace

std::vector<BlockRange> block_ranges(std::span<const TimeInterval> intervals,
                                     std::span<const BlockTimes> blocks) {
  std::vector<BlockRange> ranges(intervals.size());
  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (std::size_t k = 0; k < intervals.size(); ++k) {
      if (!blocks[b].meets(intervals[k])) continue;
      if (ranges[k].first > ranges[k].last) ranges[k].first = b;
      ranges[k].last = b;
    }
  return ranges;
}

std::size_t max_open(std::span<const BlockRange> intervals, unsigned n_workers) {
  std::size_t n_blocks = 0, most = 0, open = 0;
  for (const BlockRange& range : intervals)
    if (range.first <= range.last) n_blocks = std::max(n_blocks, range.last + 1);
  for (std::size_t b = 0; b < n_blocks; ++b) {
    std::size_t n_in_block = 0, n_beyond = 0;  // of these, how many were or stay open in other blocks
    for (const BlockRange& range : intervals) {
      if (b < range.first || b > range.last) continue;
      ++n_in_block;
      n_beyond += range.first < b || range.last > b ? 1 : 0;
      open += range.first == b ? 1 : 0;
      if (n_workers == 1) most = std::max(most, open);
      open -= range.last == b ? 1 : 0;
    }
    if (n_workers > 1) most = std::max(most, std::min<std::size_t>(n_in_block, n_beyond + n_workers));
  }
  return most;
}

void plan_intervals(const Imager& imager, PreparedGroup& own, std::span<const TimeInterval> intervals) {
  const std::vector<BlockRange> ranges = block_ranges(intervals, own.found.blocks.times);
  const std::uint64_t most = imager.tool.common().max_memory_bytes,
                      left = most - std::min(most, own.other_bytes);
  const bool shares = shares_device(imager, own);
  const std::size_t on_device = max_open_on_device(imager, own);
  IntervalPlan& plan = own.intervals;
  plan = {.batch = intervals.size(), .keeps_gridders = shares};
  // Processes add up the images of an interval together, and A-terms are prepared for one block at a time.
  if (own.kept) {
    plan.n_workers = static_cast<unsigned>(
        std::min<std::size_t>({imager.threads(), on_device, std::max<std::size_t>(1, intervals.size())}));
    const auto bytes = [&] { return plan.n_workers * (gridder_bytes(imager, own, 1) + own.between_bytes); };
    while (plan.n_workers > 1 && bytes() > left) plan.n_workers /= 2;
    plan.n_open = plan.n_workers;
    plan.bytes = bytes();
    return;
  }
  const bool independent = shares && imager.ranks.size == 1 && own.n_passes() == 1 && !imager.aterms();
  const unsigned n_threads = imager.threads();
  for (unsigned n = n_threads; independent && n > 1 && intervals.size() >= 2 * n_threads; n /= 2) {
    plan.n_workers = n;
    plan.n_open = max_open(ranges, n);
    plan.bytes = plan.n_open * gridder_bytes(imager, own, 1) + n * own.between_bytes;
    if (plan.bytes <= left && plan.n_open <= on_device) return;
  }
  plan.n_workers = 1;
  const std::uint64_t gridders = own.passes.host.bytes(own.layers_per_pass());
  const std::size_t allowed =
      own.n_passes() > 1
          ? 1
          : std::clamp<std::uint64_t>((left - std::min(left, own.between_bytes)) / gridders, 1, on_device);
  while (plan.batch > 1 && max_open_of_batches(ranges, plan.batch) > allowed)
    plan.batch = (plan.batch + 1) / 2;
  plan.n_open = std::max<std::size_t>(1, max_open_of_batches(ranges, plan.batch));
  plan.bytes = plan.n_open * gridders + own.between_bytes;
  if (shares && plan.bytes <= left) return;
  plan.keeps_gridders = false;
  plan.bytes = std::max(plan.n_open * gridders, (plan.n_open - 1) * gridders + own.between_bytes);
}

std::string IntervalPlan::describe(std::size_t n_intervals) const {
  const std::size_t n_readings = (n_intervals + batch - 1) / std::max<std::size_t>(1, batch);
  return fmt::format("{} intervals, {} at a time, in {} reading{} of the visibilities", n_intervals,
                     n_workers, n_readings, n_readings == 1 ? "" : "s");
}

}  // namespace apsyn::imaging
