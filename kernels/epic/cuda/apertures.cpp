// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/cuda/apertures.cuh"

#include "kernels/epic/cuda/aperture_tasks.cuh"

namespace apsyn::epic_cuda {

DeviceApertures::DeviceApertures(const EpicPlan& plan) : plan_(plan), host_(plan, false) {
  kinds_.copy(plan.aperture.data(), plan.aperture.size());
}

void DeviceApertures::look(const SkyPixels& pixels) {
  if (!any()) return;
  n_pixel_ = pixels.size();
  index_.copy(pixels.index.data(), pixels.index.size());
  if (host_.look(pixels)) heard_.copy(host_.heard().data(), host_.heard().size());
}

void DeviceApertures::put(WeightTask& task, int first_channel) const {
  task.heard = heard_.data() + static_cast<std::size_t>(first_channel) * host_.n_kind() * n_pixel_;
  task.kinds = kinds_.data();
  task.n_kind = n_kind();
}

void DeviceApertures::add_autos(const double* autos, double sign, double* sums, std::size_t n_stride,
                                cudaStream_t stream) {
  ApertureTask task;
  task.heard = heard_.data();
  task.n_kind = n_kind();
  task.n_pixel = static_cast<int>(n_pixel_);
  task.n_channel = static_cast<int>(plan_.n_channel());
  task.autos = autos;
  task.sign = sign;
  task.n_stride = n_stride;
  task.sums = sums;
  launch_aperture_autos(task, stream);
}

void DeviceApertures::scale(const EpicWeights& weights, float* planes, cudaStream_t stream) {
  if (!any()) return;
  std::vector<double> counts(host_.pairs().begin(), host_.pairs().end());
  counts.insert(counts.end(), host_.antennas().begin(), host_.antennas().end());
  for (std::size_t image = 0; image < plan_.n_image_channel(); ++image)
    counts.push_back(static_cast<double>(weights.pairs(image)));
  double* to = counts_.reserve(counts.size());
  cuda_check(
      cudaMemcpyAsync(to, counts.data(), counts.size() * sizeof(double), cudaMemcpyHostToDevice, stream),
      "copying counts of antennas");
  ApertureTask task;
  task.heard = heard_.data();
  task.n_kind = n_kind();
  task.n_pixel = static_cast<int>(n_pixel_);
  task.n_image = static_cast<int>(plan_.n_image_channel());
  task.n_average = static_cast<int>(plan_.n_average);
  task.n_plane = static_cast<int>(plan_.n_plane());
  task.keep_autos = plan_.autos;
  task.least = kMinApertureResponse;
  task.pairs = to;
  task.antennas = task.pairs + host_.pairs().size();
  task.all_pairs = task.antennas + host_.antennas().size();
  task.index = index_.data();
  task.plane_size = plan_.height() * plan_.width();
  task.planes = planes;
  launch_aperture_scale(task, stream);
}

}  // namespace apsyn::epic_cuda
