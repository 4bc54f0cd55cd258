// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/grid_lists.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/epic/aperture.h"
#include "libcore/base/constants.h"

namespace apsyn {
namespace {

struct Placed {
  std::uint32_t row, column;
  GridEntry entry;
};

std::uint32_t wrapped(std::int64_t cell, std::size_t n) {
  const auto length = static_cast<std::int64_t>(n);
  return static_cast<std::uint32_t>(((cell % length) + length) % length);
}

void autocorrelate(std::span<const std::complex<double>> c, std::size_t n, std::complex<double>* lags) {
  const auto k = static_cast<std::ptrdiff_t>(n);
  for (std::ptrdiff_t dy = 0; dy < k; ++dy)
    for (std::ptrdiff_t dx = 1 - k; dx < k; ++dx) {
      std::complex<double> sum = 0;
      for (std::ptrdiff_t y = 0; y + dy < k; ++y)
        for (std::ptrdiff_t x = std::max<std::ptrdiff_t>(0, -dx); x < std::min(k, k - dx); ++x)
          sum += c[static_cast<std::size_t>((y + dy) * k + x + dx)] *
                 std::conj(c[static_cast<std::size_t>(y * k + x)]);
      *lags++ = sum;
    }
}

}  // namespace

std::vector<std::vector<std::complex<double>>> aperture_nodes(const EpicPlan& plan, const FftGrid& grid,
                                                              const KernelFit& kernel, double freq_hz) {
  std::vector<std::vector<std::complex<double>>> heard(plan.apertures.size());
  for (std::size_t kind = 0; kind < heard.size(); ++kind)
    for (const auto& [x, y] : kernel.nodes()) {
      const double l = x / grid.x.spacing(), m = y / grid.y.spacing();
      const double n = std::sqrt(1 - l * l - m * m);
      const auto along = [&](std::size_t axis) {
        return l * grid.axes[0][axis] + m * grid.axes[1][axis] + n * grid.axes[2][axis];
      };
      heard[kind].push_back(std::conj(aperture_response(*plan.apertures[kind], freq_hz, along(0), along(1))));
    }
  return heard;
}

std::uint64_t grid_lists_bytes(const EpicPlan& plan) {
  const std::uint64_t k = plan.kernel_cells;
  return plan.n_ant * (k * k * (sizeof(GridEntry) + sizeof(GridCell)) +
                       (plan.autos ? 0 : k * (2 * k - 1) * sizeof(std::complex<double>)));
}

GridLists make_grid_lists(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid,
                          const KernelFit& kernel, double freq_hz) {
  const std::size_t k = kernel.cells();
  const double per_m = freq_hz / kSpeedOfLight_m_s;  // wavelengths
  GridLists lists;
  std::vector<std::complex<double>> c(k * k);
  std::vector<Placed> placed;
  const auto cells_of = [&](std::size_t ant) {
    const Vec3 place = grid.place(geometry.enu_m[ant]);
    return std::array{place[0] * per_m / grid.x.spacing(), place[1] * per_m / grid.y.spacing()};
  };
  std::int64_t lowest_x = INT64_MAX, lowest_y = INT64_MAX;
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
    if (!plan.gridded(ant)) continue;
    lowest_x = std::min(lowest_x, kernel.first(cells_of(ant)[0]));
    lowest_y = std::min(lowest_y, kernel.first(cells_of(ant)[1]));
  }
  lists.first_column = lowest_x;
  lists.first_row = lowest_y;
  if (!plan.autos) lists.lags.resize({plan.n_ant, k, 2 * k - 1});
  const auto heard = aperture_nodes(plan, grid, kernel, freq_hz);
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
    if (!plan.gridded(ant)) continue;
    const auto [u, v] = cells_of(ant);
    const double w = plan.w == EpicW::kernel ? grid.place(geometry.enu_m[ant])[2] * per_m : 0;
    if (std::abs(w) > 1e-6 || !heard.empty()) lists.real = false;
    if (plan.apertures.empty())
      kernel.weights(u, v, std::abs(w) > 1e-6 ? w : 0, c);
    else
      kernel.weights(u, v, w, heard[plan.aperture[ant]], c);
    for (std::size_t y = 0; y < k; ++y)
      for (std::size_t x = 0; x < k; ++x)
        placed.push_back({wrapped(kernel.first(v) - lowest_y + static_cast<std::int64_t>(y), grid.y.n),
                          wrapped(kernel.first(u) - lowest_x + static_cast<std::int64_t>(x), grid.x.n),
                          {static_cast<std::uint32_t>(ant), static_cast<float>(c[y * k + x].real()),
                           static_cast<float>(c[y * k + x].imag())}});
    if (!plan.autos) {
      // of the weights as they are used
      for (std::complex<double>& value : c)
        value = {static_cast<float>(value.real()), static_cast<float>(value.imag())};
      autocorrelate(c, k, &lists.lags(ant, 0, 0));
    }
  }
  std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const bool new_row = i == 0 || placed[i].row != placed[i - 1].row;
    if (new_row) {
      lists.rows.push_back(placed[i].row);
      lists.row_begin.push_back(static_cast<std::uint32_t>(lists.cells.size()));
    }
    if (new_row || placed[i].column != placed[i - 1].column)
      lists.cells.push_back({placed[i].column, static_cast<std::uint32_t>(i)});
    lists.entries.push_back(placed[i].entry);
    lists.n_row = std::max<std::size_t>(lists.n_row, placed[i].row + 1);
    lists.n_column = std::max<std::size_t>(lists.n_column, placed[i].column + 1);
  }
  lists.row_begin.push_back(static_cast<std::uint32_t>(lists.cells.size()));
  lists.cells.push_back({0, static_cast<std::uint32_t>(placed.size())});
  return lists;
}

}  // namespace apsyn
