// SPDX-License-Identifier: GPL-3.0-or-later
// Friends-of-friends clustering of hits into candidates, while they come in. Two hits are friends when
// - the gap between their windows is at most half of the longer window and two samples of the coarser
// resolution, and
// - their trials are at most 2 apart, or so close in dispersion measure that the delays over the band differ
// by less
//   than the longer window, which is how far a pulse is seen.
// A cluster ends when no later hit can join it; so candidates do not depend on how hits are handed over.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace apsyn {

/// In samples of the input.
struct Hit {
  std::uint32_t trial = 0;
  std::uint32_t factor = 1;  ///< time resolution of the trial
  std::int64_t begin = 0, width = 1;
  float sn = 0;
  std::int64_t end() const { return begin + width; }
};

/// The best signal-to-noise ratio of a candidate in one trial.
struct TrialPeak {
  std::uint32_t trial = 0;
  float sn = 0;
};

struct Candidate {
  Hit best;
  std::uint64_t n_hits = 0;
  std::uint32_t first_trial = 0, last_trial = 0;
  std::int64_t begin = 0, end = 0;  ///< of all its windows
  std::vector<TrialPeak> trials;    ///< ascending
};

class HitClusters {
 public:
  /// `delay`: of each trial over the band, samples, ascending. No window is longer than `longest`, no
  /// resolution coarser than `factor`.
  HitClusters(std::vector<double> delay, std::int64_t longest, std::int64_t factor);
  /// Hits whose windows begin before `until`; later hits begin at `until` or later.
  void add(std::vector<Hit> hits, std::int64_t until);
  /// The candidates that are complete, by time of their best window; ends with those that are left when
  /// `ends`.
  std::vector<Candidate> take(bool ends);

 private:
  struct Member {
    Hit hit;
    std::uint32_t cluster;
  };
  std::uint32_t root(std::uint32_t cluster);
  void join(std::uint32_t a, std::uint32_t b);
  bool friends(const Hit& a, const Hit& b) const;
  void link(std::uint32_t trial, std::uint32_t other, std::int64_t from);
  /// Drops what no later hit can join, and numbers the clusters that are left from 0 on.
  void forget();

  std::vector<std::deque<Member>> recent_;  ///< [trial], by time
  std::vector<Candidate> clusters_;         ///< by number; joined ones are empty
  std::vector<std::uint32_t> parent_;
  std::vector<Candidate> complete_;  ///< waiting for their turn
  std::vector<double> delay_;
  std::int64_t longest_, reach_, until_ = 0;
};

}  // namespace apsyn
