// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/check.h"
#include "kernels/idg/cuda/partition/slots.cuh"

namespace apsyn::idg_cuda {
namespace {

constexpr int kOrderThreads = 128, kPrepareThreads = 128;

/// Calls visit(cell, bin) for the visibilities of this thread's runs, or for its nodes' channels.
template <class Visit>
__device__ __forceinline__ void for_each_visibility(const OrderTask& task, const SlotTask& own, Visit visit) {
  const double bins_per_lambda = own.half_w_lambda > 0 ? own.n_bins / (2 * own.half_w_lambda) : 0.0;
  const double min_w = own.w_lambda - own.half_w_lambda;
  for (std::uint32_t i = threadIdx.x; i < own.n_runs; i += kOrderThreads) {
    double w_m;
    std::uint32_t first_channel, n_channels, first_cell;
    if (task.nodes != nullptr) {
      const NodeRow& row = task.nodes[own.first_run + i];
      w_m = row.w_m, first_channel = row.first_channel, n_channels = row.n_channels;
      first_cell = i << kNodeChannelBits;
    } else {
      const VisibilityRun run = task.runs[own.first_run + i];
      w_m = fabs(task.block.uvw_m[3 * std::size_t(run.row) + 2]);
      first_channel = run.first_channel, n_channels = run.n_channels;
      first_cell = run.row * task.block.n_chan + first_channel;
    }
    for (std::uint32_t k = 0; k < n_channels; ++k) {
      const double w = w_m * task.block.wavenumber[first_channel + k];
      const int bin = static_cast<int>((w - min_w) * bins_per_lambda);
      visit(first_cell + k, max(0, min(bin, static_cast<int>(own.n_bins) - 1)));
    }
  }
}

/// A block sorts one task's visibilities by (bin, thread, run, channel).
__global__ void __launch_bounds__(kOrderThreads) order(OrderTask task) {
  __shared__ std::uint16_t place[kMaxBins][kOrderThreads];
  static_assert(idg::kMaxVisibilities <= 0xffff);
  __shared__ std::uint32_t bin_size[kMaxBins], bin_start[kMaxBins];
  const SlotTask own = task.tasks[blockIdx.x];
  for (std::uint32_t bin = 0; bin < own.n_bins; ++bin) place[bin][threadIdx.x] = 0;
  for_each_visibility(task, own, [&](std::uint32_t, int bin) { ++place[bin][threadIdx.x]; });
  __syncthreads();
  // Counts -> where a thread's first visibility of a bin stands in the bin.
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (std::uint32_t bin = warp; bin < own.n_bins; bin += kOrderThreads / 32) {
    std::uint32_t count[4], sum = 0;
    for (int i = 0; i < 4; ++i) sum += count[i] = place[bin][4 * lane + i];
    std::uint32_t before = sum;
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(~0u, before, step);
      if (lane >= step) before += other;
    }
    if (lane == 31) bin_size[bin] = before;
    before -= sum;
    for (int i = 0; i < 4; ++i) {
      place[bin][4 * lane + i] = before;
      before += count[i];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const double bin_width = 2 * own.half_w_lambda / own.n_bins;
    auto slots_of_bin = [&](std::uint32_t bin) {
      return (bin_size[bin] + kSlotGroup - 1) / kSlotGroup * kSlotGroup;
    };
    std::uint32_t start = 0, n_chunks = 0, n_slots = 0;
    for (std::uint32_t bin = 0; bin < own.n_bins; ++bin) n_slots += slots_of_bin(bin);
    for (std::uint32_t bin = 0; bin < own.n_bins; ++bin) {
      bin_start[bin] = start;
      const std::uint32_t n = slots_of_bin(bin);
      const auto offset = static_cast<float>((bin + 0.5) * bin_width - own.half_w_lambda);
      for (std::uint32_t first = 0; first < n; first += kChunkSlots)
        task.chunks[own.first_chunk + n_chunks++] = {blockIdx.x, own.first_slot + start + first,
                                                     min(n - first, std::uint32_t(kChunkSlots)), offset,
                                                     n_slots - start - first};
      start += n;
    }
    for (; n_chunks < own.n_chunks; ++n_chunks)
      task.chunks[own.first_chunk + n_chunks] = {blockIdx.x, own.first_slot, 0, 0.0f, 0};
  }
  __syncthreads();
  std::uint32_t* cell = task.cell + own.first_slot;
  for_each_visibility(task, own, [&](std::uint32_t visibility, int bin) {
    cell[bin_start[bin] + place[bin][threadIdx.x]++] = visibility;
  });
  for (std::uint32_t i = threadIdx.x; i < own.n_bins * kSlotGroup; i += kOrderThreads) {
    const std::uint32_t bin = i / kSlotGroup, slot = bin_size[bin] + i % kSlotGroup;
    if (slot < (bin_size[bin] + kSlotGroup - 1) / kSlotGroup * kSlotGroup)
      cell[bin_start[bin] + slot] = kEmptySlot;
  }
}

/// The position of a slot's visibility or node relative to its subgrid; returns the turn to apply to it.
template <class T>
__device__ __forceinline__ double place_slot(const PrepareSlots<T>& task, const SlotTask& own,
                                             const Chunk& chunk, std::size_t slot, double u, double v,
                                             double w) {
  task.out.du[slot] = static_cast<T>((u * task.per_u - own.centre_u) / task.side);
  task.out.dv[slot] = static_cast<T>((v * task.per_v - own.centre_v) / task.side);
  task.out.t[slot] = static_cast<T>((w - own.w_lambda - double(chunk.w_offset_lambda)) / own.w_unit_lambda);
  return -(w - own.layer_w_lambda) * (task.n_middle - 1);
}

template <class T>
__device__ __forceinline__ ComplexOf<T> turned(T re, T im, T sine, T cosine, float& largest) {
  const ComplexOf<T> out{re * cosine - im * sine, re * sine + im * cosine};
  largest = fmaxf(largest, fmaxf(fabsf(float(out.x)), fabsf(float(out.y))));
  return out;
}

template <class T>
__device__ __forceinline__ void prepare_node(const PrepareSlots<T>& task, const SlotTask& own,
                                             const Chunk& chunk, std::size_t slot, std::uint32_t cell,
                                             ComplexOf<T>* value, float& largest) {
  const NodeRow& row = task.nodes[own.first_run + (cell >> kNodeChannelBits)];
  const std::uint32_t chan = cell & (kMaxNodeChannels - 1);
  const double k = task.block.wavenumber[row.first_channel + chan];
  T sine, cosine;
  sincos_turns(place_slot(task, own, chunk, slot, row.u_m * k, row.v_m * k, row.w_m * k), sine, cosine);
  const ComplexOf<T>* in = task.node_values + std::size_t(row.first_place + chan) * task.n_planes;
  for (int plane = 0; plane < task.n_planes; ++plane)
    value[plane] = turned<T>(in[plane].x, in[plane].y, sine, cosine, largest);
}

template <class T>
__device__ __forceinline__ void prepare_visibility(const PrepareSlots<T>& task, const SlotTask& own,
                                                   const Chunk& chunk, std::size_t slot, std::uint32_t cell,
                                                   ComplexOf<T>* value, float& largest) {
  const BlockArrays& block = task.block;
  const std::size_t row = cell / block.n_chan;
  const double wavenumber = block.wavenumber[cell % block.n_chan];
  const double w_m = block.uvw_m[3 * row + 2];
  const double folded =
      w_m < 0 ? -wavenumber : wavenumber;  // V(-u, -v, -w) = V*: only the real part is imaged
  const double w_turns = place_slot(task, own, chunk, slot, block.uvw_m[3 * row] * folded,
                                    block.uvw_m[3 * row + 1] * folded, w_m * folded);
  const double path_turns = block.path_m == nullptr ? 0.0 : -block.path_m[row] * wavenumber;
  T sine, cosine, psf_sine, psf_cosine;
  sincos_turns(w_turns, psf_sine, psf_cosine);
  // For a folded visibility the conjugate is turned, so the path's sign changes.
  sincos_turns(w_turns + (w_m < 0 ? -path_turns : path_turns), sine, cosine);
  const T sign = w_m < 0 ? -1 : 1;
  const float* weights = block.weight + std::size_t(cell) * block.n_weight_planes;
  const bool exchanged = block.adjoint && w_m < 0;
  for (int plane = 0; plane < task.n_planes; ++plane) {
    const bool psf = plane >= block.n_data_planes;
    const int from = exchanged && (plane == 1 || plane == 2) ? 3 - plane : plane;
    const T weight = weights[psf ? 0 : min(from, block.n_weight_planes - 1)];
    ComplexOf<T> out{0, 0};
    if (weight != 0) {
      T re = weight, im = 0;
      if (!psf) {
        const float2 in = block.data[std::size_t(cell) * block.n_data_planes + from];
        re = weight * in.x;
        im = weight * in.y * sign;
      }
      out = turned<T>(re, im, psf ? psf_sine : sine, psf ? psf_cosine : cosine, largest);
    }
    value[plane] = out;
  }
}

/// A block owns a task.
template <class T>
__global__ void __launch_bounds__(kPrepareThreads) prepare_slots(PrepareSlots<T> task) {
  const SlotTask& own = task.tasks[blockIdx.x];
  const Chunk* chunk = task.chunks + own.first_chunk;
  const std::uint32_t first_slot = chunk->first_slot, n_slots = chunk->n_left;
  std::uint32_t chunk_end = chunk->n_slots;  // counted from first_slot
  float largest = 0;
  for (std::uint32_t i = threadIdx.x; i < n_slots; i += kPrepareThreads) {
    while (i >= chunk_end) chunk_end += (++chunk)->n_slots;
    const std::size_t slot = first_slot + i;
    const std::uint32_t cell = task.cell[slot];
    ComplexOf<T>* value = task.out.value + slot * task.n_planes;
    if (cell == kEmptySlot) {
      task.out.du[slot] = task.out.dv[slot] = task.out.t[slot] = 0;
      for (int plane = 0; plane < task.n_planes; ++plane) value[plane] = {0, 0};
    } else if (task.nodes != nullptr) {
      prepare_node(task, own, *chunk, slot, cell, value, largest);
    } else {
      prepare_visibility(task, own, *chunk, slot, cell, value, largest);
    }
  }
  __shared__ float of_warps[kPrepareThreads / 32];
  for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const float other : of_warps) largest = fmaxf(largest, other);
  task.largest[blockIdx.x] = __float_as_uint(largest);
}

}  // namespace

void launch_order(const OrderTask& task, cudaStream_t stream) {
  order<<<task.n_tasks, kOrderThreads, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the sorting of visibilities");
}

template <class T>
void launch_prepare_slots(const PrepareSlots<T>& task, cudaStream_t stream) {
  prepare_slots<<<task.n_tasks, kPrepareThreads, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the gridder's preparation");
}

template void launch_prepare_slots(const PrepareSlots<float>&, cudaStream_t);
template void launch_prepare_slots(const PrepareSlots<double>&, cudaStream_t);

}  // namespace apsyn::idg_cuda
