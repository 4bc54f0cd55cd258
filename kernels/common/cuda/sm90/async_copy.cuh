// SPDX-License-Identifier: GPL-3.0-or-later
// Copies from global to shared memory that threads start and wait for later (cp.async, from sm_80 on).
#pragma once

#include <cstdint>

namespace apsyn::ptx {

/// 16 bytes, past the first-level cache.
__device__ __forceinline__ void copy_16(std::uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
/// The same, or zeros: `from` is not read where `exists` is false.
__device__ __forceinline__ void copy_16_or_zeros(std::uint32_t to, const void* from, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(exists ? 16 : 0)
               : "memory");
}
/// The same, and the rest of its 128 bytes to the second-level cache.
__device__ __forceinline__ void copy_16_of_line_or_zeros(std::uint32_t to, const void* from, bool exists) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(exists ? 16 : 0)
               : "memory");
}

/// 8 bytes, through the first-level cache.
__device__ __forceinline__ void copy_8(std::uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from) : "memory");
}
/// 4, 8 or 16 bytes through the first-level cache, or zeros.
template <int kBytes>
__device__ __forceinline__ void copy_cached_or_zeros(std::uint32_t to, const void* from, bool exists) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kBytes),
               "r"(exists ? kBytes : 0)
               : "memory");
}

/// Ends a group of copies, which may be empty: threads count their groups.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most kPending of the thread's groups are on their way.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Asks for the line of an address, into the first-level cache.
__device__ __forceinline__ void fetch_ahead(const void* from) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
}

}  // namespace apsyn::ptx
