// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/search/cluster.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace apsyn {
namespace {

constexpr std::uint32_t kTrialReach = 2;

bool better(const Hit& a, const Hit& b) {
  if (a.sn != b.sn) return a.sn > b.sn;
  return std::tie(a.trial, a.begin, a.width) < std::tie(b.trial, b.begin, b.width);
}

bool earlier(const Hit& a, const Hit& b) {
  return std::tie(a.trial, a.begin, a.width) < std::tie(b.trial, b.begin, b.width);
}

std::vector<TrialPeak> merge(const std::vector<TrialPeak>& a, const std::vector<TrialPeak>& b) {
  std::vector<TrialPeak> all;
  auto x = a.begin(), y = b.begin();
  while (x != a.end() || y != b.end()) {
    if (y == b.end() || (x != a.end() && x->trial < y->trial))
      all.push_back(*x++);
    else if (x == a.end() || y->trial < x->trial)
      all.push_back(*y++);
    else {
      all.push_back({x->trial, std::max(x->sn, y->sn)});
      ++x, ++y;
    }
  }
  return all;
}

}  // namespace

HitClusters::HitClusters(std::vector<double> delay, std::int64_t longest, std::int64_t factor)
    : recent_(delay.size()), delay_(std::move(delay)), longest_(longest), reach_(longest / 2 + 2 * factor) {}

bool HitClusters::friends(const Hit& a, const Hit& b) const {
  const std::int64_t gap = std::max(a.begin, b.begin) - std::min(a.end(), b.end());
  const std::int64_t width = std::max(a.width, b.width);
  if (gap > width / 2 + 2 * static_cast<std::int64_t>(std::max(a.factor, b.factor))) return false;
  const auto [low, high] = std::minmax(a.trial, b.trial);
  return high - low <= kTrialReach || delay_[high] - delay_[low] < static_cast<double>(width);
}

std::uint32_t HitClusters::root(std::uint32_t cluster) {
  while (parent_[cluster] != cluster) cluster = parent_[cluster] = parent_[parent_[cluster]];
  return cluster;
}

void HitClusters::join(std::uint32_t a, std::uint32_t b) {
  a = root(a), b = root(b);
  if (a == b) return;
  if (b < a) std::swap(a, b);
  Candidate &to = clusters_[a], &from = clusters_[b];
  if (better(from.best, to.best)) to.best = from.best;
  to.n_hits += from.n_hits;
  to.first_trial = std::min(to.first_trial, from.first_trial);
  to.last_trial = std::max(to.last_trial, from.last_trial);
  to.begin = std::min(to.begin, from.begin), to.end = std::max(to.end, from.end);
  to.trials = merge(to.trials, from.trials);
  from = {};
  parent_[b] = a;
}

void HitClusters::link(std::uint32_t trial, std::uint32_t other, std::int64_t from) {
  // windows that end before this cannot reach the first of the new hits
  auto first = recent_[other].begin();
  for (Member& member : recent_[trial]) {
    if (member.hit.end() + reach_ < from) continue;
    while (first != recent_[other].end() && first->hit.begin + 4 * reach_ < member.hit.begin) ++first;
    for (auto it = first; it != recent_[other].end() && it->hit.begin <= member.hit.end() + reach_; ++it)
      if (friends(member.hit, it->hit)) join(member.cluster, it->cluster);
  }
}

void HitClusters::add(std::vector<Hit> hits, std::int64_t until) {
  std::sort(hits.begin(), hits.end(), earlier);
  std::int64_t from = std::numeric_limits<std::int64_t>::max();
  for (const Hit& hit : hits) {
    const auto cluster = static_cast<std::uint32_t>(clusters_.size());
    parent_.push_back(cluster);
    clusters_.push_back({hit, 1, hit.trial, hit.trial, hit.begin, hit.end(), {{hit.trial, hit.sn}}});
    recent_[hit.trial].push_back({hit, cluster});
    from = std::min(from, hit.begin);
  }
  std::vector<std::uint32_t> seen;  // trials with hits
  for (std::uint32_t trial = 0; trial < recent_.size(); ++trial)
    if (!recent_[trial].empty()) seen.push_back(trial);
  if (!hits.empty())
    for (std::size_t i = 0; i < seen.size(); ++i)
      for (std::size_t j = i; j < seen.size(); ++j) {
        const bool far = delay_[seen[j]] - delay_[seen[i]] >= static_cast<double>(longest_);
        if (far && seen[j] - seen[i] > kTrialReach) break;
        link(seen[i], seen[j], from);
      }
  until_ = until;
}

std::vector<Candidate> HitClusters::take(bool ends) {
  std::int64_t first_open = until_;
  for (std::uint32_t i = 0; i < clusters_.size(); ++i) {
    if (parent_[i] != i || clusters_[i].n_hits == 0) continue;
    if (ends || clusters_[i].end + reach_ < until_)
      complete_.push_back(std::exchange(clusters_[i], {}));
    else
      first_open = std::min(first_open, clusters_[i].begin);
  }
  const auto time = [](const Candidate& c) { return std::tuple(c.best.begin, c.best.trial, c.best.width); };
  std::sort(complete_.begin(), complete_.end(),
            [&](const Candidate& a, const Candidate& b) { return time(a) < time(b); });
  auto end = complete_.end();
  if (!ends)
    end = std::partition_point(complete_.begin(), complete_.end(),
                               [&](const Candidate& c) { return c.best.begin < first_open; });
  std::vector<Candidate> out(std::make_move_iterator(complete_.begin()), std::make_move_iterator(end));
  complete_.erase(complete_.begin(), end);
  forget();
  return out;
}

void HitClusters::forget() {
  // numbers of clusters that live on start from 0 again
  std::vector<std::uint32_t> number(clusters_.size(), 0);
  std::vector<Candidate> kept;
  for (std::uint32_t i = 0; i < clusters_.size(); ++i)
    if (parent_[i] == i && clusters_[i].n_hits > 0) {
      number[i] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(std::move(clusters_[i]));
    }
  for (auto& members : recent_) {
    std::erase_if(members, [&](const Member& m) { return m.hit.end() + reach_ < until_; });
    for (Member& m : members) m.cluster = number[root(m.cluster)];
  }
  clusters_ = std::move(kept);
  parent_.resize(clusters_.size());
  for (std::uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
}

}  // namespace apsyn
