// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/common/spectra/multiply_codes.h"
#include "kernels/common/spectra/pair_sums.h"
#include "kernels/epic/aperture.h"
#include "kernels/epic/corr/pair_imager.h"
#include "kernels/epic/dft/cpu/engine.h"
#include "kernels/epic/sky_pixels.h"

namespace apsyn {

namespace {

// Measured on one Zen 4 core with AVX-512 (bench_epic).
constexpr double kWeighedCodes_s = 4e-11;  ///< dft: an input of a spectrum times its weight, codes
constexpr double kWeighed_s = 7.4e-11;     ///< dft: the same, floats
constexpr double kWeight_s = 2.5e-9;       ///< dft: an antenna's weight for a pixel, once an accumulation
constexpr double kWeightCodes_s = 4e-9;    ///< dft: the same, rounded for both polarisations
constexpr double kTurned_s = 3e-9;         ///< dft: an input of a spectrum
constexpr double kPairCodes_s = 2e-11;     ///< corr: a product of two inputs, codes
constexpr double kPair_s = 8e-11;          ///< corr: the same, floats

/// Spectra that have been made of samples are no codes.
bool coded(const EpicPlan& plan) {
  return plan.n_fine == 1 && multiplies_codes();
}

/// And pixels, twice while they are made.
std::uint64_t sums_bytes(const EpicPlan& plan, std::size_t n_pixel) {
  return n_pixel * (plan.n_image_channel() * kDftValues * sizeof(double) + 2 * sizeof(Vec3) + 4);
}

}  // namespace

std::uint64_t field_bytes(const EpicPlan& plan, std::size_t n_pixel) {
  return plan.field ? std::uint64_t{3} * plan.n_channel() * n_pixel * sizeof(std::complex<float>) : 0;
}

EpicCost dft_cost(const EpicPlan& plan, const EpicGeometry& geometry) {
  const std::size_t n_pixel = sky_pixels(plan, geometry).size();
  const double inputs = static_cast<double>(plan.n_channel() * plan.n_ant * plan.n_pol);
  const bool integers = coded(plan) && dft_takes_codes(plan);
  // float64: half as many numbers in a vector
  const double floats = plan.float64 ? 2 : 1;
  const double weighed_s = integers ? kWeighedCodes_s : floats * kWeighed_s;
  EpicCost cost;
  cost.spectrum_s = inputs * (kTurned_s + weighed_s * static_cast<double>(n_pixel));
  cost.image_s = static_cast<double>(plan.n_channel() * plan.n_ant * n_pixel) *
                 (integers ? kWeightCodes_s : floats * kWeight_s);
  cost.of_codes = integers;
  cost.bytes = field_bytes(plan, n_pixel) + sums_bytes(plan, n_pixel) + dft_working_bytes(plan) +
               ApertureWeights::bytes(plan, n_pixel);
  return cost;
}

EpicCost corr_cost(const EpicPlan& plan, const EpicGeometry& geometry) {
  const SkyPixels pixels = sky_pixels(plan, geometry);
  const auto n_input = static_cast<double>(plan.n_ant * plan.n_pol);
  const double pair_s = coded(plan) ? kPairCodes_s : kPair_s;
  const double direct_s = direct_pairs_s(plan, pixels.size());
  double image_s = direct_s;
  std::uint64_t imager_bytes = direct_pairs_bytes(plan);
  if (plan.n_direction == 0 && plan.apertures.empty()) {
    const PairGridShape shape = pair_grid_shape(plan, geometry, pixels);
    const double grid_s = grid_pairs_s(plan, shape);
    if (grid_s < direct_s) {
      image_s = grid_s;
      imager_bytes = grid_pairs_bytes(plan, shape, pixels.size());
    }
  }
  EpicCost cost;
  cost.of_codes = coded(plan);
  cost.spectrum_s = static_cast<double>(plan.n_channel()) * n_input * n_input / 2 * pair_s;
  cost.image_s = static_cast<double>(plan.n_image_channel()) * image_s;
  cost.bytes = sums_bytes(plan, pixels.size()) + PairSums::bytes(plan.n_channel(), plan.n_ant * plan.n_pol) +
               imager_bytes + ApertureWeights::bytes(plan, pixels.size()) + PairWeights::bytes(plan);
  return cost;
}

}  // namespace apsyn
