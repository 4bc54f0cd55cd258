// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/transfer/shared_images.cuh"

#include <cstdint>
#include <cstring>
#include <memory>

namespace apsyn::idg_cuda {
namespace {

/// cudaMalloc gives what is smaller out of blocks of 2 MiB, and handles are those of the blocks.
constexpr std::size_t kMinBytes = std::size_t{4} << 20;

struct Handle {
  cudaIpcMemHandle_t memory;
  std::uint64_t n_values;
};

struct CloseHandle {
  void operator()(void* memory) const { cudaIpcCloseMemHandle(memory); }
};

/// Four loads in flight: those of another GPU take long.
__global__ void __launch_bounds__(256) add_values(double* to, const double* from, std::size_t n) {
  constexpr int kAtOnce = 4;
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t first = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; first < n;
       first += kAtOnce * step) {
    double other[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (first + k * step < n) other[k] = from[first + k * step];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (first + k * step < n) to[first + k * step] += other[k];
  }
}

}  // namespace

std::vector<std::byte> shared_handle(const DeviceArray<double>& values) {
  Handle handle{};
  handle.n_values = values.size();
  if (values.size() * sizeof(double) < kMinBytes) return {};
  if (cudaIpcGetMemHandle(&handle.memory, values.data()) != cudaSuccess) {
    cudaGetLastError();  // not to be taken for a later call's
    return {};
  }
  std::vector<std::byte> bytes(sizeof(Handle));
  std::memcpy(bytes.data(), &handle, sizeof(Handle));
  return bytes;
}

bool add_shared(const DeviceArray<double>& to, std::span<const std::byte> bytes, cudaStream_t stream) {
  Handle handle;
  if (bytes.size() != sizeof(Handle)) return false;
  std::memcpy(&handle, bytes.data(), sizeof(Handle));
  if (handle.n_values != to.size()) return false;
  void* memory = nullptr;
  if (cudaIpcOpenMemHandle(&memory, handle.memory, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  const std::unique_ptr<void, CloseHandle> open(memory);
  add_values<<<1024, 256, 0, stream>>>(to.data(), static_cast<const double*>(memory), to.size());
  cuda_check(cudaGetLastError(), "launching the sum of images");
  cuda_check(cudaStreamSynchronize(stream), "adding another GPU's images");
  return true;
}

}  // namespace apsyn::idg_cuda
