// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/idg/idg.h"
#include "kernels/idg/idg_cuda.h"
#include "kernels/idg/subgrid_degrid_cpu.h"
#include "kernels/idg/subgrid_forms.h"
#include "libcore/core/error.h"
#include "libcore/core/units.h"

namespace apsyn {
namespace {

/// Bytes of a real number of the plan's precision.
std::uint64_t real_bytes(const IdgPlan& plan) {
  return plan.settings.precision == Precision::single ? 4 : 8;
}

std::uint64_t image_bytes(const IdgPlan& plan, std::size_t n_planes) {
  return sizeof(double) * plan.image.n_x * plan.image.n_y * n_planes;
}

std::uint64_t layer_bytes(const IdgPlan& plan, std::size_t n_planes) {
  return 2 * real_bytes(plan) * plan.n_u * plan.n_v * n_planes;
}

}  // namespace

IdgMemory gridder_memory(const IdgPlan& plan, const IdgSetup& setup) {
  const std::size_t n_planes = setup.n_planes();
  const std::uint64_t transform = sizeof(std::complex<double>) * plan.n_u * plan.n_v;
  return {transform + image_bytes(plan, n_planes) + subgrid_bytes(plan, n_planes, setup.n_threads),
          layer_bytes(plan, n_planes)};
}

IdgMemory degridder_memory(const IdgPlan& plan, const IdgSetup& setup) {
  constexpr std::uint64_t columns_at_once = 8;
  const std::uint64_t n_planes = setup.n_image_planes();
  // Columns of the layer's transform; of each thread those that it works on.
  const std::uint64_t transform =
      sizeof(std::complex<double>) *
      (plan.n_v * plan.image.n_x + setup.n_threads * std::max(columns_at_once * plan.n_v, plan.n_u));
  return {transform + image_bytes(plan, n_planes) + setup.n_threads * predictor_bytes(plan, setup),
          layer_bytes(plan, padded_planes(n_planes))};
}

std::size_t gridder_layers_within(const DeviceMemory& memory, const Device& device, const IdgPlan& plan,
                                  std::size_t n_planes, std::size_t n_gridders) {
  // The layers' transform works in float64 with scratch of its own, for one gridder after the other; blocks
  // of visibilities need room too.
  const std::uint64_t shared =
      3 * sizeof(std::complex<double>) * plan.n_u * plan.n_v + memory.total_bytes / 8;
  const std::uint64_t fixed = shared + n_gridders * (4 * kCudaRangeBytes + image_bytes(plan, n_planes));
  const std::uint64_t layer = n_gridders * layer_bytes(plan, n_planes);
  if (fixed + layer > memory.free_bytes) {
    const std::string what =
        n_gridders == 1 ? "this image needs" : fmt::format("these {} images need", n_gridders);
    throw DeviceError("{}: {} are free and {} {}: make {}, or use --device cpu", device.description,
                      format_bytes(static_cast<double>(memory.free_bytes)), what,
                      format_bytes(static_cast<double>(fixed + layer)),
                      n_gridders == 1 ? "it smaller" : "them smaller or fewer");
  }
  return std::min<std::uint64_t>(plan.n_layers, (memory.free_bytes - fixed) / layer);
}

}  // namespace apsyn
