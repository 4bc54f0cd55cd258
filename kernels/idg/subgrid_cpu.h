// SPDX-License-Identifier: GPL-3.0-or-later
// From the visibilities of one task to its subgrids on the uv grid.
//
// The sum over visibilities of V exp(-i (x theta_u + y theta_v)) is separable. With pixels at half-integers,
// x = +-1/2, +-3/2, ... +-(L - 1)/2, cosines and sines of the positive half hold everything:
//
//   C[term][plane][re cos_y, re sin_y, im cos_y, im sin_y][y][cos_x, sin_x][x] = sum_k A[k][row] B[k][col]
//
// which is a real matrix product (outer_sum) of 2 L^2 multiply-adds per visibility, term and plane: half of
// what the complex product needs. The four quadrants follow from signs. The terms carry w: T_r((w - w_layer)
// / half_w), combined per pixel with the coefficients of exp(-i z t), or the kernel's value for each layer.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/common/fft.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/partition.h"

namespace apsyn {

/// Constants of a plan, shared by all threads.
template <class T>
struct SubgridTables {
  SubgridTables(const IdgPlan& plan, std::size_t n_data_planes, PsfPlane psf);
  IdgPlan plan;
  std::size_t n_data_planes = 0, n_planes = 0;
  std::size_t n_outputs = 1;      ///< subgrids per task and plane: 1 (Chebyshev) or n_terms (kernel)
  std::size_t table_columns = 0;  ///< L rounded up for outer_sum
  Buffer<double, 2> taper;        ///< [y][x], positive quadrant [L/2][L/2]
  /// [term][y][x] of the positive quadrant: magnitude of (2 - [r = 0]) (-i)^r J_r; (-i)^r is applied in code.
  Buffer<double, 3> coefficient;
  Buffer<std::complex<double>, 1> uv_phase;  ///< [cell], cells in rising order: exp(-i pi k (L - 1) / L) / L
  std::unique_ptr<ComplexFft<double>> fft;   ///< [L][L], exponent +1
};

/// One thread's memory.
template <class T>
class SubgridMaker {
 public:
  explicit SubgridMaker(const SubgridTables<T>& tables);
  /// Subgrids [plane][output][v][u] in rising uv cells about the task's centre; outputs outside the layers
  /// [first_layer, first_layer + n_layers) are left untouched.
  void make(const GridBlock& block, const Partition& partition, const SubgridTask& task,
            std::size_t first_layer, std::size_t n_layers, View<std::complex<T>, 4> subgrids);

 private:
  void add_visibility(const GridBlock& block, const SubgridTask& task, std::size_t row, std::size_t chan);
  void flush();
  void finish(std::size_t plane, std::size_t output, View<std::complex<T>, 2> subgrid);

  const SubgridTables<T>& tables_;
  std::size_t n_rows_ = 0, n_pending_ = 0;
  Buffer<T, 2> a_, b_;                     ///< [visibility][row], [visibility][col]
  Buffer<T, 2> c_;                         ///< [row][col]
  Buffer<std::complex<double>, 2> image_;  ///< [y][x]
  std::vector<T> cos_v_, sin_v_;           ///< [L/2]
  std::vector<double> term_;               ///< [term]
};

/// Subgrids computed before they are added to the grids.
std::size_t subgrids_per_chunk(const IdgPlan& plan, std::size_t n_planes);
std::uint64_t subgrid_bytes(const IdgPlan& plan, std::size_t n_planes, unsigned n_threads);

}  // namespace apsyn
