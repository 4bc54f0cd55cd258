// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/residual_imager.h"

#include <complex>

namespace apsyn {

std::uint64_t residual_imager_bytes(const IdgPlan& plan, std::size_t n_planes, const ResidualLoad& load,
                                    std::uint64_t device_bytes) {
  const double real = plan.settings.precision == Precision::single ? 4 : 8,
               planes = static_cast<double>(n_planes),
               pixels = static_cast<double>(plan.image.n_x) * static_cast<double>(plan.image.n_y),
               cells = static_cast<double>(padded_cells(plan));
  // Sums and subgrids of a range, and what predicting has of the same kind.
  const double ranges = 3 * static_cast<double>(range_bytes(device_bytes));
  // The sums of images and the model in float64, what travels in float32, the taper.
  const double images = pixels * (planes * (2 * sizeof(double) + sizeof(float)) + sizeof(double));
  // Grids of both directions, and a layer at work with its transform's scratch.
  const double layers = 2 * planes * cells * 2 * real * static_cast<double>(plan.n_layers) +
                        4 * sizeof(std::complex<double>) * cells;
  // Coordinates, stations and how rows are divided, for either direction; data and weights.
  constexpr double kRowBytes = 450, kListBytes = 8,
                   kReserve = 1.25;  // arrays take a quarter more than they need
  const double kept =
      load.n_rows * kRowBytes +
      kReserve * load.n_visibilities * (kListBytes + planes * (sizeof(std::complex<float>) + sizeof(float)));
  // Of one block at a time: predictions by task and by row, slots, and values at nodes.
  const double at_work = kReserve * load.n_block_visibilities * (16 + 12 * real + 8 * real * planes) +
                         load.n_block_rows * kRowBytes;
  return static_cast<std::uint64_t>(ranges + images + layers + kept + at_work);
}

std::uint64_t residual_host_bytes() {
  return kUploadHostBytes + kDownloadHostBytes;
}

}  // namespace apsyn
