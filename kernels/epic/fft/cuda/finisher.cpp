// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/cuda/finisher.cuh"

#include <algorithm>

#include "kernels/epic/cuda/plane_tasks.cuh"
#include "kernels/epic/factors.h"

namespace apsyn::epic_fft {
namespace {

constexpr std::size_t kFineBytes = std::size_t{128} << 20;  ///< of refined images that are made together

std::vector<std::uint32_t> narrowed(const std::vector<std::size_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

Finisher::Finisher(const EpicPlan& plan, const FftGridded& gridded)
    : n_image_(plan.n_image_channel()), nx_(plan.nx), resampled_(gridded.grid.resampled) {
  const FftFinish& finish = gridded.finish;
  ImageTask& task = image_task_;
  task.n_value = static_cast<int>(fft_values(plan));
  task.n_pack = static_cast<int>(finish.n_pack());
  task.n_column = static_cast<int>(finish.bins_x().size());
  task.n_row = static_cast<int>(finish.pixels().n_row());
  task.length_x = static_cast<int>(gridded.grid.x.n);
  task.length_y = static_cast<int>(gridded.grid.y.n);
  task.n_plane = static_cast<int>(plan.n_plane());
  task.image_size = plan.nx * plan.ny;
  // of the two parts of a pack, those that are wanted have a plane
  int plane = 0;
  const bool parts[2][2] = {{task.n_value == 1 || plan.first, task.n_value > 1 && plan.second},
                            {plan.cross, plan.cross}};
  for (int pack = 0; pack < task.n_pack; ++pack)
    for (int part = 0; part < 2; ++part)
      if (parts[pack][part]) task.plane_of[pack][part] = plane++;
  if (!plan.autos) upload_autos(plan, gridded);
  upload_geometry(gridded);
  aim(finish);
}

void Finisher::upload_autos(const EpicPlan& plan, const FftGridded& gridded) {
  LagTask& task = lag_task_;
  task.n_image = static_cast<int>(n_image_);
  task.n_average = static_cast<int>(plan.n_average);
  task.n_ant = static_cast<int>(plan.n_ant);
  task.n_pack = image_task_.n_pack;
  task.n_value = image_task_.n_value;
  task.first_pol = static_cast<int>(fft_first_pol(plan));
  task.n_lag = image_task_.n_lag = static_cast<int>(2 * plan.kernel_cells - 1);
  const auto gains = auto_gains(plan);
  task.gains = gains_.copy(gains.data()->data(), 4 * gains.size());
  const std::size_t n_own = gridded.lists[0].lags.size();
  double2* own = own_.reserve(n_own * gridded.lists.size());
  for (std::size_t channel = 0; channel < gridded.lists.size(); ++channel)
    cuda_check(cudaMemcpy(own + channel * n_own, gridded.lists[channel].lags.data(), n_own * sizeof(double2),
                          cudaMemcpyHostToDevice),
               "copying lags");
  finish_default_stream();
  task.own = own;
  const auto n_lag = static_cast<std::size_t>(task.n_lag);
  task.lags = lags_.reserve(n_image_ * static_cast<std::size_t>(task.n_pack) * n_lag * n_lag);
  image_task_.lags = task.lags;
}

void Finisher::upload_geometry(const FftGridded& gridded) {
  const FftFinish& finish = gridded.finish;
  ImageTask& task = image_task_;
  if (!resampled_) {
    const auto bins_x = narrowed(finish.bins_x()), bins_y = narrowed(finish.bins_y());
    task.bins_x = bins_x_.copy(bins_x.data(), bins_x.size());
    task.bins_y = bins_y_.copy(bins_y.data(), bins_y.size());
    at_once_ = n_image_;
    return;
  }
  task.correction_x = correction_x_.copy(finish.correction_x().data(), finish.correction_x().size());
  task.correction_y = correction_y_.copy(finish.correction_y().data(), finish.correction_y().size());
  const std::size_t coarse =
      gridded.grid.x.n * gridded.grid.y.n * static_cast<std::size_t>(image_task_.n_pack);
  at_once_ = std::clamp<std::size_t>(kFineBytes / (4 * coarse * sizeof(double2)), 1, n_image_);
  task.coarse = coarse_.reserve(at_once_ * coarse);
  task.fine = fine_.reserve(at_once_ * 4 * coarse);
  const int n_x = task.length_x, n_y = task.length_y, batch = static_cast<int>(at_once_) * task.n_pack;
  to_lags_.emplace(n_x, n_y, batch, CUFFT_Z2Z);
  to_fine_.emplace(2 * n_x, 2 * n_y, batch, CUFFT_Z2Z);
}

void Finisher::aim(const FftFinish& finish) {
  std::vector<ImagePixel> pixels;
  for (const FinishPixel& pixel : finish.sky())
    pixels.push_back(
        {pixel.y * static_cast<std::uint32_t>(nx_) + pixel.x, pixel.column, pixel.row, pixel.factor});
  image_task_.pixels = pixels_.copy(pixels.data(), pixels.size());
  image_task_.n_pixel = static_cast<int>(pixels.size());
  image_task_.taps = taps_.copy(finish.taps().data(), finish.taps().size());
}

void Finisher::run(const double* sums, const double* powers, const double* scales, float* planes,
                   cudaStream_t stream) {
  ImageTask task = image_task_;
  if (lag_task_.own != nullptr) {
    lag_task_.powers = powers;
    launch_lags(lag_task_, stream);
  }
  task.sums = sums;
  task.scale = scales;
  const std::size_t n = n_image_ * static_cast<std::size_t>(task.n_plane) * task.image_size;
  task.planes = planes;
  epic_cuda::launch_clear_planes(task.planes, n, stream);
  for (std::size_t first = 0; first < n_image_; first += at_once_) {
    task.first = static_cast<int>(first);
    task.n = static_cast<int>(std::min(at_once_, n_image_ - first));
    finish(task, stream);
  }
}

void Finisher::finish(ImageTask& task, cudaStream_t stream) {
  if (!resampled_) return launch_images(task, stream);
  to_lags_->use(stream);
  to_fine_->use(stream);
  launch_pack(task, stream);
  to_lags_->execute(task.coarse, CUFFT_INVERSE);
  launch_refine(task, stream);
  to_fine_->execute(task.fine, CUFFT_FORWARD);
  launch_interpolate(task, stream);
}

}  // namespace apsyn::epic_fft
