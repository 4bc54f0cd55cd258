// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA gridder's other kernels: sums for devices without Hopper's tensor cores and for double precision,
// the adder, and the layers' way into the image. T is float or double throughout.
//
// A task's sum over its visibilities is one real matrix product
//
//   C[term][plane][re cos_y, re sin_y, im cos_y, im sin_y][y][cos_x, sin_x][x] = sum_k A[k][row] B[k][column]
//
// With pixels at half-integers, x = +-1/2, +-3/2, ... +-(L - 1)/2, the phasors of the positive half hold
// everything; the four quadrants follow from signs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/idg/cuda/complex.cuh"
#include "kernels/idg/cuda/layers/grid_tiles.cuh"
#include "kernels/idg/cuda/partition/slots.cuh"

namespace apsyn::idg_cuda {

constexpr int kTileColumns = 32, kTileRows = 256, kTileThreads = 256;

/// Pixels of half a side, up to whole groups of eight: a thread's rows of the product then share all but y.
__host__ __device__ constexpr int padded_half(int side) {
  return (side / 2 + 7) / 8 * 8;
}

/// What carries w in the product: Chebyshev polynomials of Slots::t, or the kernel's values for layers.
struct WTerms {
  int n_terms;
  bool kernel;  ///< WHandling::kernel: t is w from the first layer's, in wavelengths
  double half_w_lambda, kernel_beta, layer_step_lambda;
};

/// Operands of the product for consecutive slots, those of one chunk of tasks.
template <class T>
struct Factors {
  ComplexOf<T>* terms;  ///< [slot][term][plane]: the value times the term
  T* phasors_u;         ///< [slot][cos, sin][x], side wide
  T* phasors_v;         ///< [slot][cos, sin][y, padded with zeros]
};
template <class T>
struct FactorTask {
  Slots<T> in;
  WTerms w;
  std::size_t first_slot, n_slots;
  int n_planes, side;
  Factors<T> out;
};
template <class T>
void launch_factors(const FactorTask<T>& task, cudaStream_t stream);

/// products [task][term][plane][re cos_y, re sin_y, im cos_y, im sin_y][padded y, whole tiles][cos_x,
/// sin_x][x].
template <class T>
struct ProductTask {
  Factors<T> in;
  const SlotTask* tasks;
  int n_tasks, n_terms, n_planes, side, n_rows_padded;
  std::size_t first_slot;  ///< that the factors begin with
  T* products;
};
template <class T>
void launch_product(const ProductTask<T>& task, cudaStream_t stream);
/// Rows of a task's product, up to whole tiles.
inline int rows_padded(int n_terms, int n_planes, int side) {
  const int n_rows = n_terms * n_planes * 4 * padded_half(side);
  return (n_rows + kTileRows - 1) / kTileRows * kTileRows;
}

/// A task's subgrids start at these grid cells (already wrapped).
struct Placement {
  int start_v, start_u;
};
/// A tile of one layer's grid and the range of its subgrids in `entries`.
struct GridTile {
  int layer, v, u;  ///< layer in the pass; first cell
  std::uint32_t first_entry, n_entries;
};
/// Each tile pulls the subgrids that overlap it, in a fixed order: no atomics, the same bits every time.
template <class T>
struct AddTask {
  const ComplexOf<T>* subgrids;  ///< [task][plane][output][v][u] transformed; FFT order with uv_phase
  /// [side] exp(-i pi k (L - 1) / L) / L, cells in rising order. null: subgrids are in rising order and times
  /// these phases already.
  const ComplexOf<T>* uv_phase;
  const Placement* placements;   ///< [task]
  const std::uint32_t* entries;  ///< task * n_outputs + output
  const GridTile* tiles;
  int n_tiles, n_planes, n_outputs, side;
  GridShape grid;
  ComplexOf<T>* grids;       ///< [layer][plane] of GridShape
  std::uint8_t* strip_used;  ///< [layer][v / kGridTile] set to 1 where cells are added; or null
};
template <class T>
void launch_add(const AddTask<T>& task, cudaStream_t stream);

/// Subgrids as the host adds them.
template <class T>
struct ReorderTask {
  const ComplexOf<T>* subgrids;  ///< [subgrid][v][u] transformed, FFT order
  const ComplexOf<T>* uv_phase;  ///< AddTask's
  std::size_t n_subgrids;
  int side;
  ComplexOf<T>* ordered;  ///< [subgrid][v][u] in rising cells, times the phases
};
template <class T>
void launch_reorder(const ReorderTask<T>& task, cudaStream_t stream);

/// work [v][u] = a plane of a layer's grid, grid_tiles.cuh, in W, that of the layers' transforms.
template <class T, class W>
void launch_widen(const ComplexOf<T>* grid, ComplexOf<W>* work, int n_u, int n_v, cudaStream_t stream);

/// image [plane][y][x] += sum over layers of Re(cells exp(-2 pi i w (n - n_shift))), the pixel taken from its
/// place in the transform.
template <class W>
struct ScreenTask {
  static constexpr int kMaxLayers = 16;
  struct Layer {
    const ComplexOf<W>* cells;  ///< [plane][v][u] transformed
    double w_lambda;
  };
  Layer layers[kMaxLayers];
  double* image;
  int n_layers, n_planes, n_x, n_y, n_u, n_v;
  double cell_rad, n_shift;
};
template <class W>
void launch_screen(const ScreenTask<W>& task, cudaStream_t stream);

}  // namespace apsyn::idg_cuda
