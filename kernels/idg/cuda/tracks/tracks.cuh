// SPDX-License-Identifier: GPL-3.0-or-later
// Finding on the device the rows of sub-tables that lie on tracks, and the nodes that are gridded or
// predicted instead of them (tracks/track_nodes.h). For device and host code with CUDA.
#pragma once

#include "kernels/common/cuda/sort.cuh"
#include "kernels/idg/cuda/partition/cut.cuh"
#include "kernels/idg/cuda/partition/slots.cuh"
#include "kernels/idg/tracks/device_track.h"
#include "kernels/idg/tracks/track_fit.h"

namespace apsyn::idg_cuda {

/// A block's, those of a sub-table together and in the order of the sub-tables.
struct DeviceTracks {
  Upload<DeviceTrack> tracks;
  Upload<NodeRow> rows;
  Upload<float> t;                           ///< of every track's runs: where they lie along it, in [-1, 1]
  Upload<std::uint32_t> end_track;           ///< [table] inclusive sums
  Upload<std::uint32_t> end_row, end_place;  ///< [track] inclusive sums
  std::uint32_t n_tracks = 0, n_rows = 0, n_places = 0;  ///< n_tracks 0: rows are taken as they are
};

/// The places of each sub-table for which lists are made: those of its tracks or, without tracks, its
/// visibilities.
struct TableContents {
  const idg::SubTable* tables;
  const std::uint32_t *end_track, *end_row, *end_place;  ///< null without tracks

#ifdef __CUDACC__
  __device__ std::uint32_t before(const std::uint32_t* sums, std::uint32_t table) const {
    return table == 0 ? 0 : sums[end_track[table - 1] - 1];
  }
  __device__ std::uint32_t n_places(std::uint32_t table) const {
    if (end_track == nullptr) return tables[table].n_visibilities;
    return end_place[end_track[table] - 1] - before(end_place, table);
  }
  __device__ std::uint32_t first_row(std::uint32_t table) const {
    return end_track == nullptr ? tables[table].first_run : before(end_row, table);
  }
  __device__ std::uint32_t n_rows(std::uint32_t table) const {
    if (end_track == nullptr) return tables[table].n_runs;
    return end_row[end_track[table] - 1] - before(end_row, table);
  }
#endif
};
inline TableContents contents_of(const idg::DeviceTables& tables, const DeviceTracks* tracks) {
  if (tracks == nullptr || tracks->n_tracks == 0) return {tables.tables.data(), nullptr, nullptr, nullptr};
  return {tables.tables.data(), tracks->end_track.data(), tracks->end_row.data(), tracks->end_place.data()};
}

class TrackFinder {
 public:
  explicit TrackFinder(cudaStream_t stream) : stream_(stream), sort_(stream) {}
  /// Waits for the stream. Finds no tracks where they would save little.
  void find(const idg::NodeLimits& limits, const idg::DeviceCutInput& rows, const idg::DeviceTables& tables,
            DeviceTracks& out);

 private:
  cudaStream_t stream_;
  DeviceSort sort_;
  Upload<idg::TrackCurve> curves_;
  Upload<std::uint32_t> end_t_;
  std::unique_ptr<std::uint32_t[], FreePinned> host_ = pinned<std::uint32_t>(2);
};

/// values [place][plane]: of nodes sums over the rows of their track,
///   sum_i L_k(t_i) weight_i V_i exp(-2 pi i path_i / wavelength),
/// L_k Lagrange's polynomials of the nodes; of other rows the weighted visibilities. Folded.
struct TrackValuesTask {
  const DeviceTrack* tracks;
  const NodeRow* rows;
  const VisibilityRun* runs;
  const float* t;  ///< DeviceTracks::t
  BlockArrays block;
  std::uint32_t n_tracks;
  int n_planes;  ///< planes from n_data_planes on are the PSF's: V = 1 with the weights of plane 0
  float2* values;
};
void launch_track_values(const TrackValuesTask& task, cudaStream_t stream);

/// The other direction: out [row][chan][plane] of the runs,
///   V_i = exp(+2 pi i path_i / wavelength) sum_k L_k(t_i) V_k,
/// no longer folded; other visibilities are left alone.
struct TrackRowsTask {
  const DeviceTrack* tracks;
  const NodeRow* rows;
  const VisibilityRun* runs;
  const float* t;            ///< DeviceTracks::t
  const double* path_m;      ///< [row] or null
  const double* wavenumber;  ///< [chan]
  std::uint32_t n_tracks;
  int n_chan, n_planes;
  bool adjoint;          ///< values are matrices XX XY YX YY of A-terms
  const float2* values;  ///< [place][plane], folded
  float2* out;
};
void launch_track_rows(const TrackRowsTask& task, cudaStream_t stream);

}  // namespace apsyn::idg_cuda
