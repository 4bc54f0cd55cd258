// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/cuda/off_grid_pairs.cuh"

#include "kernels/epic/corr/pair_imager.h"
#include "kernels/epic/factors.h"
#include "libcore/base/constants.h"

namespace apsyn::epic_fft {

DeviceOffGridPairs::DeviceOffGridPairs(const EpicPlan& plan) : plan_(plan) {
  const OffGridOrder order = off_grid_order(plan);
  if (order.n_off == 0) return;
  task_.n_channel = static_cast<int>(plan.n_channel());
  task_.n_off = static_cast<int>(order.n_off);
  task_.n_ant = static_cast<int>(plan.n_ant);
  task_.n_pol = static_cast<int>(plan.n_pol);
  std::vector<std::uint32_t> off, rank(plan.n_ant, static_cast<std::uint32_t>(order.n_off));
  for (std::size_t i = 0; i < order.n_off; ++i) {
    off.push_back(static_cast<std::uint32_t>(order.antennas[i]));
    rank[order.antennas[i]] = static_cast<std::uint32_t>(i);
  }
  task_.off = off_.copy(off.data(), off.size());
  task_.rank = rank_.copy(rank.data(), rank.size());
  std::vector<double2> gains;
  for (std::size_t channel = 0; channel < plan.n_channel(); ++channel)
    for (std::size_t input = 0; input < plan.n_ant * plan.n_pol; ++input) {
      const std::complex<double> g = epic_factor(plan, input / plan.n_pol, input % plan.n_pol, channel);
      gains.push_back({g.real(), g.imag()});
    }
  task_.gains = gains_.copy(gains.data(), gains.size());
  const std::size_t n_pair = plan.n_channel() * order.n_off * plan.n_ant;
  task_.sums = sums_.reserve(n_pair * plan.n_pol * plan.n_pol);
  task_.matrices = matrices_.reserve(n_pair * 4);
  task_.powers = powers_.reserve(plan.n_channel() * order.n_off * 4);
  image_.pairs = task_;
  image_.n_image = static_cast<int>(plan.n_image_channel());
  image_.n_average = static_cast<int>(plan.n_average);
  image_.autos = plan.autos;
  for (const std::size_t value : plane_values(plan)) image_.plane_of[value] = image_.n_plane++;
  image_.plane_size = plan.nx * plan.ny;
  image_.sky.hz = hz_.copy(plan.channel_hz.data(), plan.channel_hz.size());
  image_.sky.n_ant = task_.n_ant;
  image_.sky.n_channel = task_.n_channel;
}

void DeviceOffGridPairs::aim(const EpicGeometry& geometry, const SkyPixels& pixels) {
  if (!any()) return;
  Buffer<double, 2> seconds({4, plan_.n_ant});
  for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      seconds(axis, ant) = geometry.enu_m[ant][axis] / kSpeedOfLight_m_s;
    seconds(3, ant) = geometry.delay_s[ant];
  }
  image_.sky.seconds = seconds_.copy(seconds.data(), seconds.size());
  image_.sky.unit = unit_.copy(pixels.unit.data(), pixels.unit.size());
  image_.sky.n_pixel = static_cast<int>(pixels.size());
  image_.index = index_.copy(pixels.index.data(), pixels.index.size());
}

void DeviceOffGridPairs::start(cudaStream_t stream) {
  if (!any()) return;
  const std::size_t n_sum =
      plan_.n_channel() * static_cast<std::size_t>(task_.n_off) * plan_.n_ant * plan_.n_pol * plan_.n_pol;
  cuda_check(cudaMemsetAsync(task_.sums, 0, n_sum * sizeof(double2), stream), "clearing sums of pairs");
}

void DeviceOffGridPairs::add(const epic_cuda::Samples& samples, cudaStream_t stream) {
  if (any()) launch_off_grid_sums(task_, samples, stream);
}

void DeviceOffGridPairs::image(const double* scales, const epic_cuda::DeviceApertures& apertures,
                               float* planes, cudaStream_t stream) {
  if (!any()) return;
  launch_off_grid_matrices(task_, stream);
  if (apertures.any()) apertures.put(image_.sky, 0);
  image_.scale = scales;
  image_.planes = planes;
  launch_off_grid_images(image_, stream);
}

}  // namespace apsyn::epic_fft
