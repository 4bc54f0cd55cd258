// SPDX-License-Identifier: GPL-3.0-or-later
// A thread makes the matrix of one station, channel and component. Threads of a warp have neighbouring
// components of one station, so that all load the same positions at the same time.
#include "kernels/common/cuda/launch.cuh"
#include "kernels/simulate/cuda/phased.cuh"

namespace apsyn::simulate {
namespace {

constexpr std::size_t kMaxGridY = 65535;

template <class T>
__device__ __forceinline__ const T* moved(const T* from, std::size_t bytes) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(from) + bytes);
}

__global__ void __launch_bounds__(kThreads) phased_kernel(PhasedTask task, std::uint32_t first_pair) {
  const auto c = static_cast<std::uint32_t>(this_thread());
  if (c >= task.first.n_components) return;
  const std::uint32_t pair = first_pair + blockIdx.y;
  const std::uint32_t chan = pair / task.table.n_stations, station = pair % task.table.n_stations;
  const std::size_t bytes = chan * task.stride;
  const PhasedTerms terms{moved(task.first.look, bytes), moved(task.first.directions, bytes),
                          moved(task.first.left, bytes), moved(task.first.elements, bytes),
                          task.first.n_components};
  task.to[std::size_t(pair) * task.first.n_components + c] = phased_matrix(task.table, terms, station, c);
}

}  // namespace

void launch_phased(const PhasedTask& task, cudaStream_t stream) {
  const std::size_t n_pairs = std::size_t(task.n_chan) * task.table.n_stations;
  for (std::size_t first = 0; first < n_pairs; first += kMaxGridY) {
    const std::size_t n = n_pairs - first < kMaxGridY ? n_pairs - first : kMaxGridY;
    phased_kernel<<<dim3(blocks_of(task.first.n_components), static_cast<unsigned>(n)), kThreads, 0,
                    stream>>>(task, static_cast<std::uint32_t>(first));
    launched("summing elements of stations");
  }
}

}  // namespace apsyn::simulate
