// SPDX-License-Identifier: GPL-3.0-or-later
// Operands of products of matrices as fft/cuda/matrix/matrix.cuh reads them, made on the host.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/halves.cuh"

namespace apsyn::epic_fft {

constexpr std::size_t kCells = 16;  ///< of a step, and rows of a left operand

inline std::size_t over(std::size_t n, std::size_t by) {
  return (n + by - 1) / by;
}

/// Two numbers as words of each part.
inline void append_halves(float first, float second, int part, std::uint32_t& to) {
  to = part == 0 ? Halves<1>(first, second).part[0] : Halves<2>(first, second).part[1];
}

/// A lane's share of a left operand: at(row, column) of 16 x 16.
template <class At>
uint4 left_operand(unsigned lane, int part, const At& at) {
  const unsigned g = lane / 4, t = lane % 4;
  uint4 out;
  const auto pair = [&](unsigned row, unsigned column, std::uint32_t& to) {
    append_halves(static_cast<float>(at(row, column)), static_cast<float>(at(row, column + 1)), part, to);
  };
  pair(g, 2 * t, out.x);
  pair(g + 8, 2 * t, out.y);
  pair(g, 2 * t + 8, out.z);
  pair(g + 8, 2 * t + 8, out.w);
  return out;
}
/// A lane's part of a right operand: at(row, column), 16 x 8.
template <class At>
uint2 right_operand(unsigned lane, int part, const At& at) {
  const unsigned g = lane / 4, t = lane % 4;
  uint2 out;
  append_halves(static_cast<float>(at(2 * t, g)), static_cast<float>(at(2 * t + 1, g)), part, out.x);
  append_halves(static_cast<float>(at(2 * t + 8, g)), static_cast<float>(at(2 * t + 9, g)), part, out.y);
  return out;
}

/// Halves, one after the other, that add up to as many times a value but for one rounding.
class Rounding {
 public:
  double next(double value) {
    const double wanted = value + left_;
    const double half = static_cast<double>(__half2float(__float2half_rn(static_cast<float>(wanted))));
    left_ = wanted - half;
    return half;
  }

 private:
  double left_ = 0;
};

}  // namespace apsyn::epic_fft
