// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/convolution_gridding.h"

#include <cmath>
#include <numbers>

namespace apsyn::reference {
namespace {

using std::numbers::pi;

struct Axis {
  int first;        ///< cell
  double fraction;  ///< of the position beyond its cell
};
Axis place(double position, int size, int oversampling) {
  const double rounded = std::floor(position * oversampling + 0.5) / oversampling;
  return {static_cast<int>(std::floor(rounded)) - size / 2 + 1, rounded - std::floor(rounded)};
}

std::size_t wrapped(int cell, std::size_t n) {
  const int size = static_cast<int>(n);
  return static_cast<std::size_t>(((cell + size / 2) % size + size) % size);
}

/// Calls work(cell of the grid, kernel).
template <class Work>
void for_cells(std::size_t n_grid, const ImageFunction& s, int size, int oversampling, double u, double v,
               Work work) {
  const Axis at_u = place(u, size, oversampling), at_v = place(v, size, oversampling);
  const auto wave = [&](int k, double fraction, int p) {
    return std::polar(1.0 / size, 2 * pi * (k - (size / 2 - 1) - fraction) * p / size);
  };
  for (int ku = 0; ku < size; ++ku) {
    std::vector<std::complex<double>> column;  // summed over x, [y]
    for (int y = -size / 2; y < size / 2; ++y) {
      std::complex<double> sum = 0;
      for (int x = -size / 2; x < size / 2; ++x) sum += s(y, x) * wave(ku, at_u.fraction, x);
      column.push_back(sum);
    }
    for (int kv = 0; kv < size; ++kv) {
      std::complex<double> kernel = 0;
      for (int y = -size / 2; y < size / 2; ++y)
        kernel += column[static_cast<std::size_t>(y + size / 2)] * wave(kv, at_v.fraction, y);
      work(wrapped(at_v.first + kv, n_grid) * n_grid + wrapped(at_u.first + ku, n_grid), kernel);
    }
  }
}

}  // namespace

void convolve_onto(UvGrid& grid, const ImageFunction& s, int size, int oversampling, double u, double v,
                   const std::array<std::complex<double>, 4>& value) {
  for_cells(grid.n, s, size, oversampling, u, v, [&](std::size_t cell, std::complex<double> kernel) {
    for (std::size_t pol = 0; pol < 4; ++pol) grid.cells[cell][pol] += kernel * value[pol];
  });
}

std::array<std::complex<double>, 4> convolve_from(const UvGrid& grid, const ImageFunction& s, int size,
                                                  int oversampling, double u, double v) {
  std::array<std::complex<double>, 4> value{};
  for_cells(grid.n, s, size, oversampling, u, v, [&](std::size_t cell, std::complex<double> kernel) {
    for (std::size_t pol = 0; pol < 4; ++pol) value[pol] += std::conj(kernel) * grid.cells[cell][pol];
  });
  return value;
}

}  // namespace apsyn::reference
