// SPDX-License-Identifier: GPL-3.0-or-later
// Divisions of small numbers by the same one, without dividing.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn {

/// n / d for n < 65536, d < 4096.
struct Divider {
  std::uint32_t divisor = 1, factor = 0x80000001u;
};
inline Divider divider(std::size_t n) {
  return {static_cast<std::uint32_t>(n), static_cast<std::uint32_t>((std::uint64_t{1} << 31) / n + 1)};
}

#ifdef __CUDACC__
__device__ __forceinline__ int quotient(int n, const Divider& by) {
  return static_cast<int>(__umulhi(2u * static_cast<unsigned>(n), by.factor));
}
/// n becomes the rest.
__device__ __forceinline__ int divide(int& n, const Divider& by) {
  const int q = quotient(n, by);
  n -= q * static_cast<int>(by.divisor);
  return q;
}
#endif

}  // namespace apsyn
