// SPDX-License-Identifier: GPL-3.0-or-later
// The `fft` method as products of matrices on tensor cores: spectra of a channel -> sums of products at the
// pixels of the transform (epic.h; MOFF, Morales 2011), for arrays that reach no more than 96 of the plane's
// cells (2 x 16 kMaxSteps) along each axis.
//
// With cells x, y counted from the middle of those that antennas reach (halves: 1/2, 3/2, ...) and pixels
// l, m from the middle of those that are wanted, the transform of cells G of a spectrum is
//
//   E(l, m) = sum_(x > 0) [F(x, m) + F(-x, m)] cos(2 pi x l / n_x)
//                     - i [F(x, m) - F(-x, m)] sin(2 pi x l / n_x),
//
// and F(x, m) likewise a sum over y > 0 of G: folded twice, a quarter of the cells' and pixels' pairs. What
// moving the origins turns cells by is in the kernels' weights; what it turns pixels by, no power holds.
//
// grid_cells: a warp makes 16 cells and their three mirror images, of eight spectra at a time. Weights times
// samples are products of matrices, too: a tile of 8 x 2 cells lists the antennas that reach it. The four
// tiles are folded in float32 and written as the right operand of the next product.
//
// image_grids: a block owns a channel and 16 kRows x 64 kN / kRows pixels m, l > 0 with their mirror images.
// For each spectrum it transforms columns of cells to F in shared memory, which are left operands already,
// and rows of F to E in registers, which are multiplied into sums that stay there: float32 for the spectra of
// a launch, then float64 in memory.
//
// Operands are halves (kParts 1), or pairs of them, high + low, whose products leave out low times low
// (kParts 2: 22 bits). Products of matrices are summed up in float32 either way. What rounding cells and
// columns to halves leaves is another in each spectrum and averages out; weights and tables are the same in
// all of them, so that launches take turns with versions of those, whose mean is finer than a half.
//
// Threads of two operands (kN 2) keep up to 17 words in local memory, which they seldom look at.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/epic/cuda/samples.cuh"

