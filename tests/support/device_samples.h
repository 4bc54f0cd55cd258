// SPDX-License-Identifier: GPL-3.0-or-later
// Samples and results on the device, for tests of the X stage in builds with CUDA.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/correlate/cuda/x_stage/device.cuh"
#include "tests/reference/input_products.h"

namespace apsyn::support {

using x_layout::Bits, x_layout::Layout;
using Samples = Buffer<std::int8_t, 4>;

template <class T>
DeviceArray<T> to_device(const T* host, std::size_t n) {
  DeviceArray<T> array(n);
  cuda_check(cudaMemcpy(array.data(), host, n * sizeof(T), cudaMemcpyHostToDevice), "copying");
  cuda_check(cudaDeviceSynchronize(), "copying");  // a copy from pageable memory may still be under way
  return array;
}
template <class T>
std::vector<T> to_host(const DeviceArray<T>& array) {
  std::vector<T> host(array.size());
  cuda_check(cudaMemcpy(host.data(), array.data(), array.size() * sizeof(T), cudaMemcpyDeviceToHost),
             "copying");
  return host;
}

/// The samples as an F stage leaves them; everything else is poisoned.
inline std::vector<std::int8_t> laid_out(const Samples& x, const Layout& layout) {
  std::vector<std::int8_t> bytes(layout.bytes(), 0x55);
  for (int t = 0; t < int(x.extent(0)); ++t)
    for (int chan = 0; chan < layout.n_chan; ++chan)
      for (int input = 0; input < layout.n_input; ++input) {
        std::int8_t* row = bytes.data() + layout.row(chan, t / 64, input);
        if (layout.bits == Bits::four) {
          row[x_layout::offset_4bit(input, t % 64)] =
              static_cast<std::int8_t>(x(t, chan, input, 0) * 16 + (x(t, chan, input, 1) & 15));
          continue;
        }
        for (int part = 0; part < 2; ++part)
          row[x_layout::offset_8bit(input, part, t % 64)] = x(t, chan, input, part);
      }
  return bytes;
}

struct Stream {
  cudaStream_t get = nullptr;
  Stream() { cuda_check(cudaStreamCreateWithFlags(&get, cudaStreamNonBlocking), "creating a stream"); }
  ~Stream() { cudaStreamDestroy(get); }
};

/// Pinned memory, poisoned.
template <class T>
struct Pinned {
  T* data = nullptr;
  std::size_t size;
  explicit Pinned(std::size_t n) : size(n) {
    void* memory = nullptr;
    cuda_check(cudaMallocHost(&memory, n * sizeof(T)), "allocating");
    std::fill_n(static_cast<unsigned char*>(memory), n * sizeof(T), 0x77);
    data = static_cast<T*>(memory);
  }
  ~Pinned() { cudaFreeHost(data); }
};

}  // namespace apsyn::support
