// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/fft_cuda.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/cuda/attribute.h"
#include "kernels/epic/fft/cuda/matrix/plan.h"
#include "kernels/epic/fft/off_grid.h"

namespace apsyn {
namespace {

using namespace epic_fft;

constexpr double kSpare = 1.25;  ///< Upload takes more than it needs
/// Memory for planes and prepared samples between the kernels of other variants, and for refined images.
constexpr double kBetween = (256 + 256 + 128) * 0x1p20;

double product(std::initializer_list<std::size_t> lengths) {
  double all = 1;
  for (const std::size_t length : lengths) all *= static_cast<double>(length);
  return all;
}

/// Size in pixels of the transform.
struct Shown {
  std::size_t x, y;
  double size() const { return product({x, (y + 3) / 4 * 4}); }
};

std::optional<double> matrix_bytes(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid,
                                   const Shown& shown, std::size_t n_spectra, int n_part, int device_index) {
  const std::uint64_t lists = tile_list_bytes(plan, geometry, grid);
  if (lists == 0 || fft_values(plan) == 1) return {};
  const double highest_hz = plan.highest_hz();
  const auto span = spanned_cells(plan, geometry, grid, highest_hz);
  const auto folded = [&](double cells) {
    return (static_cast<std::size_t>(cells) + plan.kernel_cells + 2) / 2;
  };
  const auto blocks = choose_matrix_blocks(
      folded(span[1]), folded(span[0]), shown.y / 2 + 1, shown.x / 2 + 1, n_part,
      static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device_index)));
  if (!blocks) return {};
  const std::size_t n_channel = plan.n_channel();
  const auto words = n_channel * static_cast<std::size_t>(grid_words(blocks->size));
  const auto n_block = static_cast<std::size_t>(
      blocks->n_part(n_channel, device_attribute(cudaDevAttrMultiProcessorCount, device_index)));
  const int n_version = versions_of(n_part);
  return product({n_channel, static_cast<std::size_t>(lists)}) * n_part * n_version / 2 +
         product({spectra_of_launch(n_spectra, words, n_version), words, sizeof(std::uint32_t)}) +
         product({n_channel, blocks->n_piece(), n_block, blocks->piece_sums(), sizeof(double)});
}

}  // namespace

std::uint64_t fft_device_bytes(const EpicPlan& plan, const EpicGeometry& geometry, std::size_t n_spectra,
                               EpicPrecision precision, int device_index) {
  const FftGrid grid = plan_fft_grid(plan, geometry);
  const Shown shown{grid.resampled ? grid.x.n : plan.nx, grid.resampled ? grid.y.n : plan.ny};
  const std::size_t n_channel = plan.n_channel(), k = plan.kernel_cells;
  const double sums = shown.size() * static_cast<double>(fft_values(plan));
  const auto matrices = matrix_bytes(plan, geometry, grid, shown, n_spectra,
                                     precision == EpicPrecision::half ? 1 : 2, device_index);
  double bytes = matrices.value_or(product({n_channel, sizeof(double)}) * sums + kBetween);
  // sums in order, and where they are
  bytes += sums * (product({plan.n_image_channel(), sizeof(double)}) + kSpare * sizeof(std::uint32_t));
  // images on their way, twice
  bytes += kSpare * product({2, plan.n_image_channel(), plan.n_plane(), plan.nx, plan.ny, sizeof(float)});
  if (!plan.autos) bytes += kSpare * product({n_channel, plan.n_ant, k * (2 * k - 1), 2 * sizeof(double)});
  if (grid.resampled)  // refined images, with what their transforms take
    bytes += 2 * kSpare *
             std::min(product({n_channel, 2, 5, grid.x.n, grid.y.n, 2 * sizeof(double)}), 1.25 * 0x1p27);
  // pairs of antennas off the grid: sums, matrices, gains, and pixels
  if (const std::size_t n_off = off_grid_order(plan).n_off; n_off > 0)
    bytes += kSpare * (product({n_channel, n_off, plan.n_ant,
                                plan.n_pol * plan.n_pol * 2 * sizeof(double) + 4 * 2 * sizeof(float)}) +
                       product({n_channel, plan.n_ant, plan.n_pol, 2 * sizeof(double)}) +
                       product({plan.nx, plan.ny, 3 * sizeof(double) + sizeof(std::uint32_t)}));
  bytes += product({plan.nx, plan.ny, 3 * sizeof(double) + 16 * sizeof(double)});
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace apsyn
