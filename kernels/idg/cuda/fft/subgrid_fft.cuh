// SPDX-License-Identifier: GPL-3.0-or-later
// Transforms of any number of subgrids: in single precision and of the usual sides by plane_fft.cuh,
// otherwise by a cuFFT plan for a few subgrids that is executed repeatedly, so that only the last execution
// can transform more than is needed. For host code with CUDA only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <type_traits>

#include "kernels/common/cuda/fft.h"
#include "kernels/idg/cuda/fft/plane_fft.cuh"

namespace apsyn {

template <class T>
class SubgridFft {
 public:
  /// For tasks of n_subgrids subgrids each.
  SubgridFft(std::size_t side, std::size_t n_subgrids)
      : side_(side),
        n_subgrids_(n_subgrids),
        by_planes_(std::is_same_v<T, float> && has_plane_fft(side)),
        at_once_(by_planes_ ? 1 : std::max<std::size_t>(1, kBytes / (task_cells() * 2 * sizeof(T)))) {
    if (!by_planes_) fft_.emplace(int(side), int(side), int(at_once_ * n_subgrids), fft_type<T>());
  }

  void use(cudaStream_t stream) {
    stream_ = stream;
    if (fft_) fft_->use(stream);
  }
  /// Number of tasks whose cells must be allocated, and finite, in order to transform n_tasks.
  std::size_t padded(std::size_t n_tasks) const { return (n_tasks + at_once_ - 1) / at_once_ * at_once_; }
  template <class Complex>
  void execute(Complex* subgrids, std::size_t n_tasks, int direction) const {
    if constexpr (std::is_same_v<Complex, float2>)
      if (by_planes_)
        return launch_plane_fft(subgrids, n_tasks * n_subgrids_, side_, direction == CUFFT_INVERSE, stream_);
    for (std::size_t first = 0; first < n_tasks; first += at_once_)
      fft_->execute(subgrids + first * task_cells(), direction);
  }

 private:
  std::size_t task_cells() const { return side_ * side_ * n_subgrids_; }

  /// Enough to fill the device.
  static constexpr std::size_t kBytes = std::size_t{64} << 20;
  std::size_t side_, n_subgrids_;
  bool by_planes_;
  std::size_t at_once_;
  std::optional<CudaFft2d> fft_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace apsyn
