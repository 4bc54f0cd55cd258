// SPDX-License-Identifier: GPL-3.0-or-later
// Blocks of raw samples in, candidates out. A block is cleaned when the next one is there, and searched when
// all the delays behind it are; on a GPU while the next ones are cleaned. Nothing but time and memory depends
// on how much is searched together.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/dedisperse/weights.h"
#include "kernels/search/cluster.h"
#include "libcore/powers/pulse_cutout.h"
#include "libcore/system/device.h"
#include "tools/search-transients/device_search.h"
#include "tools/search-transients/history.h"
#include "tools/search-transients/plan.h"

namespace apsyn {

/// Whole samples as they are in the file.
struct RawBlock {
  std::vector<std::uint8_t> bytes;
  std::size_t n_time = 0;
  bool last = false;
  BlockStatistics statistics;  ///< once it is measured
};

struct FoundCandidate {
  Candidate candidate;
  std::optional<PulseCutout> cutout;  ///< when asked for
};

class TransientSearch {
 public:
  TransientSearch(const SearchPlan& plan, const FilterbankInput& input, const Device& device,
                  unsigned n_threads, bool cutouts);
  /// In order, each before it is pushed; another thread may push earlier blocks meanwhile on a GPU, where
  /// blocks are measured and cleaned at the same time.
  void measure(RawBlock& block);
  bool measures_beside_cleaning() const { return device_search_ != nullptr; }
  /// In order; the last one ends the search. What is left of the block is memory for another.
  void push(RawBlock& block);
  /// Candidates that are complete since the last call, in order of time.
  std::vector<FoundCandidate> take();
  const ExciseReport& report() const { return report_; }
  double trial_samples() const { return trial_samples_; }  ///< dedispersed so far
  std::int64_t samples_cleaned() const { return end_; }

 private:
  struct Measured {
    RawBlock raw;  ///< on the CPU
    BlockStatistics statistics;
  };
  void clean(const Measured& block, const BlockStatistics* after);
  void search_ready();
  void append_missing(std::size_t n_time);
  /// Starts the search of the next n_time samples, and ends it unless it goes on beside the cleaning.
  void search(std::size_t n_time, bool ends);
  void search_ended(std::vector<Hit> hits, std::int64_t end, std::size_t n_time, bool ends);
  /// Waits for a search that goes on beside the cleaning.
  void wait_for_search();
  /// Lets no sample be written over that a running search may read.
  void reserve_samples(std::size_t n_time);
  std::vector<Hit> search_on_cpu(std::int64_t first, std::size_t n_time, bool ends);
  std::vector<Hit> search_batch(std::size_t batch, std::int64_t first, std::size_t n_time, bool ends,
                                unsigned thread);
  PulseCutout cut_out(const Hit& hit) const;

  const SearchPlan& plan_;
  const FilterbankInput& input_;
  unsigned n_threads_;
  bool cutouts_;
  std::optional<SampleHistory> history_;  ///< absent on a GPU where nobody asks for cutouts
  DedispersedWeights weights_;
  HitClusters clusters_;
  std::optional<Measured> pending_;
  std::optional<BlockStatistics> before_;
  Buffer<std::int8_t, 2> clean_;  ///< of a block, [chan][time]
  std::vector<std::uint8_t> good_time_;
  std::unique_ptr<DeviceSearch> device_search_;  ///< absent on the CPU
  std::vector<SeriesState> series_;              ///< of each trial, on the CPU
  struct ThreadWork {
    DedispersionScratch dedispersion;
    Buffer<float, 2> sums;
    std::vector<float> weights;
    SeriesScratch series;
    std::vector<SeriesHit> hits;
  };
  std::vector<ThreadWork> work_;
  std::vector<FoundCandidate> found_;
  std::int64_t end_ = 0;       ///< input samples cleaned, and what is missing behind the end
  std::int64_t searched_ = 0;  ///< input samples whose dedispersed series are made, or being made
  double trial_samples_ = 0;
  ExciseReport report_;
  /// A search beside the cleaning. It reads a copy of the weights, and of the device's samples those from
  /// `first` on. Last, so that it ends before what it uses.
  struct Running {
    std::int64_t first = 0, end = 0;
    bool ends = false;
    std::future<std::vector<Hit>> hits;
  };
  std::optional<Running> running_;
};

}  // namespace apsyn
