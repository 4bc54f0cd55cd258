// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/intervals/images.h"

#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "libcore/cli/tool.h"
#include "libcore/system/parallel.h"
#include "libcore/system/program_memory.h"
#include "tools/imaging/intervals/kept_images.h"
#include "tools/imaging/intervals/plan.h"
#include "tools/imaging/open_images.h"

namespace apsyn::imaging {
namespace {

/// One worker's memory.
struct Worker {
  std::vector<std::size_t> row;  ///< of the interval, in the block
  ImagingBlock rows;             ///< a copy of these
  Buffer<float, 3> weighted;
  BlockMover move;
};

class IntervalGridding {
 public:
  IntervalGridding(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                   ImagingSource& source, std::span<const TimeInterval> intervals,
                   const TakeIntervalImages& take)
      : imager_(imager),
        own_(own),
        fields_(fields),
        source_(source),
        intervals_(intervals),
        ranges_(block_ranges(intervals, own.found.blocks.times)),
        take_(take),
        plan_(own.intervals),
        workers_(plan_.n_workers),
        open_(intervals.size()),
        progress_(imager.tool, "gridding", own.found.n_visibilities * static_cast<double>(own.n_passes()),
                  "vis") {}

  void run() {
    for (std::size_t first = 0; first < intervals_.size(); first += plan_.batch)
      for (std::size_t layer = 0; layer == 0 || layer < own_.n_layers; layer += own_.layers_per_pass())
        read_once(first, std::min(plan_.batch, intervals_.size() - first), layer);
  }

 private:
  /// One pass over layers from `layer` on, for intervals [first, first + n).
  void read_once(std::size_t first, std::size_t n, std::size_t layer) {
    source_.rewind(own_.group);
    std::vector<std::size_t> in_block;
    for (std::size_t b = 0; const ImagingBlock* block = source_.next(imager_.block_bytes); ++b) {
      if (b >= own_.found.blocks.times.size())
        throw std::logic_error("intervals: a block that was not surveyed");
      in_block.clear();
      for (std::size_t k = first; k < first + n; ++k)
        if (ranges_[k].first <= b && b <= ranges_[k].last) in_block.push_back(k);
      parallel_for(plan_.n_workers, in_block.size(), [&](std::size_t i, unsigned worker) {
        add(in_block[i], b, *block, layer, workers_[worker]);
      });
    }
  }

  /// Adds a block's rows to an interval, and ends the pass after its last block.
  void add(std::size_t k, std::size_t b, const ImagingBlock& block, std::size_t layer, Worker& worker) {
    std::unique_ptr<OpenImages>& open = open_[k];
    stage("grid");
    if (b == ranges_[k].first) {
      if (!open) open = idle_or_new();
      open->begin_pass(own_, layer);
    }
    find_rows(block, own_.found.blocks.times[b], intervals_[k], worker.row);
    if (!worker.row.empty()) {
      const bool whole = worker.row.size() == block.time_mjd_s.size();
      if (!whole) copy_rows(block, worker.row, worker.rows);
      const ImagingBlock& rows = whole ? block : worker.rows;
      open->add(imager_, own_, fields_, rows, worker.weighted, worker.move);
      report(static_cast<double>(rows.data.extent(0) * rows.data.extent(1)));
    }
    if (b < ranges_[k].last) return;
    stage("layers");
    open->end_pass();
    if (layer + own_.layers_per_pass() >= own_.n_layers) finish(k);
  }

  void finish(std::size_t k) {
    std::unique_ptr<OpenImages> open = std::move(open_[k]);
    std::vector<GroupImages> images = open->take(imager_, own_, fields_);
    const bool reuse = plan_.keeps_gridders && open->is_reusable();
    if (!reuse) {
      open.reset();
      return_freed_memory();
    }
    stage("write");
    take_(k, images);
    if (!reuse) return;
    open->recycle(std::move(images));
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(open));
  }

  std::unique_ptr<OpenImages> idle_or_new() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<OpenImages> open = std::move(idle_.back());
        idle_.pop_back();
        return open;
      }
    }
    return std::make_unique<OpenImages>(imager_, own_, plan_.gridder_threads(imager_.threads()));
  }

  /// Stages are those of the main thread, and told apart where it is the only worker.
  void stage(const char* name) {
    if (plan_.n_workers == 1) imager_.tool.stage(name);
  }

  void report(double n_visibilities) {
    std::lock_guard lock(mutex_);
    progress_.update(done_ += n_visibilities);
  }

  Imager& imager_;
  PreparedGroup& own_;
  const std::vector<Field>& fields_;
  ImagingSource& source_;
  std::span<const TimeInterval> intervals_;
  std::vector<BlockRange> ranges_;  ///< [interval]
  const TakeIntervalImages& take_;
  const IntervalPlan plan_;
  std::vector<Worker> workers_;
  std::vector<std::unique_ptr<OpenImages>> open_;  ///< [interval]
  std::mutex mutex_;                               ///< guards what follows
  std::vector<std::unique_ptr<OpenImages>> idle_;
  Progress progress_;
  double done_ = 0;
};

}  // namespace

void make_interval_images(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                          ImagingSource& source, std::span<const TimeInterval> intervals,
                          const TakeIntervalImages& take) {
  imager.tool.stage("intervals");
  if (own.kept)
    make_kept_interval_images(imager, own, fields, intervals, take);
  else
    IntervalGridding(imager, own, fields, source, intervals, take).run();
  imager.n_gridded += own.found.n_visibilities * static_cast<double>(imager.n_planes() * fields.size());
  return_freed_memory();
}

}  // namespace apsyn::imaging
