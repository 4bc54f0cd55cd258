// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "kernels/epic/aperture.h"
#include "kernels/epic/fft/cpu/off_grid_pairs.h"
#include "kernels/epic/fft/finish.h"

namespace apsyn {
namespace {

// Measured on one Zen 4 core with AVX-512, for each spectrum of a channel and polarisation.
constexpr double kButterfly_s = 0.075e-9;  ///< of a transform of N, times N log2 N
constexpr double kMove_s = 0.05e-9;        ///< a cell from a row to a column
constexpr double kGather_s = 0.065e-9;     ///< an antenna's voltage on a cell, times 2 with w
constexpr double kLoad_s = 2e-9;           ///< an antenna's voltage
constexpr double kProduct_s = 0.045e-9;    ///< of a pixel
// For each accumulation and channel, and each pixel of the transform.
constexpr double kFinish_s = 10e-9;
constexpr double kRefine_s = 120e-9;

}  // namespace

EpicCost fft_cost(const EpicPlan& plan, const EpicGeometry& geometry) {
  const FftGrid grid = plan_fft_grid(plan, geometry);
  const double middle_hz = plan.channel_hz[plan.n_channel() / 2];
  const double n_x = static_cast<double>(grid.x.n), n_y = static_cast<double>(grid.y.n);
  const double rows = std::min(
      n_y, spanned_cells(plan, geometry, grid, middle_hz)[1] + static_cast<double>(plan.kernel_cells));
  const double columns = grid.resampled ? n_x : static_cast<double>(plan.nx);
  const double n_ant = static_cast<double>(plan.n_ant), n_channel = static_cast<double>(plan.n_channel());
  const double n_pol = plan.cross || (plan.first && plan.second) ? 2 : 1;
  const double k = static_cast<double>(plan.kernel_cells);
  const double transforms = rows * n_x * std::log2(n_x) + columns * n_y * std::log2(n_y);
  const double values = static_cast<double>(plan.n_plane()) / n_pol;
  EpicCost cost;
  cost.spectrum_s = n_channel * n_pol *
                        (transforms * kButterfly_s + rows * columns * kMove_s +
                         n_ant * (k * k * kGather_s * (plan.w == EpicW::kernel ? 2 : 1) + kLoad_s) +
                         columns * n_y * values * kProduct_s) +
                    off_grid_spectrum_s(plan);
  cost.image_s = n_channel / static_cast<double>(plan.n_average) * static_cast<double>(plan.n_plane()) * n_x *
                     n_y * (grid.resampled ? kRefine_s : kFinish_s) +
                 off_grid_image_s(plan);
  constexpr std::size_t kItems = 8;  // of fft/cpu/imager.cpp
  const std::size_t n_turn = std::max<std::size_t>(1, kItems / plan.n_image_channel());
  const double sums =
      columns * n_y * values * n_pol * static_cast<double>(plan.n_image_channel() * n_turn * sizeof(double));
  cost.bytes = static_cast<std::uint64_t>(sums) + OffGridPairs::bytes(plan, n_turn) +
               field_bytes(plan, plan.nx * plan.ny) + ApertureWeights::bytes(plan, plan.nx * plan.ny) +
               plan.n_channel() * grid_lists_bytes(plan) +
               plan.n_threads *
                   (lane_scratch_bytes(plan.n_ant, plan.n_pol, grid) + FftFinish::scratch_bytes(plan, grid));
  return cost;
}

}  // namespace apsyn
