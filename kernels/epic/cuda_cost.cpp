// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <optional>

#include "kernels/epic/aperture.h"
#include "kernels/epic/corr/corr_cuda.h"
#include "kernels/epic/corr/pair_orders.h"
#include "kernels/epic/corr/pair_weights.h"
#include "kernels/epic/fft/fft_cuda.h"
#include "kernels/epic/fft/off_grid.h"
#include "kernels/epic/fft/setup.h"
#include "kernels/epic/sky_pixels.h"
#include "libcore/base/constants.h"

namespace apsyn {

namespace {

// Measured on one H200 (bench_epic_cuda).
constexpr double kInt8_s = 1.2e-14;      ///< dft: an input of a spectrum times its weight, half
constexpr double kTwoLimbs_s = 2.2e-14;  ///< dft: the same, single, integers
constexpr double kFloat_s = 1.6e-13;     ///< dft: the same, floats
constexpr double kWeight_s = 4e-12;      ///< dft: an antenna's weight for a pixel, floats, for every block
constexpr double kPair_s = 1.1e-14;      ///< corr: a product of two inputs, integers
constexpr double kFloatPair_s = 2e-13;   ///< corr: the same, floats
constexpr double kImaged_s = 4.8e-13;    ///< corr: a pair of antennas for a pixel, all products, directly
constexpr double kFormed_s = 4.6e-14;    ///< the same in halves, half
constexpr double kExactly_s = 9.5e-14;   ///< the same, single
constexpr double kSpread_s = 2e-10;      ///< corr: a pair of antennas onto a grid, all products
constexpr double kGathered_s = 1.2e-12;  ///< fft: an input's voltage on a cell
constexpr double kCell_s = 3.5e-12;      ///< fft: a cell of the transform and its products
constexpr double kReached_s = 1.06e-11;  ///< fft by matrices, single: a cell that antennas reach
constexpr double kPixel_s = 4e-12;       ///< fft by matrices, single: a pixel of the transform, all products
constexpr double kHalf = 0.55;           ///< fft by matrices: factor of these times in half precision
constexpr double kMaxReached = 96;       ///< cells along an axis for which there are matrices
constexpr double kMaxOfTwo = 64;         ///< single: along one of the two axes
constexpr double kStaged = 10;  ///< fft: factor of the time for a plane that does not fit into one kernel
constexpr double kOffGrid_s = 4e-13;    ///< fft: an input's products with an antenna off the grid
constexpr double kApart_s = 3e-12;      ///< fft: a pair of an antenna off the grid for a pixel
constexpr double kFinished_s = 3e-9;    ///< fft: a pixel of an image channel
constexpr std::size_t kMaxFused = 256;  ///< fft: cells along an axis of a plane that fits

/// Images of two accumulations on their way to where they are wanted: sums stay on the device.
std::uint64_t plane_bytes(const EpicPlan& plan) {
  return std::uint64_t{2} * plan.n_image_channel() * plan.n_plane() * plan.width() * plan.height() *
         sizeof(float);
}

/// With pixels, twice while those of another geometry are made.
std::uint64_t sky_bytes(const EpicPlan& plan, std::size_t n_pixel) {
  return plane_bytes(plan) + std::uint64_t{2} * n_pixel * (sizeof(Vec3) + sizeof(std::uint32_t)) +
         ApertureWeights::bytes(plan, n_pixel);
}

/// PairOrders, and a copy of them that is uploaded or replaces them.
std::uint64_t order_bytes(const PairCells& cells, std::size_t n_pixel) {
  return std::uint64_t{2} * n_pixel * (cells.n_order * sizeof(float) + 2 * sizeof(std::uint32_t));
}

}  // namespace

/// 2 KB for each 16 antennas of a tile of 8 x 2 cells, and one that is not full for each tile.
std::uint64_t tile_list_bytes(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid) {
  const std::array<double, 2> span = spanned_cells(plan, geometry, grid, plan.highest_hz());
  if (plan.n_fine > 1 || std::max(span[0], span[1]) + static_cast<double>(plan.kernel_cells) > kMaxReached)
    return 0;
  const std::size_t n_x = plan.kernel_cells + 1 + static_cast<std::size_t>(span[0]),
                    n_y = plan.kernel_cells + 1 + static_cast<std::size_t>(span[1]);
  const std::size_t n_tile = 4 * (n_y / 16 + 1) * (n_x / 4 + 1), k = plan.kernel_cells;
  // an antenna's kernel touches so many, and those on both sides of the middle
  const std::size_t of_kernel = ((k + 6) / 8 + 2) * (k / 2 + 2);
  return std::uint64_t{2048} * (plan.n_ant * of_kernel / 16 + std::min(n_tile, plan.n_ant * of_kernel));
}

namespace {

/// Pixels and a copy that is uploaded, taps of refined images, and lists of the grid.
std::uint64_t fft_bytes(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid,
                        EpicPrecision precision) {
  const std::size_t pixel =
      2 * sizeof(FinishPixel) + (grid.resampled ? 2 * FftFinish::kTaps * sizeof(double) : 0);
  return plane_bytes(plan) + std::uint64_t{plan.nx} * plan.ny * pixel +
         ApertureWeights::bytes(plan, plan.nx * plan.ny) +
         plan.n_channel() * (grid_lists_bytes(plan) + (precision == EpicPrecision::half ? 2 : 1) *
                                                          tile_list_bytes(plan, geometry, grid));
}

/// Seconds for a spectrum of a channel by products of matrices; no value if they cannot be used.
std::optional<double> matrix_spectrum_s(const EpicPlan& plan, const EpicGeometry& geometry,
                                        const FftGrid& grid, EpicPrecision precision) {
  if (plan.n_fine > 1 || plan.field || !(plan.cross || (plan.first && plan.second))) return {};
  double reached = 1, least = kMaxReached;
  for (const double span : spanned_cells(plan, geometry, grid, plan.highest_hz())) {
    const double cells = span + static_cast<double>(plan.kernel_cells);
    if (cells > kMaxReached) return {};
    reached *= cells;
    least = std::min(least, cells);
  }
  if (precision == EpicPrecision::single && least > kMaxOfTwo) return {};
  const std::size_t n_pixel = grid.resampled ? grid.x.n * grid.y.n : plan.nx * plan.ny;
  return (precision == EpicPrecision::half ? kHalf : 1) *
         (reached * kReached_s + static_cast<double>(n_pixel) * kPixel_s);
}

EpicCost fft_cost_on_gpu(const EpicPlan& plan, const EpicGeometry& geometry, EpicPrecision precision) {
  const FftGrid grid = plan_fft_grid(plan, geometry);
  const auto cells = static_cast<double>(grid.x.n) * static_cast<double>(grid.y.n);
  const auto k = static_cast<double>(plan.kernel_cells), n_channel = static_cast<double>(plan.n_channel());
  const double n_pol = plan.cross || (plan.first && plan.second) ? 2 : 1;
  const bool fused = std::max(grid.x.n, grid.y.n) <= kMaxFused && !plan.field;
  EpicCost cost;
  const double others_s = n_pol * (fused ? 1 : kStaged) *
                          (static_cast<double>(plan.n_ant) * k * k * kGathered_s + cells * kCell_s);
  cost.spectrum_s = n_channel * matrix_spectrum_s(plan, geometry, grid, precision).value_or(others_s);
  cost.image_s = static_cast<double>(plan.n_image_channel()) * cells * kFinished_s;
  const double off_grid =
      n_channel * static_cast<double>(plan.n_ant) * static_cast<double>(off_grid_order(plan).n_off);
  cost.spectrum_s += off_grid * static_cast<double>(plan.n_pol) * kOffGrid_s;
  cost.image_s += off_grid * static_cast<double>(plan.nx * plan.ny) * kApart_s;
  cost.bytes = fft_bytes(plan, geometry, grid, precision);
  return cost;
}

/// Seconds to sum the pairs of a spectrum of all channels.
double correlation_s(const EpicPlan& plan) {
  const auto n_input = static_cast<double>(plan.n_ant * plan.n_pol);
  return static_cast<double>(plan.n_channel()) * n_input * n_input / 2 *
         (plan.n_fine == 1 ? kPair_s : kFloatPair_s);
}

/// Whether dft weighs samples as they are.
bool of_integers(const EpicPlan& plan) {
  return plan.n_fine == 1 && plan.apertures.empty() && !plan.field;
}

/// The same as correlation_s(): sums of antennas.
double beams_s(const EpicPlan& plan, std::size_t n_pixel, EpicPrecision precision) {
  const double weighed_s = !of_integers(plan)                 ? kFloat_s
                           : precision == EpicPrecision::half ? kInt8_s
                                                              : kTwoLimbs_s;
  return static_cast<double>(plan.n_channel() * plan.n_ant * plan.n_pol) * static_cast<double>(n_pixel) *
         weighed_s;
}

}  // namespace

bool fits_half_pairs(const EpicPlan& plan) {
  return plan.n_pol == 2 && plan.n_ant >= kFewestFormed && plan.n_ant <= kMaxFormed &&
         plan.apertures.empty() && !plan.field;
}

double cuda_direct_pairs_s(const EpicPlan& plan, std::size_t n_pixel, EpicPrecision precision,
                           bool half_forms) {
  const auto n_ant = static_cast<double>(plan.n_ant);
  const double pair_s = !half_forms || !fits_half_pairs(plan) ? kImaged_s
                        : precision == EpicPrecision::half    ? kFormed_s
                                                              : kExactly_s;
  return static_cast<double>(plan.n_channel() * n_pixel) * n_ant * n_ant / 2 * pair_s;
}

bool cuda_dft_by_pairs(const EpicPlan& plan, EpicPrecision precision, double n_spectra) {
  const std::size_t n_pixel = plan.width() * plan.height();
  return n_spectra * correlation_s(plan) + cuda_direct_pairs_s(plan, n_pixel, precision) <
         n_spectra * beams_s(plan, n_pixel, precision);
}

double cuda_grid_pairs_s(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels) {
  const auto n_ant = static_cast<double>(plan.n_ant), n_channel = static_cast<double>(plan.n_channel());
  const PairCells cells = pair_cells(plan, geometry, pixels);
  return n_channel * n_ant * n_ant / 2 * kSpread_s +
         static_cast<double>(plan.n_image_channel()) * cells.pixels_s;
}

namespace {

EpicCost corr_cost_on_gpu(const EpicPlan& plan, const EpicGeometry& geometry) {
  const SkyPixels sky = sky_pixels(plan, geometry);
  EpicCost cost;
  cost.spectrum_s = correlation_s(plan);
  cost.image_s = cuda_direct_pairs_s(plan, sky.size());
  cost.bytes = sky_bytes(plan, sky.size()) + PairWeights::bytes(plan);
  if (plan.n_direction > 0 || !plan.apertures.empty()) return cost;
  const double grid_s = cuda_grid_pairs_s(plan, geometry, sky);
  if (!(grid_s < cost.image_s)) return cost;
  cost.image_s = grid_s;
  cost.bytes += order_bytes(pair_cells(plan, geometry, sky), sky.size());
  return cost;
}

}  // namespace

EpicCost cuda_epic_cost(EpicMethod method, const EpicPlan& plan, const EpicGeometry& geometry,
                        EpicPrecision precision) {
  if (method == EpicMethod::fft) return fft_cost_on_gpu(plan, geometry, precision);
  if (method == EpicMethod::corr) return corr_cost_on_gpu(plan, geometry);
  const SkyPixels sky = sky_pixels(plan, geometry);
  const std::size_t n_pixel = sky.size();
  EpicCost cost;
  cost.bytes = sky_bytes(plan, n_pixel);
  cost.spectrum_s = beams_s(plan, n_pixel, precision);
  if (!of_integers(plan))
    cost.image_s =
        static_cast<double>(plan.n_channel() * plan.n_ant) * static_cast<double>(n_pixel) * kWeight_s;
  return cost;
}

EpicMethod choose_cuda_epic_method(const EpicPlan& plan, const EpicGeometry& geometry, double n_spectra,
                                   EpicPrecision dft_precision, EpicPrecision fft_precision) {
  const auto seconds = [&](EpicMethod method) {
    const EpicPrecision precision = method == EpicMethod::fft ? fft_precision : dft_precision;
    return cuda_epic_cost(method, plan, geometry, precision).of(n_spectra);
  };
  EpicMethod best = EpicMethod::dft;
  if (!plan.field && seconds(EpicMethod::corr) < seconds(best)) best = EpicMethod::corr;
  if (plan.w != EpicW::exact && plan.n_direction == 0 && fits_fft_grid(plan, geometry) &&
      aperture_misfit(plan, geometry) <= kMaxMisfit && seconds(EpicMethod::fft) < seconds(best))
    best = EpicMethod::fft;
  return best;
}

}  // namespace apsyn
