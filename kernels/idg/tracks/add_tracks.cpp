// SPDX-License-Identifier: GPL-3.0-or-later
// A track's node values stay in the caches; the caller's data, rows far apart, are what takes the time: they
// are fetched ahead.
#include "kernels/idg/tracks/add_tracks.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "kernels/idg/tracks/lagrange_shares.h"
#include "kernels/idg/tracks/track_fit.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/tracks/add_tracks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef APSYN_ADD_TRACKS_ONCE
#define APSYN_ADD_TRACKS_ONCE
namespace apsyn::idg_cuda {
namespace {

constexpr std::size_t kPaddedNodes = 32, kLineBytes = 64, kAheadBytes = 4096, kMaxAhead = 64;
static_assert(idg::kMaxTrackNodes <= kPaddedNodes);

/// Maximum number of a track's nodes, rounded up to whole vectors.
struct NodeTable {
  alignas(64) float node[kPaddedNodes], rest[kPaddedNodes];  ///< their sums are the nodes; 2 beyond
  alignas(64) float weight[kPaddedNodes];                    ///< barycentric; 0 beyond
};
using NodeTables = std::array<NodeTable, idg::kMaxTrackNodes + 1>;  ///< [n]

/// Some floats of one row.
struct RowPart {
  std::size_t n_nodes, stride;  ///< of values [node]
  const float* values;
  const float* share;  ///< [node]
  float scale;         ///< of the shares
  float* to;
};

}  // namespace
}  // namespace apsyn::idg_cuda
#endif

HWY_BEFORE_NAMESPACE();
namespace apsyn::idg_cuda::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;

/// The barycentric form (Berrut and Trefethen 2004) of Lagrange's polynomials at t, not yet divided by their
/// sum. Returns 1 / that.
HWY_INLINE float make_shares(const NodeTable& nodes, std::size_t n, float t, float* HWY_RESTRICT share) {
  const D d;
  const auto at = hn::Set(d, t), least = hn::Set(d, 1e-9f);
  auto sum = hn::Zero(d);
  for (std::size_t k = 0; k < n; k += hn::Lanes(d)) {
    const auto distance = hn::Sub(hn::Sub(at, hn::Load(d, nodes.node + k)), hn::Load(d, nodes.rest + k));
    // If a row lies on a node, the node's share is 1 to within 1e-9.
    const auto part = hn::Div(hn::Load(d, nodes.weight + k),
                              hn::IfThenElse(hn::Lt(hn::Abs(distance), least), least, distance));
    hn::Store(part, d, share + k);
    sum = hn::Add(sum, part);
  }
  return 1 / hn::GetLane(hn::SumOfLanes(d, sum));
}

/// to[i] += scale sum_k share[k] values[k][i] for n_vectors vectors.
template <std::size_t n_vectors>
HWY_INLINE void add_vectors(const RowPart& part, std::size_t first) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const float* HWY_RESTRICT values = part.values + first;
  hn::Vec<D> sum[n_vectors];
  for (std::size_t v = 0; v < n_vectors; ++v) sum[v] = hn::Zero(d);
  for (std::size_t k = 0; k < part.n_nodes; ++k, values += part.stride) {
    const auto share = hn::Set(d, part.share[k]);
    for (std::size_t v = 0; v < n_vectors; ++v)
      sum[v] = hn::MulAdd(hn::LoadU(d, values + v * lanes), share, sum[v]);
  }
  const auto scale = hn::Set(d, part.scale);
  float* HWY_RESTRICT to = part.to + first;
  for (std::size_t v = 0; v < n_vectors; ++v)
    hn::StoreU(hn::MulAdd(sum[v], scale, hn::LoadU(d, to + v * lanes)), d, to + v * lanes);
}

/// The same for n floats, fewer than a vector; values are read beyond.
HWY_INLINE void add_some(const RowPart& part, std::size_t first, std::size_t n) {
  const D d;
  const float* HWY_RESTRICT values = part.values + first;
  auto sum = hn::Zero(d);
  for (std::size_t k = 0; k < part.n_nodes; ++k, values += part.stride)
    sum = hn::MulAdd(hn::LoadU(d, values), hn::Set(d, part.share[k]), sum);
  HWY_ALIGN float rest[16] = {};
  hn::Store(sum, d, rest);
  for (std::size_t i = 0; i < n; ++i) part.to[first + i] += part.scale * rest[i];
}

