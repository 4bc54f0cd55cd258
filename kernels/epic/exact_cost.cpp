// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/common/multiply_codes.h"
#include "kernels/common/pair_sums.h"
#include "kernels/epic/dft_tile.h"
#include "kernels/epic/pair_imager.h"
#include "kernels/epic/sky_pixels.h"

namespace apsyn {

namespace {

// Of one Zen 4 core with AVX-512 (bench_epic).
constexpr double kWeighed_s = 7.5e-11;  ///< an input times its weight, dft
constexpr double kTurned_s = 2e-9;      ///< an input of a spectrum, dft
constexpr double kPairCodes_s = 2e-11;  ///< a product of two inputs, corr, of codes
constexpr double kPair_s = 8e-11;       ///< the same, of floats

std::uint64_t sums_bytes(const EpicPlan& plan, std::size_t n_pixel) {
  return std::uint64_t{plan.n_image_channel()} * n_pixel * kDftValues * sizeof(double);
}

}  // namespace

EpicCost dft_cost(const EpicPlan& plan, const EpicGeometry& geometry) {
  const std::size_t n_pixel = sky_pixels(plan, geometry).size();
  const double inputs = static_cast<double>(plan.n_channel() * plan.n_ant * plan.n_pol);
  EpicCost cost;
  cost.spectrum_s = inputs * (kTurned_s + kWeighed_s * static_cast<double>(n_pixel));
  cost.bytes = sums_bytes(plan, n_pixel) + dft_working_bytes(plan);
  return cost;
}

EpicCost corr_cost(const EpicPlan& plan, const EpicGeometry& geometry) {
  const SkyPixels pixels = sky_pixels(plan, geometry);
  const auto n_input = static_cast<double>(plan.n_ant * plan.n_pol);
  // spectra that have been made of samples are no codes
  const double pair_s = plan.n_fine == 1 && multiplies_codes() ? kPairCodes_s : kPair_s;
  double image_s = direct_pairs_s(plan, pixels.size());
  if (plan.n_direction == 0)
    image_s = std::min(image_s, grid_pairs_s(plan, pair_grid_shape(plan, geometry, pixels), pixels.size()));
  EpicCost cost;
  cost.spectrum_s = static_cast<double>(plan.n_channel()) * n_input * n_input / 2 * pair_s;
  cost.image_s = static_cast<double>(plan.n_image_channel()) * image_s;
  cost.bytes = sums_bytes(plan, pixels.size()) + PairSums::bytes(plan.n_channel(), plan.n_ant * plan.n_pol) +
               pair_imager_bytes(plan, pixels.size());
  return cost;
}

}  // namespace apsyn
