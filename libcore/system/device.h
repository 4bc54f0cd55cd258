// SPDX-License-Identifier: GPL-3.0-or-later
// The processor that an operation runs on, and what the machine offers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace apsyn {

struct Device {
  enum class Kind { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;
  std::string description;  ///< for messages, for example "cpu (2 threads)"
};

enum class CudaSupport { none, available };  ///< whether the operation at hand has a CUDA path

/// "auto", "cpu", "cuda" or "cuda:N". An explicit cuda that is absent throws DeviceError (never falls back);
/// other text throws UsageError. `auto` takes CUDA when built in, present and `support` says so.
Device choose_device(std::string_view text, CudaSupport support, unsigned n_threads);

/// Whether the CUDA toolkit was there when this was compiled.
bool built_with_cuda();
/// 0 without CUDA or without a GPU.
int cuda_device_count();
std::string cuda_device_name(int index);
/// All of its own memory; 0 where it is not known.
std::uint64_t cuda_device_memory_bytes(int index);

/// Threads this process may use (affinity and cgroup quota), at least 1.
unsigned available_threads();
/// Memory this process may use: the machine's, limited by the cgroup.
std::uint64_t available_memory_bytes();
std::uint64_t peak_memory_bytes();

}  // namespace apsyn
