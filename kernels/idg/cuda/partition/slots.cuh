// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities on the device in the order of their tasks, for gridders and degridders.
//
// A task's visibilities stand in slots one after the other, sorted into bins of w, each bin filled up to
// whole groups of 16 with empty slots. A chunk is up to 512 slots of one bin; its phases in w are relative to
// the bin's middle, so that few terms of their expansion are needed.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/idg/cuda/complex.cuh"
#include "kernels/idg/partition/sub_table.h"

namespace apsyn::idg_cuda {

constexpr int kSlotGroup = 16, kChunkSlots = 512, kMaxBins = 64;
constexpr std::uint32_t kEmptySlot = 0xffffffff;

struct SlotTask {
  double centre_u, centre_v;            ///< uv cells
  double w_lambda, half_w_lambda;       ///< |w - w_lambda| <= half_w_lambda
  double w_unit_lambda;                 ///< |w - bin's middle| at most: what Slots::t counts in
  double layer_w_lambda;                ///< of the layer whose grid the subgrid is added to
  std::uint32_t first_run, n_runs;      ///< in the runs, or in the nodes
  std::uint32_t first_slot, n_slots;    ///< room: slots_of()
  std::uint32_t first_chunk, n_chunks;  ///< room: chunks_of()
  std::uint32_t n_bins;
};
/// Upper limit on the slots that a task's visibilities need.
__host__ __device__ constexpr std::uint32_t slots_of(std::uint32_t n_visibilities, std::uint32_t n_bins) {
  return (n_visibilities + n_bins * (kSlotGroup - 1)) / kSlotGroup * kSlotGroup;
}
__host__ __device__ constexpr std::uint32_t chunks_of(std::uint32_t n_slots, std::uint32_t n_bins) {
  return n_bins + n_slots / kChunkSlots + 1;
}

struct Chunk {
  std::uint32_t task, first_slot;
  std::uint32_t n_slots;  ///< a multiple of 16; 0: the task has no more
  float w_offset_lambda;  ///< of the bin's middle from the task's w
  std::uint32_t n_left;   ///< slots of the task from first_slot on: chunks stand one after the other
};

/// A block of rows.
struct BlockArrays {
  const double* uvw_m;       ///< [row][3]
  const double* path_m;      ///< [row] or null
  const double* wavenumber;  ///< [chan]
  const float2* data;        ///< [row][chan][data plane]
  const float* weight;       ///< [row][chan][weight plane], one of all planes or one of each
  int n_chan, n_data_planes, n_weight_planes;
  bool adjoint = false;  ///< data are matrices XX XY YX YY of A-terms, folded ones their adjoints
};

/// What is gridded instead of a block's rows (cuda/tracks/tracks.cuh): a node, or a row, and its channels.
struct NodeRow {
  double u_m, v_m, w_m;  ///< folded
  std::uint32_t first_channel, n_channels;
  std::uint32_t first_place;  ///< of its channels in the values of places
  std::uint32_t unused;
};
/// A slot's cell is then row << kNodeChannelBits | channel, both counted from the task's and the row's first:
/// a task has at most kMaxVisibilities.
constexpr int kNodeChannelBits = 18;
constexpr std::uint32_t kMaxNodeChannels = 1u << kNodeChannelBits;
static_assert(idg::kMaxVisibilities < 1u << (32 - kNodeChannelBits));

struct OrderTask {
  const SlotTask* tasks;
  const VisibilityRun* runs;
  BlockArrays block;
  int n_tasks;
  std::uint32_t* cell;             ///< [slot] row * n_chan + chan, or kEmptySlot
  Chunk* chunks;                   ///< [chunk]
  const NodeRow* nodes = nullptr;  ///< instead of the runs, or null
};
void launch_order(const OrderTask& task, cudaStream_t stream);

/// Visibilities relative to their subgrids. Empty slots hold zeros.
template <class T>
struct Slots {
  T *du, *dv;  ///< [slot] turns from one pixel to the next along x, y
  T* t;        ///< [slot] (w - bin's middle) / w_unit_lambda
  ComplexOf<T>*
      value;  ///< [slot][plane] folded, weighted, turned by the path and by (w - layer's w) (n_middle - 1)
};

template <class T>
struct PrepareSlots {
  const SlotTask* tasks;
  const Chunk* chunks;
  const std::uint32_t* cell;
  BlockArrays block;
  int n_tasks, n_planes;  ///< planes from n_data_planes on are the PSF's: V = 1 with the weights of plane 0
  int side;
  double per_u, per_v;  ///< uv cells per wavelength
  double n_middle;
  Slots<T> out;
  std::uint32_t* largest;  ///< [task] bits of the largest |re|, |im| of the task
  /// With both, nodes' values are prepared instead of the block's.
  const NodeRow* nodes = nullptr;
  const ComplexOf<T>* node_values = nullptr;  ///< [place][plane]
};
template <class T>
void launch_prepare_slots(const PrepareSlots<T>& task, cudaStream_t stream);

}  // namespace apsyn::idg_cuda
