// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of products as an engine's kernels keep them, and in the order of FftEngine::collect(). For host code
// with CUDA only.
#pragma once

#include <functional>

#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/fft/setup.h"

namespace apsyn::epic_fft {

/// Layout of the sums of each channel.
struct SumsShape {
  int n_class = 1;            ///< that hold different pixels
  int n_part = 1;             ///< of the spectra; they are added up in the end
  std::size_t part_sums = 0;  ///< of each part of each class
};

/// Sums of images, of the pixels of all classes.
class FftImageSums {
 public:
  /// Where the sum `value` of a pixel of the transform is among a part's, class * part_sums later for
  /// another class. Columns and rows are those of FftFinish::bins_x() and bins_y().
  using Place = std::function<std::size_t(std::size_t column, std::size_t row, std::size_t value)>;
  FftImageSums(const EpicPlan& plan, const FftFinish& finish, const SumsShape& shape, const Place& place);
  void clear(cudaStream_t stream);
  double* data() const { return sums_.data(); }  ///< [channel][class][part][part_sums]
  /// The sums in the order that FftEngine::collect() promises.
  const double* collect(cudaStream_t stream);

 private:
  SumsShape shape_;
  std::size_t n_image_, n_average_, n_value_, n_pixel_;
  DeviceArray<double> sums_, collected_;
  Upload<std::uint32_t> places_;
};

}  // namespace apsyn::epic_fft
