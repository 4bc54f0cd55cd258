// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/cuda/sums.cuh"

#include "kernels/epic/fft/cuda/steps.cuh"

namespace apsyn::epic_fft {

FftImageSums::FftImageSums(const EpicPlan& plan, const FftFinish& finish, const SumsShape& shape,
                           const Place& place)
    : shape_(shape),
      n_image_(plan.n_image_channel()),
      n_average_(plan.n_average),
      n_value_(fft_values(plan)),
      n_pixel_(finish.bins_x().size() * finish.pixels().n_row()),
      sums_(plan.n_channel() * static_cast<std::size_t>(shape.n_class * shape.n_part) * shape.part_sums),
      collected_(n_image_ * n_pixel_ * n_value_) {
  const std::size_t n_row = finish.pixels().n_row();
  std::vector<std::uint32_t> places(n_pixel_ * n_value_, 0);  // rows that fill up are never looked at
  for (std::size_t column = 0; column < finish.bins_x().size(); ++column)
    for (std::size_t row = 0; row < finish.bins_y().size(); ++row)
      for (std::size_t value = 0; value < n_value_; ++value)
        places[(column * n_row + row) * n_value_ + value] =
            static_cast<std::uint32_t>(place(column, row, value));
  places_.copy(places.data(), places.size());
}

void FftImageSums::clear(cudaStream_t stream) {
  cuda_check(cudaMemsetAsync(sums_.data(), 0, sums_.size() * sizeof(double), stream), "clearing sums");
}

const double* FftImageSums::collect(cudaStream_t stream) {
  CollectTask task;
  task.sums = sums_.data();
  task.pixels = places_.data();
  task.n_image = static_cast<int>(n_image_);
  task.n_average = static_cast<int>(n_average_);
  task.n_class = shape_.n_class;
  task.n_part = shape_.n_part;
  task.n_value = static_cast<int>(n_value_);
  task.n_pixel = n_pixel_;
  task.part_sums = shape_.part_sums;
  task.out = collected_.data();
  launch_collect(task, stream);
  return collected_.data();
}

}  // namespace apsyn::epic_fft