namespace apsyn::epic_fft {

constexpr int kMatrixThreads = 256, kMatrixWarps = kMatrixThreads / 32;
constexpr int kGroupSpectra = 8;       ///< that a warp grids at a time
constexpr int kMatrixSpectra = 256;    ///< of a launch: summed in float32
constexpr int kTileY = 8, kTileX = 2;  ///< cells of a tile
constexpr int kMaxSteps = 3;           ///< of 16 cells, x > 0 or y > 0
/// Shared memory of a block on the devices that have most (compute capability 9.0 and 10.0).
constexpr std::size_t kMaxSharedBytes = 227 * 1024;

/// Lengths that kernels are made for.
struct MatrixSize {
  int steps_y = 2;  ///< of 16 cells y > 0
  int steps_x = 2;  ///< of 16 cells x > 0
  int rows = 2;     ///< kRows: of 16 pixels m > 0, of a block; its warps stand in so many rows
  int n = 1;        ///< kN: pixels l > 0 of a warp, of 8
  int n_part = 1;   ///< kParts
};
/// Words of a spectrum's folded cells, [part][y even, odd][x even, odd][pol][re, im][x / 8][y / 8][x % 8][y %
/// 4] of pairs (y, y + 4).
APSYN_HOST_DEVICE constexpr int grid_words(const MatrixSize& size) {
  return size.n_part * 2048 * size.steps_x * size.steps_y;
}
/// Words of a spectrum's F.
APSYN_HOST_DEVICE constexpr int column_words(const MatrixSize& size) {
  return size.n_part * 2048 * size.rows * size.steps_x;
}
/// Words of a block's cos and sin(2 pi y m / n_y).
APSYN_HOST_DEVICE constexpr int row_table_words(const MatrixSize& size) {
  return size.n_part * 256 * size.rows * size.steps_y;
}
/// Warps along l.
APSYN_HOST_DEVICE constexpr int warp_columns(const MatrixSize& size) {
  return kMatrixWarps / size.rows;
}
/// Words of cos and sin(2 pi x l / n_x) for all warps along l.
APSYN_HOST_DEVICE constexpr int column_table_words(const MatrixSize& size) {
  return size.n_part * warp_columns(size) * 128 * size.steps_x * size.n;
}
/// Whether the latter are too many for a warp's registers.
APSYN_HOST_DEVICE constexpr bool column_table_shared(const MatrixSize& size) {
  return size.n_part == 2 || size.steps_x * size.n > 4;
}
/// n_buffer 2: the columns of the next spectrum are made beside the products of this one.
constexpr std::size_t matrix_shared_bytes(const MatrixSize& size, int n_buffer) {
  return std::size_t{4} *
         static_cast<std::size_t>(n_buffer * (grid_words(size) + column_words(size)) + row_table_words(size) +
                                  (column_table_shared(size) ? column_table_words(size) : 0));
}
/// Whether some device has as much. What none has, and what is more than a thread's registers, no kernel is
/// made for.
constexpr bool matrix_fits(const MatrixSize& size, int n_buffer) {
  return matrix_shared_bytes(size, n_buffer) <= kMaxSharedBytes &&
         size.n_part * size.steps_x * (size.n - 1) <= 4;
}
/// Two of halves where they fit.
constexpr int matrix_buffers(const MatrixSize& size, std::size_t limit_bytes) {
  return size.n_part == 1 && matrix_fits(size, 2) && matrix_shared_bytes(size, 2) <= limit_bytes ? 2 : 1;
}
APSYN_HOST_DEVICE constexpr int matrix_sums(const MatrixSize& size) {
  return 64 * size.n;  // of a thread
}

struct GridCellsTask {
  epic_cuda::Samples samples;               ///< whose cells are made
  const float2* factor = nullptr;           ///< g, [channel of the plan][ant][pol]
  float scale = 1;                          ///< of g E, times that of its channel
  const float* channel_scale = nullptr;     ///< [channel of the plan]
  int n_group = 1;                          ///< of spectra, for a block
  int quads_y = 0, quads_x = 0;             ///< of 8 x 2 cells y, x > 0
  const std::uint32_t* steps = nullptr;     ///< [channel][quad][tile + 1] of 16 antennas each
  const uint4* weights = nullptr;           ///< [step, and one more][part][re, im][lane]
  const std::uint16_t* antennas = nullptr;  ///< [step, and one more][16]
  std::uint32_t* grids = nullptr;           ///< [channel of the launch][spectrum][grid_words()]
};
void launch_grid_cells(const GridCellsTask& task, const MatrixSize& size, cudaStream_t stream);
std::size_t grid_cells_shared_bytes(const MatrixSize& size, int n_ant, int n_group);

struct ImageGridsTask {
  int n_channel = 0, first_channel = 0, n_spectra = 0;
  int n_part = 1;                        ///< blocks that share the spectra
  int n_buffer = 1;                      ///< matrix_buffers()
  int pieces_y = 1, pieces_x = 1;        ///< blocks of a plane
  int pairs_x = 0;                       ///< pixels l > 0 that are wanted
  float scale = 1;                       ///< of E, times that of its channel
  const float* channel_scale = nullptr;  ///< [channel of the plan]
  const std::uint32_t* grids = nullptr;
  const uint4* row_table = nullptr;     ///< [piece of y][row_table_words() / 4]
  const uint2* column_table = nullptr;  ///< [piece of x][column_table_words() / 2]
  double* sums = nullptr;               ///< [channel][piece of y][piece of x][part][matrix_sums()][thread]
};
/// A source file for each number of steps along y.
void launch_image_grids_1(const ImageGridsTask& task, const MatrixSize& size, cudaStream_t stream);
void launch_image_grids_2(const ImageGridsTask& task, const MatrixSize& size, cudaStream_t stream);
void launch_image_grids_3(const ImageGridsTask& task, const MatrixSize& size, cudaStream_t stream);

}  // namespace apsyn::epic_fft
