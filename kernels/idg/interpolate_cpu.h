// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities out of the fine cells of a subgrid; see short_kernel.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/idg/short_kernel.h"

namespace apsyn {

/// Terms of w at most, so that a cell fits on the stack.
constexpr std::size_t most_terms = 16;

/// value[vis][c] = sum_r term[vis][r] sum_vu phi_v phi_u cell[v][u][r][c] over support x support cells.
template <class T>
struct Interpolation {
  std::size_t n_visibilities = 0, n_terms = 1;
  std::size_t n_values = 2;              ///< real values of a term: 2, 4 or 8
  const std::uint32_t* first = nullptr;  ///< [vis] v * n_u + u of the least cell
  const T* z = nullptr;                  ///< [vis][u, v] ShortKernel::coefficients()' z
  const T* term = nullptr;               ///< [vis][term]
  const T* cell = nullptr;               ///< [v][u][term][value], cells `cell_stride` apart, 64-byte aligned
  std::size_t n_u = 0;
  std::size_t cell_stride = 0;  ///< n_terms * n_values rounded up to 64 bytes; the rest finite
  T* value = nullptr;
};

/// Kernel weights in the precision of the cells.
template <class T>
struct KernelWeights {
  explicit KernelWeights(const ShortKernel& kernel)
      : support(kernel.support()),
        stride(kernel.stride()),
        degree(kernel.degree()),
        coefficients(kernel.coefficients().begin(), kernel.coefficients().end()) {}
  std::size_t support, stride, degree;
  std::vector<T> coefficients;  ///< [power][cell]
};

void interpolate(const KernelWeights<float>& kernel, const Interpolation<float>& work);
void interpolate(const KernelWeights<double>& kernel, const Interpolation<double>& work);

}  // namespace apsyn
