// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/cuda/sky.cuh"

#include <cmath>

#include "kernels/epic/factors.h"
#include "libcore/base/constants.h"

namespace apsyn::epic_cuda {

DeviceSky::DeviceSky(const EpicPlan& plan) : plan_(plan), apertures_(plan) {
  hz_.copy(plan.channel_hz.data(), plan.channel_hz.size());
}

namespace {

/// Whether all pixels are sky: nothing of the image reaches the horizon, or the edge of the hemisphere.
bool is_whole(const EpicPlan& plan, const EpicGeometry& geometry) {
  if (plan.n_direction > 0) return false;
  constexpr double kMargin = 1e-6;
  const double radius =
      plan.cell * std::hypot(static_cast<double>(plan.nx / 2 + 1), static_cast<double>(plan.ny / 2 + 1));
  return radius + kMargin < 1 && radius + kMargin < geometry.axes[2][2];
}

}  // namespace

bool DeviceSky::move_to(const EpicGeometry& geometry, cudaStream_t stream) {
  if (placed_ && same_geometry(geometry, geometry_)) return false;
  const bool whole = is_whole(plan_, geometry);
  // millions of directions in a small field take longer than its image
  const bool same_pixels = placed_ && whole && whole_ && !apertures_.any();
  placed_ = true;
  whole_ = whole;
  geometry_ = geometry;
  const bool in_order = same_pixels && stream != nullptr;
  // the last accumulation may still be imaged
  if (!in_order) cuda_check(cudaDeviceSynchronize(), "imaging");
  stale_ = true;
  if (!same_pixels) {
    const std::vector<std::uint32_t> before = std::move(pixels_.index);
    refresh();
    apertures_.look(pixels_);
    // The sky that turns about the zenith stays in its pixels: what is planned for them serves on.
    if (version_ == 0 || pixels_.index != before) {
      index_.copy(pixels_.index.data(), pixels_.index.size());
      ++version_;
    }
  }
  Buffer<double, 2> seconds({4, plan_.n_ant});
  for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      seconds(axis, ant) = geometry_.enu_m[ant][axis] / kSpeedOfLight_m_s;
    seconds(3, ant) = geometry_.delay_s[ant];
  }
  if (in_order)
    seconds_.copy(seconds.data(), seconds.size(), stream);
  else
    seconds_.copy(seconds.data(), seconds.size());
  return true;
}

void DeviceSky::refresh() {
  if (!stale_) return;
  pixels_ = sky_pixels(plan_, geometry_);
  stale_ = uploaded_ = false;
}

void DeviceSky::upload() {
  refresh();
  if (uploaded_) return;
  cuda_check(cudaDeviceSynchronize(), "imaging");
  unit_.copy(pixels_.unit.data(), pixels_.unit.size());
  uploaded_ = true;
}

WeightTask DeviceSky::weights(int first_channel, int n_channel) {
  upload();
  WeightTask task;
  task.seconds = seconds_.data();
  task.unit = unit_.data();
  task.hz = hz_.data() + first_channel;
  task.n_ant = static_cast<int>(plan_.n_ant);
  task.n_pixel = n_pixel();
  task.n_channel = n_channel;
  task.n_pixel_tiles = static_cast<int>(n_stride() / kTilePixels);
  if (apertures_.any()) apertures_.put(task, first_channel);
  return task;
}

void DeviceSky::clear(cudaStream_t stream) {
  cuda_check(cudaMemsetAsync(sums_.reserve(n_sums()), 0, n_sums() * sizeof(double), stream),
             "clearing images");
}

const double* DeviceSky::averaged(cudaStream_t stream) {
  if (plan_.n_average > 1)
    launch_average(sums_.data(), n_stride() * 4, static_cast<int>(plan_.n_image_channel()),
                   static_cast<int>(plan_.n_average), stream);
  return sums_.data();
}

std::vector<float2> factors_over(const EpicPlan& plan, const std::vector<double>& unit) {
  std::vector<float2> factors;
  if (plan.factor.size() == 0 && plan.flagged.empty() && plan.left_out.empty() && unit.empty())
    return factors;
  for (std::size_t channel = 0; channel < plan.n_channel(); ++channel)
    for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
      for (std::size_t pol = 0; pol < plan.n_pol; ++pol) {
        const std::complex<double> g =
            epic_factor(plan, ant, pol, channel) / (unit.empty() ? 1.0 : unit[channel]);
        factors.push_back({static_cast<float>(g.real()), static_cast<float>(g.imag())});
      }
  return factors;
}

}  // namespace apsyn::epic_cuda
