// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA gridder's kernels, launched by idg_cuda.cpp. T is float or double throughout; complex numbers are
// float2 or double2. The equations are those of subgrid_tables.h: a task's sum over its visibilities is one
// real matrix product
//
//   C[term][plane][re cos_y, re sin_y, im cos_y, im sin_y][y][cos_x, sin_x][x] = sum_k A[k][row] B[k][column]
//
// of the phasors of the positive half pixels, and the four quadrants follow from signs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace apsyn::idg_cuda {

constexpr int kMaxSubgrid = 128;
constexpr int kTileColumns = 32, kTileRows = 256, kTileThreads = 256;
constexpr int kGridTile = 32;  ///< cells per side of the grid that a block of the adder owns

template <class T>
struct Complex;
template <>
struct Complex<float> {
  using Type = float2;
};
template <>
struct Complex<double> {
  using Type = double2;
};
template <class T>
using ComplexOf = typename Complex<T>::Type;

/// A task as the device sees it.
struct Task {
  double centre_u, centre_v;  ///< uv cells
  double w_lambda;            ///< of its layer (Chebyshev), or of the first that it reaches (kernel)
  std::uint32_t first_visibility, n_visibilities;
};

/// Pixels of half a side, up to whole groups of eight: a thread's rows of the product then share all but y.
__host__ __device__ constexpr int padded_half(int side) {
  return (side / 2 + 7) / 8 * 8;
}

/// One block of rows, and what a plan makes of it.
struct Geometry {
  int n_planes, n_data_planes, n_weight_planes, n_terms, side;
  int n_outputs;        ///< subgrids a task and plane
  bool w_kernel;        ///< WHandling::kernel
  double per_u, per_v;  ///< uv cells per wavelength
  double n_middle, half_w_lambda, kernel_beta, layer_step_lambda;
};

/// Per visibility, so that the product does no geometry and no trigonometry.
template <class T>
struct Prepared {
  double2* turns;  ///< [visibility] du / side, dv / side
  ComplexOf<T>*
      terms;     ///< [visibility][term][plane]: the value, weighted and turned by the w phase, times the term
  T* phasors_u;  ///< [visibility of the chunk][cos, sin][x], side wide
  T* phasors_v;  ///< [visibility of the chunk][cos, sin][y, padded with zeros]
};

template <class T>
struct PrepareTask {
  Geometry geometry;
  const double* uvw_m;              ///< [row][3]
  const double* path_m;             ///< [row] or null
  const double* wavenumber;         ///< [chan]
  const float2* data;               ///< [row][chan][data plane]
  const float* weight;              ///< [row][chan][weight plane]
  const std::uint32_t* visibility;  ///< [visibility] row * n_chan + chan
  const std::uint32_t* task_of;     ///< [visibility]
  const Task* tasks;
  int n_chan, n_visibilities;
  Prepared<T> out;
};
template <class T>
void launch_prepare(const PrepareTask<T>& task, cudaStream_t stream);

/// Phasors of consecutive visibilities, those of one chunk of tasks.
template <class T>
struct PhasorTask {
  Prepared<T> in;
  std::size_t first_visibility, n_visibilities;
  int side;
};
template <class T>
void launch_phasors(const PhasorTask<T>& task, cudaStream_t stream);

/// products [task][term][plane][re cos_y, re sin_y, im cos_y, im sin_y][padded y, whole tiles][cos_x,
/// sin_x][x].
template <class T>
struct ProductTask {
  Geometry geometry;
  Prepared<T> in;
  const Task* tasks;
  int n_tasks, n_rows_padded;
  std::size_t first_phasor;  ///< visibility that the phasors begin with
  T* products;
};
template <class T>
void launch_product(const ProductTask<T>& task, cudaStream_t stream);
/// Rows of a task's product, up to whole tiles.
inline int rows_padded(const Geometry& g) {
  const int n_rows = g.n_terms * g.n_planes * 4 * padded_half(g.side);
  return (n_rows + kTileRows - 1) / kTileRows * kTileRows;
}

/// images [task][plane][output][y][x]: quadrants, terms and taper combined.
template <class T>
struct CombineTask {
  Geometry geometry;
  const T* products;
  const double* coefficient;  ///< [term][side/2][side/2], or [1][..] the taper (w kernel)
  int n_tasks, n_rows_padded;
  double2* images;
};
template <class T>
void launch_combine(const CombineTask<T>& task, cudaStream_t stream);

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
  Geometry geometry;
  const double2* subgrids;       ///< [task][plane][output][v][u] transformed, FFT order
  const double2* uv_phase;       ///< [side] exp(-i pi k (L - 1) / L) / L, cells in rising order
  const Placement* placements;   ///< [task]
  const std::uint32_t* entries;  ///< task * n_outputs + output
  const GridTile* tiles;
  int n_tiles, n_u, n_v;
  ComplexOf<T>* grids;  ///< [layer][plane][v][u]
};
template <class T>
void launch_add(const AddTask<T>& task, cudaStream_t stream);

/// work [v][u] = grid in float64.
template <class T>
void launch_widen(const ComplexOf<T>* grid, double2* work, std::size_t n, cudaStream_t stream);

/// image [y][x] += Re(work exp(-2 pi i w (n - n_shift))), the pixel taken from its place in the transform.
struct ScreenTask {
  const double2* work;  ///< [v][u] transformed
  double* image;
  int n_x, n_y, n_u, n_v;
  double cell_rad, w_lambda, n_shift;
};
void launch_screen(const ScreenTask& task, cudaStream_t stream);

}  // namespace apsyn::idg_cuda
