// SPDX-License-Identifier: GPL-3.0-or-later
// Memory, events and copies of a stream of blocks through a device. For host code with CUDA only.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "kernels/common/cuda/array.h"

namespace apsyn {

struct FreePinned {
  void operator()(void* memory) const { cudaFreeHost(memory); }
};
template <class T>
std::unique_ptr<T[], FreePinned> pinned(std::size_t size) {
  void* memory = nullptr;
  cuda_check(cudaMallocHost(&memory, size * sizeof(T)), "allocating pinned memory");
  return std::unique_ptr<T[], FreePinned>(static_cast<T*>(memory));
}

/// Memory that transfers straight for as long as the result lives; null where it cannot be pinned, and copies
/// go through pinned memory instead.
inline std::shared_ptr<void> pin_memory(void* memory, std::size_t bytes) {
  if (bytes == 0 || cudaHostRegister(memory, bytes, cudaHostRegisterDefault) != cudaSuccess) {
    cudaGetLastError();  // not to be taken for a later call's
    return nullptr;
  }
  return {memory, [](void* pinned) {
            cudaDeviceSynchronize();  // copies out of it that were queued
            cudaHostUnregister(pinned);
          }};
}

/// Whether a byte is in memory that transfers straight.
inline bool is_pinned(const void* memory) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, memory) == cudaSuccess)
    return attributes.type == cudaMemoryTypeHost;
  cudaGetLastError();  // says the same of other memory
  return false;
}

/// The device's address of a range in memory that transfers straight; null for other memory.
inline const void* device_address(const void* memory, std::size_t bytes) {
  auto address = [](const void* at) -> const char* {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, at) != cudaSuccess) cudaGetLastError();
    return attributes.type == cudaMemoryTypeHost ? static_cast<const char*>(attributes.devicePointer)
                                                 : nullptr;
  };
  if (bytes == 0) return nullptr;
  const char *first = address(memory), *last = address(static_cast<const char*>(memory) + bytes - 1);
  return first != nullptr && last == first + bytes - 1 ? first : nullptr;
}

/// An array on the device that grows when it must.
template <class T>
class Upload {
 public:
  T* reserve(std::size_t size) {
    if (size > array_.size()) {
      array_ = DeviceArray<T>();  // give back before asking for more
      array_ = DeviceArray<T>(size + size / 4);
    }
    return array_.data();
  }
  /// Of exactly this size, for an array that will not grow.
  void allocate(std::size_t size) {
    array_ = DeviceArray<T>();
    array_ = DeviceArray<T>(size);
  }
  T* copy(const void* host, std::size_t size) {
    if (size == 0) return nullptr;
    reserve(size);
    cuda_check(cudaMemcpy(array_.data(), host, size * sizeof(T), cudaMemcpyHostToDevice),
               "copying to the device");
    finish_default_stream();
    return array_.data();
  }
  /// The same in the order of a stream, for few values: up to 64 kB are taken at once, and the host goes on.
  /// What has been given to the stream may still read the values before, if there were as many.
  T* copy(const void* host, std::size_t size, cudaStream_t stream) {
    if (size == 0) return nullptr;
    reserve(size);
    cuda_check(cudaMemcpyAsync(array_.data(), host, size * sizeof(T), cudaMemcpyHostToDevice, stream),
               "copying to the device");
    return array_.data();
  }
  T* data() const { return array_.data(); }

 private:
  DeviceArray<T> array_;
};

class Event {
 public:
  Event() { cuda_check(cudaEventCreate(&event_), "creating an event"); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  void record(cudaStream_t stream) { cuda_check(cudaEventRecord(event_, stream), "recording an event"); }
  void wait() { cuda_check(cudaEventSynchronize(event_), "waiting for the device"); }
  /// Work given to the stream from now on waits for the event.
  void hold(cudaStream_t stream) const {
    cuda_check(cudaStreamWaitEvent(stream, event_, 0), "ordering streams");
  }
  double seconds_since(const Event& begin) const {
    float ms = 0;
    cuda_check(cudaEventElapsedTime(&ms, begin.event_, event_), "reading an event");
    return ms * 1e-3;
  }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CopyStream {
 public:
  CopyStream() {
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  }
  /// Its kernels go before those that wait in other streams.
  static CopyStream urgent() {
    int least = 0, greatest = 0;
    cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities");
    cudaStream_t stream = nullptr;
    cuda_check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "creating a stream");
    return CopyStream(stream);
  }
  CopyStream(const CopyStream&) = delete;
  CopyStream& operator=(const CopyStream&) = delete;
  ~CopyStream() { cudaStreamDestroy(stream_); }
  cudaStream_t get() const { return stream_; }

 private:
  explicit CopyStream(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t stream_ = nullptr;
};

}  // namespace apsyn
