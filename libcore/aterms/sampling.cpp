// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/aterms/sampling.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include "libcore/base/units.h"

namespace apsyn {

AtermGrid halved(const AtermGrid& grid) {
  return {grid.centre, grid.side == 0 ? 0 : 2 * grid.side - 1, grid.step_l_rad / 2, grid.step_m_rad / 2};
}

double half_way_error(const AtermGrid& grid, View<const double, 2> phase_rad) {
  if (grid.side < 8) return 0;
  constexpr std::array<double, 8> kLagrange{-5, 49, -245, 1225, 1225, -245, 49, -5};  // over 2048
  constexpr double kHorizon = 0.9;
  const AtermGrid fine = halved(grid);
  double sum = 0;
  std::size_t n = 0;
  const auto add = [&](const auto& phase, double distance) {  // phase(offset in half pixels)
    if (distance > kHorizon) return;
    std::complex<double> error = -std::polar(1.0, phase(0));
    for (std::size_t i = 0; i < 8; ++i)
      error += std::polar(kLagrange[i] / 2048, phase(2 * static_cast<int>(i) - 7));
    sum += std::norm(error);
    ++n;
  };
  const std::size_t margin = fine.side / 6;
  const std::size_t first_along = std::max<std::size_t>(7, margin | 1), first_across = (margin + 1) / 2 * 2;
  for (std::size_t across = first_across; across + first_across < fine.side; across += 2)
    for (std::size_t along = first_along; along + first_along < fine.side; along += 2) {
      const auto at = [&](int offset) { return static_cast<std::size_t>(static_cast<int>(along) + offset); };
      const double reach_l = std::abs(fine.l(along)) + 7 * std::abs(fine.step_l_rad);
      const double reach_m = std::abs(fine.m(along)) + 7 * std::abs(fine.step_m_rad);
      add([&](int offset) { return phase_rad(across, at(offset)); }, std::hypot(reach_l, fine.m(across)));
      add([&](int offset) { return phase_rad(at(offset), across); }, std::hypot(fine.l(across), reach_m));
    }
  return n == 0 ? 0 : std::sqrt(sum / static_cast<double>(n));
}

std::string sampling_warning(const std::string& name, const std::string& path, const AtermGrid& grid,
                             double error_rad, double freq_hz) {
  return fmt::format(
      "{}: {} turns phases too fast for the subgrid's pixels of {}: some {:.2g} rad RMS at {} go astray "
      "between "
      "them: choose larger subgrids",
      name, path, format_angle(std::abs(grid.step_l_rad)), error_rad, format_frequency(freq_hz));
}

}  // namespace apsyn
