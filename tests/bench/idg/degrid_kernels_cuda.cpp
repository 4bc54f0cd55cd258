// SPDX-License-Identifier: GPL-3.0-or-later
// The degridder's sums over pixels alone: 2048 visibilities for each subgrid, random pixels and visibilities
// in device memory. The error is the relative RMS against float64 of 256 visibilities; outputs are poisoned.
#include <cmath>

#include "tests/bench/idg/degrid.h"

#include <fmt/core.h>

#include <algorithm>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "kernels/common/cuda/array.h"
#include "kernels/idg/cuda/degrid/plan.h"

namespace apsyn::bench {
namespace {

using namespace idg_degrid;

struct Case {
  int side, n_planes;
  double field_rad;  ///< padded
  double phase_rad;  ///< of w, over the field, at the edge of a task
  Sum sum;
};

std::complex<double> exact(const Case& c, const WSeparation& w, double half_w, const Prepared<float>& p,
                           const float2* pixels) {
  std::complex<double> sum = 0;
  for (int y = 0; y < c.side; ++y)
    for (int x = 0; x < c.side; ++x) {
      const double turns = (static_cast<double>(p.u) * (2 * x - c.side + 1) +
                            static_cast<double>(p.v) * (2 * y - c.side + 1) + (p.turn & ~1)) /
                               4294967296.0 +
                           p.w * half_w * w.n_from_middle[static_cast<std::size_t>(y * c.side + x)];
      const float2 value = pixels[y * c.side + x];
      sum += std::complex<double>(value.x, value.y) * std::polar(1.0, 2 * std::numbers::pi * turns);
    }
  return (p.turn & 1) != 0 ? std::conj(sum) : sum;
}

void run(const Case& c, const Device& device) {
  constexpr std::size_t per_task = 2048;
  const auto n_tasks = static_cast<std::size_t>(c.side <= 32 ? 2112 : 1056), n = n_tasks * per_task;
  const auto n_pixels = static_cast<std::size_t>(c.side * c.side),
             n_planes = static_cast<std::size_t>(c.n_planes);
  IdgPlan plan;
  plan.settings.subgrid = static_cast<std::size_t>(c.side);
  plan.settings.kernel_padding = 14;
  plan.settings.padding = 1.5;
  plan.taper = Taper(TaperKind::pswf, 10);
  plan.n_u = plan.n_v = 4096;
  plan.image.cell_rad = c.field_rad / 4096;
  plan.n_middle = (1 + std::sqrt(1 - c.field_rad * c.field_rad / 2)) / 2;
  const WSeparation separation(plan);
  const double half_w = c.phase_rad / (2 * std::numbers::pi) / (2 * (1 - plan.n_middle));

  std::mt19937_64 random(1);
  std::normal_distribution<float> gauss;
  std::uniform_real_distribution<double> flat(-1, 1);
  std::vector<float2> pixels(n_tasks * n_planes * n_pixels);
  for (float2& pixel : pixels) pixel = {gauss(random), gauss(random)};
  std::vector<Prepared<float>> prepared(n);
  const double reach = (c.side - 14) / 2.0 / c.side / 2;  // turns between half pixels
  for (auto& p : prepared)
    p = {static_cast<std::int32_t>(flat(random) * reach * 4294967296.0),
         static_cast<std::int32_t>(flat(random) * reach * 4294967296.0), static_cast<float>(flat(random)),
         static_cast<std::int32_t>(random())};
  std::vector<Task> tasks(n_tasks);
  for (Task& task : tasks) task.half_w_lambda = half_w;
  const std::vector<float> scale(n_tasks, 512);
  std::vector<Unit> units;
  const auto at_once = static_cast<std::size_t>(c.sum == Sum::direct ? kDirectUnit : tensor_unit(c.side));
  for (std::size_t task = 0; task < n_tasks; ++task)
    for (std::size_t k = 0; k < per_task; k += at_once)
      units.push_back({static_cast<std::uint32_t>(task), static_cast<std::uint32_t>(task * per_task + k),
                       static_cast<std::uint32_t>(std::min(at_once, per_task - k))});

  const auto d_pixels = uploaded(pixels);
  const auto d_prepared = uploaded(prepared);
  const auto d_tasks = uploaded(tasks);
  const auto d_units = uploaded(units);
  const auto d_scale = uploaded(scale);
  const auto d_n = uploaded(separation.n_from_middle);
  const auto d_x = uploaded(separation.n_of_x), d_y = uploaded(separation.n_of_y),
             d_residual = uploaded(separation.residual);
  DeviceArray<float2> out(n * n_planes);
  cuda_check(cudaMemset(out.data(), 0xff, n * n_planes * sizeof(float2)), "poisoning");
  SumTask<float> task{};
  task.geometry.side = c.side;
  task.geometry.n_image_planes = task.geometry.n_planes = c.n_planes;
  task.geometry.n_layers = 1;
  task.pixels = d_pixels.data();
  task.scale = d_scale.data();
  task.n_from_middle = d_n.data();
  task.tasks = d_tasks.data();
  task.prepared = d_prepared.data();
  task.units = d_units.data();
  task.n_units = static_cast<int>(units.size());
  task.out = out.data();
  const TensorTables tables{d_x.data(), d_y.data(), d_residual.data()};
  auto launch = [&] {
    if (c.sum == Sum::direct)
      launch_direct(task, nullptr);
    else
      launch_tensor(task, tables, c.sum == Sum::tensor ? DegridTerms::phases : DegridTerms::first_order,
                    nullptr);
  };
  launch();
  cuda_check(cudaDeviceSynchronize(), "degridding");
  std::vector<float2> got(n * n_planes);
  cuda_check(cudaMemcpy(got.data(), out.data(), got.size() * sizeof(float2), cudaMemcpyDeviceToHost),
             "copying back");
  double error = 0, power = 0;
  for (int i = 0; i < 256; ++i) {
    const std::size_t k = i == 0 ? n - 1 : random() % n, own = k / per_task, plane = random() % n_planes;
    const auto want =
        exact(c, separation, half_w, prepared[k], pixels.data() + (own * n_planes + plane) * n_pixels);
    const float2 value = got[k * n_planes + plane];
    error += std::norm(std::complex<double>(value.x, value.y) - want);
    power += std::norm(want);
  }
  cudaEvent_t begin, end;
  cuda_check(cudaEventCreate(&begin), "creating an event");
  cuda_check(cudaEventCreate(&end), "creating an event");
  std::vector<float> ms(c.sum == Sum::direct ? 3 : 9);
  for (float& time : ms) {
    cuda_check(cudaEventRecord(begin), "recording");
    launch();
    cuda_check(cudaEventRecord(end), "recording");
    cuda_check(cudaEventSynchronize(end), "degridding");
    cuda_check(cudaEventElapsedTime(&time, begin, end), "timing");
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(ms.begin(), ms.end());
  static const char* const names[] = {"direct", "tensor", "tensor, first order"};
  fmt::print(
      "{{\"bench\":\"idg_degrid_sums\",\"device\":\"{}\",\"subgrid\":{},\"planes\":{},\"field_rad\":{},"
      "\"w_phase_rad\":{},\"sum\":\"{}\",\"visibilities\":{},\"seconds\":{:.4g},\"GVis_per_s\":{:.3f},"
      "\"error\":{:.2e}}}\n",
      device.description, c.side, c.n_planes, c.field_rad, c.phase_rad, names[int(c.sum)], n,
      ms[ms.size() / 2] * 1e-3, static_cast<double>(n) / ms[ms.size() / 2] * 1e-6, std::sqrt(error / power));
}

}  // namespace

void degrid_kernels(const Device& device) {
  for (int side : {24, 32, 64, 96})
    for (Sum sum : {Sum::tensor, Sum::tensor_first_order})
      run({side, 4, 0.1, sum == Sum::tensor ? 1e-3 : 1.0, sum}, device);
  for (int planes : {1, 2}) run({32, planes, 0.1, 1.0, Sum::tensor_first_order}, device);
  run({32, 4, 0.1, 1.0, Sum::direct}, device);
  run({96, 4, 0.1, 1.0, Sum::direct}, device);
}

}  // namespace apsyn::bench
