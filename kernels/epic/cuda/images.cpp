// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/epic/corr/pair_imager.h"
#include "kernels/epic/cuda/images.cuh"
#include "kernels/epic/factors.h"
#include "libcore/system/parallel.h"

namespace apsyn::epic_cuda {

float* PlaneCopy::planes(std::size_t n, cudaStream_t stream) {
  Batch& way = batches_[next_];
  if (way.images != nullptr) throw std::logic_error("PlaneCopy: images that nobody has settled");
  way.sent.hold(stream);
  return way.planes.reserve(n);
}

const double* PlaneCopy::scales(const EpicPlan& plan, const EpicWeights& weights, cudaStream_t stream) {
  std::vector<double> scales;
  for (std::size_t image = 0; image < plan.n_image_channel(); ++image) {
    const double pairs = weights.sum(image);
    scales.push_back(pairs > 0 ? 1 / pairs : std::numeric_limits<double>::quiet_NaN());
  }
  double* to = scales_.reserve(scales.size());
  cuda_check(
      cudaMemcpyAsync(to, scales.data(), scales.size() * sizeof(double), cudaMemcpyHostToDevice, stream),
      "copying weights");
  return to;
}

/// Large images go straight into memory that is pinned once: buffers serve again and again.
void PlaneCopy::place_planes(const EpicPlan& plan, EpicImages& images) {
  const std::array<std::size_t, 4> shape{plan.n_image_channel(), plan.n_plane(), plan.height(), plan.width()};
  if (images.planes.shape() == shape && images.pin) return;
  images.pin.reset();
  images.planes.resize_for_overwrite(shape);
  constexpr std::size_t kLarge = std::size_t{8} << 20;
  const std::size_t bytes = images.planes.size() * sizeof(float);
  if (bytes >= kLarge) images.pin = pin_memory(images.planes.data(), bytes);
}

void PlaneCopy::send(const EpicPlan& plan, const EpicWeights& weights, EpicImages& images,
                     cudaStream_t stream) {
  if (measures_)
    images.regions.resize_for_overwrite({plan.n_image_channel(), plan.n_plane(), n_region_});
  else
    place_planes(plan, images);
  images.weight.resize(plan.n_image_channel());
  images.n_spectra = weights.n_spectra();
  for (std::size_t image = 0; image < plan.n_image_channel(); ++image)
    images.weight[image] = weights.share(image);
  Batch& way = batches_[next_];
  next_ = 1 - next_;
  n_threads_ = plan.n_threads;
  if (measures_) {
    RegionTask task;
    task.planes = way.planes.data();
    task.plane_size = plan.height() * plan.width();
    task.n_plane = static_cast<int>(plan.n_image_channel() * plan.n_plane());
    return send_regions(way, task, images, stream);
  }
  const std::size_t n = images.planes.size();
  if (!images.pin && way.host_size < n) {
    way.host = pinned<float>(n);
    way.host_size = n;
  }
  way.made.record(stream);
  way.made.hold(stream_.get());
  cuda_check(cudaMemcpyAsync(images.pin ? images.planes.data() : way.host.get(), way.planes.data(),
                             n * sizeof(float), cudaMemcpyDeviceToHost, stream_.get()),
             "copying images");
  way.sent.record(stream_.get());
  way.images = &images;
}

void PlaneCopy::measure(const std::vector<std::vector<std::uint32_t>>& regions) {
  std::vector<std::uint32_t> pixels, ends;
  for (const auto& region : regions) {
    pixels.insert(pixels.end(), region.begin(), region.end());
    ends.push_back(static_cast<std::uint32_t>(pixels.size()));
  }
  region_pixels_.copy(pixels.data(), pixels.size());
  region_ends_.copy(ends.data(), ends.size());
  n_region_ = regions.size();
  measures_ = true;
}

void PlaneCopy::send_regions(Batch& way, RegionTask task, EpicImages& images, cudaStream_t stream) {
  const std::size_t n = images.regions.size() * 3;
  task.n_region = static_cast<int>(n_region_);
  task.pixels = region_pixels_.data();
  task.ends = region_ends_.data();
  task.regions = way.regions.reserve(n);
  launch_regions(task, stream);
  if (way.host_regions_size < n) {
    way.host_regions = pinned<double>(n);
    way.host_regions_size = n;
  }
  way.made.record(stream);
  way.made.hold(stream_.get());
  cuda_check(cudaMemcpyAsync(way.host_regions.get(), way.regions.data(), n * sizeof(double),
                             cudaMemcpyDeviceToHost, stream_.get()),
             "copying regions");
  way.sent.record(stream_.get());
  way.images = &images;
}

void PlaneCopy::settle() {
  Batch& way = batches_[next_].images != nullptr ? batches_[next_] : batches_[1 - next_];
  if (way.images == nullptr) return;
  EpicImages& images = *std::exchange(way.images, nullptr);
  way.sent.wait();
  if (measures_) {
    const double* from = way.host_regions.get();
    for (EpicRegion& region : images.regions.view()) {
      region = {from[0], from[1], from[2]};
      from += 3;
    }
    return;
  }
  if (images.pin) return;
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  const std::size_t n = images.planes.size();
  float* to = images.planes.data();
  parallel_for(n_threads_, (n + kPiece - 1) / kPiece, [&](std::size_t piece, unsigned) {
    const std::size_t first = piece * kPiece;
    std::copy_n(way.host.get() + first, std::min(kPiece, n - first), to + first);
  });
}

DeviceAutos::DeviceAutos(const EpicPlan& plan)
    : n_channel_(static_cast<int>(plan.n_channel())),
      n_average_(static_cast<int>(plan.n_average)),
      n_ant_(static_cast<int>(plan.n_ant)) {
  const auto gains = auto_gains(plan);
  gains_.copy(gains.data()->data(), 4 * gains.size());
  const std::size_t n_kind = std::max<std::size_t>(1, plan.apertures.size());
  autos_.reserve(plan.n_channel() * n_kind * 4);
}

const double* DeviceAutos::of(const double* powers, cudaStream_t stream) {
  AutosTask task;
  task.n_image = n_channel_ / n_average_;
  task.n_average = n_average_;
  return sum(task, powers, stream);
}

const double* DeviceAutos::of_kinds(const double* powers, const DeviceApertures& apertures,
                                    cudaStream_t stream) {
  AutosTask task;
  task.n_image = n_channel_;
  task.kinds = apertures.kinds();
  task.n_kind = apertures.n_kind();
  return sum(task, powers, stream);
}

const double* DeviceAutos::sum(AutosTask task, const double* powers, cudaStream_t stream) {
  task.powers = powers;
  task.gains = gains_.data();
  task.n_ant = n_ant_;
  task.autos = autos_.data();
  launch_autos(task, stream);
  return autos_.data();
}

PlaneTask plane_task(const EpicPlan& plan, const EpicWeights& weights, const DeviceSky& sky,
                     DeviceAutos& autos, const double* powers, double sign, PlaneCopy& copy,
                     cudaStream_t stream) {
  PlaneTask task;
  if (powers != nullptr) task.autos = autos.of(powers, stream);
  task.sign = sign;
  task.total = plan.total;
  task.index = sky.index();
  task.n_image = static_cast<int>(plan.n_image_channel());
  task.n_pixel = sky.n_pixel();
  task.n_stride = sky.n_stride();
  task.plane_size = plan.height() * plan.width();
  for (const std::size_t value : plane_values(plan)) task.value_of[task.n_plane++] = static_cast<int>(value);
  task.planes = copy.planes(plan.n_image_channel() * plan.n_plane() * task.plane_size, stream);
  task.scales = copy.scales(plan, weights, stream);
  return task;
}

void finish_planes(const EpicPlan& plan, const EpicWeights& weights, DeviceSky& sky, DeviceAutos& autos,
                   const double* powers, double sign, PlaneCopy& copy, EpicImages& images,
                   cudaStream_t stream, bool averaged) {
  DeviceApertures& apertures = sky.apertures();
  if (powers != nullptr && apertures.any())
    apertures.add_autos(autos.of_kinds(powers, apertures, stream), sign, sky.sums(), sky.n_stride(), stream);
  PlaneTask task =
      plane_task(plan, weights, sky, autos, apertures.any() ? nullptr : powers, sign, copy, stream);
  task.sums = averaged ? sky.sums() : sky.averaged(stream);
  launch_planes(task, stream);
  if (apertures.any()) apertures.scale(weights, task.planes, stream);
  copy.send(plan, weights, images, stream);
}

}  // namespace apsyn::epic_cuda
