// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/sort.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

namespace apsyn {
namespace {

struct Larger {
  __host__ __device__ std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return a < b ? b : a;
  }
};

__global__ void count_up(std::uint32_t* order, std::uint32_t n) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) order[i] = i;
}

}  // namespace

std::uint64_t* DeviceSort::keys(std::uint32_t n) {
  keys_[1].reserve(n);
  return keys_[0].reserve(n);
}

void DeviceSort::begin(std::uint32_t n) {
  current_ = 0;
  order_[1].reserve(n);
  count_up<<<(n + 255) / 256, 256, 0, stream_>>>(order_[0].reserve(n), n);
  cuda_check(cudaGetLastError(), "launching a sort");
}

void DeviceSort::by_keys(std::uint32_t n, int n_bits) {
  auto sort = [&](void* scratch, std::size_t& bytes) {
    cuda_check(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys_[0].data(), keys_[1].data(),
                                               order_[current_].data(), order_[current_ ^ 1].data(), n, 0,
                                               n_bits < 1 ? 1 : n_bits, stream_),
               "sorting");
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes);
  sort(scratch(bytes), bytes);
  current_ ^= 1;
}

void DeviceSort::inclusive_sum(const std::uint32_t* values, std::uint32_t* sums, std::uint32_t n) {
  std::size_t bytes = 0;
  cuda_check(cub::DeviceScan::InclusiveSum(nullptr, bytes, values, sums, n, stream_), "summing up");
  cuda_check(cub::DeviceScan::InclusiveSum(scratch(bytes), bytes, values, sums, n, stream_), "summing up");
}

void DeviceSort::inclusive_max(const std::uint32_t* values, std::uint32_t* largest, std::uint32_t n) {
  std::size_t bytes = 0;
  cuda_check(cub::DeviceScan::InclusiveScan(nullptr, bytes, values, largest, Larger{}, n, stream_),
             "looking for the largest");
  cuda_check(cub::DeviceScan::InclusiveScan(scratch(bytes), bytes, values, largest, Larger{}, n, stream_),
             "looking for the largest");
}

}  // namespace apsyn
