// SPDX-License-Identifier: GPL-3.0-or-later
// partition.h's cutting on the device, with the same result to the last bit. For device and host code with
// CUDA.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/sort.cuh"
#include "kernels/common/cuda/transfer.h"
#include "kernels/idg/partition/cut_rows.h"

namespace apsyn::idg {

/// The arrays of a block that decide how it is cut, in device memory.
struct DeviceCutInput {
  const double* uvw_m;                        ///< [row][3]
  const double* wavenumber;                   ///< [chan]
  const float* weight;                        ///< [row][chan][plane]; null: every visibility has data
  const std::uint32_t* station;               ///< [row][p, q]; null: all rows are of one baseline
  const std::uint32_t *row_slot, *chan_slot;  ///< [row], [chan]; null without A-terms
  std::uint32_t n_row, n_chan, n_planes;      ///< n_planes: of the weights
  const std::uint32_t* response = nullptr;    ///< AtermBlock::response, or null
  /// Of the A-terms; n_stations of `response`, if there is one.
  std::uint32_t n_row_slots = 0, n_chan_slots = 0, n_stations = 0, n_responses = 0;
};

/// A block's subgrids: Partition's tasks, and their runs.
struct DeviceTables {
  Upload<SubTable> tables;                 ///< by layer, then v, then u
  Upload<VisibilityRun> runs;              ///< each table's together; of others, too
  std::uint32_t n_tables = 0, n_runs = 0;  ///< n_runs: of the tables
  std::uint64_t n_visibilities = 0;
};

/// Rows of one baseline and a range of channels: one thread, or a few lanes together (cut_lanes.cuh), cut
/// them.
struct CutItem {
  std::uint32_t first, n;  ///< of the sorted rows
  ChannelRange range;
};
struct CutCounters {
  std::uint32_t n, n_too, refused, n_tables, n_runs;
  unsigned long long n_visibilities;
};

class DeviceCutter {
 public:
  /// All work goes into the stream, which the caller keeps.
  explicit DeviceCutter(cudaStream_t stream) : stream_(stream), sort_(stream) {}
  /// Waits for the stream several times. False when a coordinate is refused: partition() says which.
  bool cut(const CutLimits& limits, const DeviceCutInput& input, DeviceTables& out);
  /// Sets the number of lanes for each item: 32, 8 or 1, or 0 for as many as keep the device busy. The result
  /// is the same.
  void use_lanes(int n) { lanes_ = n; }

 private:
  /// The counters, those named taken from elsewhere on the device; waits.
  CutCounters counters(const std::uint32_t* n = nullptr, const std::uint32_t* n_too = nullptr);
  std::uint32_t last_of(const std::uint32_t* inclusive_sums, std::uint32_t n);
  void sort_rows(const DeviceCutInput& input);
  std::uint32_t list_pieces(const DeviceCutInput& input);
  void join_small(const CutLimits& limits, const DeviceCutInput& input, DeviceTables& out);
  void order(const CutLimits& limits, const SubTable* tables, DeviceTables& out);

  cudaStream_t stream_;
  int lanes_ = 0;
  DeviceSort sort_;
  Upload<CutCounters> counters_;
  std::unique_ptr<CutCounters[], FreePinned> host_counters_ = pinned<CutCounters>(1);
  Upload<RowData> data_;
  Upload<std::uint32_t> rows_, start_, pieces_, first_item_, n_tables_, n_runs_, opens_, places_;
  Upload<double> share_;
  Upload<CutItem> items_;
  DeviceTables cut_;
  Upload<SubTable> joined_;
};

}  // namespace apsyn::idg