HWY_INLINE void add_row(const RowPart& part, std::size_t n) {
  const std::size_t lanes = hn::Lanes(D());
  std::size_t i = 0;
  for (; i + 8 * lanes <= n; i += 8 * lanes) add_vectors<8>(part, i);
  if (i + 4 * lanes <= n) add_vectors<4>(part, i), i += 4 * lanes;
  if (i + 2 * lanes <= n) add_vectors<2>(part, i), i += 2 * lanes;
  if (i + lanes <= n) add_vectors<1>(part, i), i += lanes;
  if (i < n) add_some(part, i, n - i);
}

HWY_INLINE void add_copy(const float* HWY_RESTRICT from, float* HWY_RESTRICT to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
}

HWY_INLINE float* row_of(const PredictedTracks& from, const TrackRun& run, float* data) {
  return data + (std::size_t(run.row) * from.n_chan + run.first_channel) * 2 * from.n_planes;
}

/// Inlined by force: GCC drops calls to a function that only prefetches, since it sees no effect in it.
HWY_INLINE void fetch(const PredictedTracks& from, const TrackRun& run, float* data) {
  const auto* at = reinterpret_cast<const char*>(row_of(from, run, data));
  for (std::size_t i = 0; i < run.n_channels * from.n_planes * 2 * sizeof(float); i += kLineBytes)
    __builtin_prefetch(at + i, 1);
}

void add_track(const PredictedTracks& from, std::size_t index, const NodeTables& tables, float* data) {
  HWY_ALIGN float share[kPaddedNodes];
  const DeviceTrack& track = from.tracks[index];
  const TrackRun* runs = from.runs + track.first_t;
  const std::size_t channel = 2 * from.n_planes, row_bytes = track.n_channels * channel * sizeof(float),
                    ahead = std::clamp<std::size_t>(kAheadBytes / row_bytes, 1, kMaxAhead);
  if (index + 1 < from.n_tracks) {
    const DeviceTrack& next = from.tracks[index + 1];
    for (std::size_t i = 0; i < std::min<std::size_t>(ahead, next.n_runs); ++i)
      fetch(from, from.runs[next.first_t + i], data);
  }
  const float* values = reinterpret_cast<const float*>(from.values) + track.first_place * channel;
  for (std::size_t i = 0; i < track.n_runs; ++i) {
    if (i + ahead < track.n_runs) fetch(from, runs[i + ahead], data);
    const TrackRun& run = runs[i];
    const std::size_t n = run.n_channels * channel;
    if (track.n_nodes == 0) {
      add_copy(values, row_of(from, run, data), n);
      values += n;
      continue;
    }
    const float scale = make_shares(tables[track.n_nodes], track.n_nodes, run.t, share);
    add_row(
        {track.n_nodes, track.n_channels * channel,
         values + (run.first_channel - track.first_channel) * channel, share, scale, row_of(from, run, data)},
        n);
  }
}

}  // namespace apsyn::idg_cuda::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn::idg_cuda {
HWY_EXPORT(add_track);

namespace {

NodeTables make_tables() {
  NodeTables tables{};
  for (std::size_t n = 1; n < tables.size(); ++n) {
    const LagrangeShares shares(n);
    NodeTable& table = tables[n];
    std::fill(std::begin(table.node), std::end(table.node), 2.0f);
    for (std::size_t k = 0; k < n; ++k) {
      table.node[k] = static_cast<float>(shares.node(k));
      table.rest[k] = static_cast<float>(shares.node(k) - static_cast<double>(table.node[k]));
      table.weight[k] = static_cast<float>(shares.weight(k));
    }
  }
  return tables;
}

}  // namespace

void add_tracks(const PredictedTracks& from, std::size_t first_track, std::size_t n_tracks,
                std::complex<float>* data) {
  static const NodeTables tables = make_tables();
  for (std::size_t i = first_track; i < first_track + n_tracks; ++i)
    HWY_DYNAMIC_DISPATCH(add_track)(from, i, tables, reinterpret_cast<float*>(data));
}

}  // namespace apsyn::idg_cuda
#endif
