// SPDX-License-Identifier: GPL-3.0-or-later
// Convolution weights for all 64 offsets within a cell.
//
// For the offset s = 0 .. 7 eighths, the weight of cell k = 0 .. N - 1 is K(k - (N/2 - 1) - s/8): the shift
// is a ramp in the image domain, so that 64 transforms of N x N pixels make the table in the order in which
// it is read. One transform of 8N x 8N pixels, as in the paper, costs more and leaves the weights of one
// offset scattered.
#pragma once

#include <complex>
#include <vector>

#include "kernels/common/math/fft.h"
#include "tests/bench/projection/projection.h"

namespace apsyn::projection {

/// exp(-2 pi i (N/2 - 1 + s/8) p / N) / N, [offset s][p in the order of transforms: 0, 1 .. -2, -1].
std::vector<std::complex<double>> offset_ramps(std::size_t size);
/// n - 1 at the coarse pixels, [y][x] in the order of transforms; NaN beyond the horizon.
std::vector<double> n_minus_one(const Setup& setup);
/// A coarse pixel, counted from -N/2, in the order of transforms.
inline std::size_t transform_index(std::size_t centred, std::size_t size) {
  return (centred + size / 2) % size;
}

class WeightMaker {
 public:
  explicit WeightMaker(const Setup& setup);
  /// [offset v][offset u][v][u], N x N each, into 16-byte aligned memory. Without A-terms p and q are
  /// ignored.
  void make(double w_lambda, std::uint32_t p, std::uint32_t q, std::complex<float>* weights) const;
  std::size_t n_weights() const { return n_offsets * size_ * size_; }

 private:
  std::size_t size_;
  std::vector<std::complex<float>> ramps_;   ///< [offset][p]
  std::vector<double> n_1_;                  ///< [y][x]
  std::vector<float> taper_;                 ///< [y][x]
  std::vector<std::complex<float>> aterms_;  ///< [station][y][x], order of transforms
  ComplexFft<float> fft_;
};

}  // namespace apsyn::projection
