// SPDX-License-Identifier: GPL-3.0-or-later
// Shares of a track's rows in its nodes, and of nodes in rows, made by a block of threads. For device code.
#pragma once

#include "kernels/idg/cuda/tracks/tracks.cuh"

namespace apsyn::idg_cuda {

constexpr int kMaxNodes = idg::kMaxTrackNodes;

/// A track's nodes, in shared memory.
struct TrackNodeTable {
  float node[kMaxNodes], rest[kMaxNodes];  ///< their sums are the nodes
  float weight[kMaxNodes];                 ///< barycentric; 0 beyond the nodes

  /// By the first kMaxNodes threads; those who read it wait for them.
  __device__ __forceinline__ void fill(const DeviceTrack& track) {
    if (threadIdx.x >= kMaxNodes) return;
    const std::uint32_t k = min(threadIdx.x, track.n_nodes - 1);
    const double at = idg::chebyshev_node(k, track.n_nodes);
    node[threadIdx.x] = static_cast<float>(at);
    rest[threadIdx.x] = static_cast<float>(at - static_cast<double>(node[threadIdx.x]));
    const float own = sinpif((static_cast<float>(k) + 0.5f) / static_cast<float>(track.n_nodes));
    weight[threadIdx.x] = threadIdx.x >= track.n_nodes ? 0 : k % 2 == 0 ? own : -own;
  }

  /// The barycentric form (Berrut and Trefethen 2004) of Lagrange's polynomials at t, not yet divided by
  /// their sum; beyond the nodes 0. Returns 1 / their sum. kNodes: those of the track, up to a multiple of 4.
  template <int kNodes>
  __device__ __forceinline__ float make_shares(float t, float* shares) const {
    float sum = 0;
#pragma unroll 1
    for (int first = 0; first < kNodes; first += 4) {
      float part[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int k = first + i;
        // Where a row lies on a node its share is all but 1e-9.
        const float distance = (t - node[k]) - rest[k];
        part[i] = __fdividef(weight[k], fabsf(distance) < 1e-9f ? 1e-9f : distance);
        sum += part[i];
      }
      *reinterpret_cast<float4*>(shares + first) = make_float4(part[0], part[1], part[2], part[3]);
    }
    return 1 / sum;
  }
};

/// run(Nodes<n>()) for the track's nodes, up to a multiple of 4.
template <int kNodes>
struct Nodes {
  static constexpr int n = kNodes;
};
template <class Run>
__device__ __forceinline__ void with_nodes(std::uint32_t n_nodes, const Run& run) {
  static_assert(kMaxNodes == 24);
  switch ((n_nodes + 3) / 4) {
    case 1:
      return run(Nodes<4>());
    case 2:
      return run(Nodes<8>());
    case 3:
      return run(Nodes<12>());
    case 4:
      return run(Nodes<16>());
    case 5:
      return run(Nodes<20>());
    default:
      return run(Nodes<24>());
  }
}

}  // namespace apsyn::idg_cuda
