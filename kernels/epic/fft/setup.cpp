// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/setup.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/epic/factors.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn {

std::size_t fft_values(const EpicPlan& plan) {
  if (plan.cross) return 4;
  return plan.first && plan.second ? 2 : 1;
}

void check_fft_plan(const EpicPlan& plan) {
  check_epic_plan(plan);
  if (plan.n_direction > 0) throw UsageError("--method fft: images pixels only: give --method dft or corr");
  if (plan.w == EpicW::exact)
    throw UsageError("--w exact: --method fft knows zenith, plane and kernel; dft and corr are exact");
  if (plan.kernel_cells < 1 || plan.kernel_cells > 9 || !(plan.padding >= 1))
    throw std::logic_error("EpicPlan: kernels of 1 to 9 cells, padding of at least 1");
}

double aperture_misfit(const EpicPlan& plan, const EpicGeometry& geometry) {
  if (plan.apertures.empty()) return 0;
  const FftGrid grid = plan_fft_grid(plan, geometry);
  const KernelFit kernel(plan, grid);
  std::vector<std::complex<double>> c(plan.kernel_cells * plan.kernel_cells);
  double worst = 0;
  const double highest_hz = plan.highest_hz();
  for (const auto& heard : aperture_nodes(plan, grid, kernel, highest_hz))
    for (const double off : {0.0, 0.5}) worst = std::max(worst, kernel.weights(off, off, 0, heard, c));
  return worst;
}

void check_apertures(const EpicPlan& plan, const EpicGeometry& geometry) {
  if (const double misfit = aperture_misfit(plan, geometry); misfit > kMaxMisfit)
    throw UsageError(
        "--apertures: kernels of {} cells miss {:.2g} of what antennas hear: raise --kernel, make the field "
        "smaller, or give --method dft or corr",
        plan.kernel_cells, misfit);
}

FftGridded::FftGridded(const EpicPlan& plan, const EpicGeometry& geometry)
    : grid(plan_fft_grid(plan, geometry)),
      kernel(plan, grid),
      fft_x(grid.x.n),
      fft_y(grid.y.n),
      finish(plan, geometry, grid, kernel, fft_x, fft_y, fft_values(plan)),
      lists(plan.n_channel()) {
  parallel_for(plan.n_threads, plan.n_channel(), [&](std::size_t channel, unsigned) {
    lists[channel] = make_grid_lists(plan, geometry, grid, kernel, plan.channel_hz[channel]);
  });
}

Buffer<std::complex<float>, 2> fft_factors(const EpicPlan& plan, const EpicGeometry& geometry,
                                           const FftGrid& grid) {
  Buffer<std::complex<float>, 2> factors({plan.n_channel(), plan.n_ant * plan.n_pol});
  for (std::size_t channel = 0; channel < plan.n_channel(); ++channel)
    for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
      const double w_s = grid.place(geometry.enu_m[ant])[2] / kSpeedOfLight_m_s;
      const double turns = plan.channel_hz[channel] * (geometry.delay_s[ant] - w_s);
      const auto phase = std::polar(1.0, kTwoPi * (turns - std::nearbyint(turns)));
      for (std::size_t pol = 0; pol < plan.n_pol; ++pol)
        factors(channel, ant * plan.n_pol + pol) =
            std::complex<float>(epic_factor(plan, ant, pol, channel) * phase);
    }
  return factors;
}

double grid_gain(const EpicPlan& plan, const GridLists& lists, std::size_t channel) {
  double gain = 0;
  for (const GridEntry& entry : lists.entries) {
    double g = 0;
    for (std::size_t pol = 0; pol < plan.n_pol; ++pol)
      g = std::max(g, std::abs(epic_factor(plan, entry.ant, pol, channel)));
    gain += g * std::hypot(entry.re, entry.im);
  }
  return gain;
}

PackedLags fft_auto_lags(const EpicPlan& plan, const FftGridded& gridded, View<const double, 2> powers,
                         std::size_t image) {
  PackedLags lags;
  if (plan.autos) return lags;
  const std::size_t k = plan.kernel_cells, n_pack = gridded.finish.n_pack(), n_value = fft_values(plan);
  lags.resize({n_pack, 2 * k - 1, 2 * k - 1});
  for (std::size_t channel = image * plan.n_average; channel < (image + 1) * plan.n_average; ++channel)
    for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
      double power[4] = {};
      for (std::size_t value = 0; value < n_value; ++value)
        power[value] = powers(channel, ant * n_value + value);
      for (std::size_t pack = 0; pack < n_pack; ++pack) {
        const std::complex<double> of_pack{power[2 * pack], power[2 * pack + 1]};
        if (of_pack == 0.0) continue;
        const auto own = gridded.lists[channel].lags.view()[ant];
        for (std::size_t dy = 0; dy < k; ++dy)
          for (std::size_t dx = 0; dx < 2 * k - 1; ++dx) {
            lags(pack, k - 1 + dy, dx) += of_pack * own(dy, dx);
            if (dy > 0) lags(pack, k - 1 - dy, 2 * k - 2 - dx) += of_pack * std::conj(own(dy, dx));
          }
      }
    }
  return lags;
}

}  // namespace apsyn
