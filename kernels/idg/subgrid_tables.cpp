// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/subgrid_tables.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/idg/w_terms.h"

namespace apsyn {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

}  // namespace

template <class T>
SubgridTables<T>::SubgridTables(const IdgPlan& plan_, std::size_t n_data, PsfPlane psf)
    : plan(plan_), n_data_planes(n_data), n_planes(n_data + (psf == PsfPlane::last ? 1 : 0)) {
  const std::size_t side = plan.settings.subgrid, half = side / 2;
  n_outputs = plan.w_handling == WHandling::kernel ? plan.n_terms : 1;
  taper.resize({half, half});
  coefficient.resize({plan.n_terms, half, half});
  const Taper window(plan.settings.taper, plan.taper_c);
  const double step_l = static_cast<double>(plan.n_u) * plan.image.cell_rad / static_cast<double>(side);
  const double step_m = static_cast<double>(plan.n_v) * plan.image.cell_rad / static_cast<double>(side);
  for (std::size_t y = 0; y < half; ++y)
    for (std::size_t x = 0; x < half; ++x) {
      const double ix = static_cast<double>(x) + 0.5, iy = static_cast<double>(y) + 0.5;
      taper(y, x) = window(2 * ix / static_cast<double>(side)) * window(2 * iy / static_cast<double>(side));
      if (plan.w_handling == WHandling::kernel) continue;
      const double l = ix * step_l, m = iy * step_m;
      const double n = std::sqrt(std::max(0.0, 1 - l * l - m * m));
      for (std::size_t r = 0; r < plan.n_terms; ++r)
        coefficient(r, y, x) =
            (r == 0 ? 1 : 2) * taper(y, x) * bessel_j(r, two_pi * plan.half_w_lambda * (n - plan.n_middle));
    }
  uv_phase.resize({side});
  for (std::size_t k = 0; k < side; ++k) {
    const double cell = static_cast<double>(k) - static_cast<double>(half);
    uv_phase.data()[k] =
        std::polar(1.0 / static_cast<double>(side),
                   -std::numbers::pi * cell * static_cast<double>(side - 1) / static_cast<double>(side));
  }
}

template struct SubgridTables<float>;
template struct SubgridTables<double>;

}  // namespace apsyn
