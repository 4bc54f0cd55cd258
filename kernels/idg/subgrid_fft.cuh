// SPDX-License-Identifier: GPL-3.0-or-later
// Transforms of any number of subgrids, by a plan for a few that is used again and again: nothing is
// transformed in vain but the rest of the last few. For host code with CUDA only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/common/cuda_fft.h"

namespace apsyn {

template <class T>
class SubgridFft {
 public:
  /// For tasks of n_subgrids subgrids each.
  SubgridFft(std::size_t side, std::size_t n_subgrids)
      : task_cells_(side * side * n_subgrids),
        at_once_(std::max<std::size_t>(1, kBytes / (task_cells_ * 2 * sizeof(T)))),
        fft_(int(side), int(side), int(at_once_ * n_subgrids), fft_type<T>()) {}

  void use(cudaStream_t stream) { fft_.use(stream); }
  /// How many tasks' cells must be there, and finite, to transform these.
  std::size_t padded(std::size_t n_tasks) const { return (n_tasks + at_once_ - 1) / at_once_ * at_once_; }
  template <class Complex>
  void execute(Complex* subgrids, std::size_t n_tasks, int direction) const {
    for (std::size_t first = 0; first < n_tasks; first += at_once_)
      fft_.execute(subgrids + first * task_cells_, direction);
  }

 private:
  /// Enough to fill the device.
  static constexpr std::size_t kBytes = std::size_t{64} << 20;
  std::size_t task_cells_, at_once_;
  CudaFft2d fft_;
};

}  // namespace apsyn
