// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA degridder's kernels, launched by cuda/degrid/degridder.cpp; equations in idg.h and
// cpu/grid/subgrid_maker.h. T is float or double throughout. Coarse pixel (y, x) of a subgrid lies at l = (x
// - (L - 1) / 2) step, m likewise. A visibility here belongs to a row or, where rows lie on tracks, to a
// channel of a node (cuda/tracks/tracks.cuh).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/idg/aterms/aterm_math.h"
#include "kernels/idg/cuda/complex.cuh"
#include "kernels/idg/cuda/layers/grid_tiles.cuh"
#include "kernels/idg/cuda/partition/slots.cuh"

namespace apsyn::idg_degrid {

using idg_cuda::ComplexOf;

/// Parameters that all kernels take from the plan and the setup.
struct Geometry {
  int side = 0, n_image_planes = 0, n_planes = 0;
  int n_outputs = 1;  ///< subgrids for each task and plane: the layers from which a visibility is computed
  bool w_kernel = false;  ///< WHandling::kernel
  int n_u = 0, n_v = 0, n_x = 0, n_y = 0;
  int n_layers = 0;                           ///< of the pass
  double cell_rad = 0, per_u = 0, per_v = 0;  ///< radians; uv cells per wavelength
  double n_middle = 0, layer_step_lambda = 0, half_w_lambda = 0, kernel_beta = 0;
};

/// partition.h's task as the device sees it.
struct Task {
  double centre_u, centre_v;  ///< uv cells
  double w_lambda, half_w_lambda;
  double layer_w_lambda;  ///< of its layer, or of the first that it reaches (w kernel)
  int start_u, start_v;   ///< first cell of the cut
  int layer;              ///< in the pass; of the w kernel's layers some may lie outside
  idg::AtermKey aterms;
};

/// Consecutive channels of a row, or of a node.
struct Run {
  std::uint32_t row, first_channel, n_channels, first_visibility, task;
};

/// A visibility relative to its task, after subtraction in float64. Phases in turns; the single-precision
/// ones as fixed-point fractions of 2^32 to a turn, so that multiples of them wrap around exactly.
template <class T>
struct Prepared;
template <>
struct alignas(16) Prepared<float> {
  std::int32_t u, v;  ///< turns between coarse pixels, halved
  float w;  ///< (w - w_task) / half_w_task; w kernel: w from the middle of its layers / half support
  std::int32_t turn;  ///< of the visibility as a whole; its lowest bit says that the visibility is folded
};
template <>
struct alignas(16) Prepared<double> {
  double u, v, w, turn;  ///< u, v in turns between pixels
  std::int64_t folded;
};

template <class T>
struct PrepareTask {
  Geometry geometry;
  const double* uvw_m;       ///< [row][3]
  const double* path_m;      ///< [row] or null
  const double* wavenumber;  ///< [chan]
  const Run* runs;
  const Task* tasks;
  std::size_t n_runs;
  int lanes_log2;                            ///< threads for each run
  Prepared<T>* prepared;                     ///< [visibility]
  const idg_cuda::NodeRow* nodes = nullptr;  ///< the rows of the runs, folded and without paths; or null
};
template <class T>
void launch_prepare(const PrepareTask<T>& task, cudaStream_t stream);

/// work [v][u] = model exp(+2 pi i w (n - 1 + n_shift)), with pixels where the transform expects them.
template <class W>
struct ModelTask {
  Geometry geometry;
  const double* model;  ///< [y][x] divided by the taper, finite
  ComplexOf<W>* work;   ///< in the type of the layers' transforms
  double w_lambda, n_shift;
};
template <class W>
void launch_model(const ModelTask<W>& task, cudaStream_t stream);
/// A plane of a layer's grid, grid_tiles.cuh, = work in T.
template <class T, class W>
void launch_narrow(const ComplexOf<W>* work, ComplexOf<T>* grid, int n_u, int n_v, cudaStream_t stream);

/// Cuts the tasks' cells out of the layers' grids; subgrids [task][image plane][output][v][u] in FFT order.
template <class T>
struct CutTask {
  Geometry geometry;
  const ComplexOf<T>* grids;     ///< [layer][image plane], grid_tiles.cuh
  const ComplexOf<T>* uv_phase;  ///< [side] exp(+i pi k (L - 1) / L) / L, cells in rising order
  const Task* tasks;
  int n_tasks;
  ComplexOf<T>* subgrids;
};
template <class T>
void launch_cut(const CutTask<T>& task, cudaStream_t stream);

/// The same as CutTask, from cells that the host has cut.
template <class T>
struct PlaceTask {
  Geometry geometry;
  const ComplexOf<T>* cells;     ///< [task][output][v][u][cell plane] in rising cells
  const ComplexOf<T>* uv_phase;  ///< CutTask's
  int n_tasks, n_cell_planes;    ///< the first of them are the image planes
  ComplexOf<T>* subgrids;
};
template <class T>
void launch_place(const PlaceTask<T>& task, cudaStream_t stream);

/// Taper, the task's own w screen and A-terms: pixels [task][plane][output][y][x].
template <class T>
struct ShapeTask {
  Geometry geometry;
  const ComplexOf<T>* subgrids;  ///< [task][image plane][output][y][x] transformed
  const double* taper;           ///< [y][x]
  const double* n_from_middle;   ///< [y][x]
  const Task* tasks;
  int n_tasks;
  const AtermMatrix<float>* jones;  ///< AtermBlock::jones, or null
  int n_chan_slots, n_responses;
  const ComplexOf<T>* mix;  ///< [image plane][4]
  ComplexOf<T>* pixels;
  float* scale;  ///< [task] power of two that brings the largest pixel near 4096
};
template <class T>
void launch_shape(const ShapeTask<T>& task, cudaStream_t stream);

/// Some visibilities of one task, `task` counted in the chunk.
struct Unit {
  std::uint32_t task, first_visibility, n_visibilities;
};

/// V = sum over pixels.
template <class T>
struct SumTask {
  Geometry geometry;
  const ComplexOf<T>* pixels;   ///< [task][plane][output][y][x]
  const float* scale;           ///< [task]
  const double* n_from_middle;  ///< [y][x]
  const Task* tasks;
  const Prepared<T>* prepared;
  const Unit* units;
  int n_units;
  std::uint32_t first_visibility;  ///< the one that `out` begins with
  bool adjoint;                    ///< with A-terms: folded V are the adjoints of matrices XX XY YX YY
  ComplexOf<T>* out;               ///< [visibility][plane]
};

/// For any plan and device: computes the phase of each pixel separately. Units have at most kDirectUnit
/// visibilities.
constexpr int kDirectUnit = 128;
template <class T>
void launch_direct(const SumTask<T>& task, cudaStream_t stream);

/// Single precision on tensor cores (sm_90a), Chebyshev handling of w; see cuda/degrid/tensor.cu.
enum class DegridTerms { phases, first_order };
/// The separable parts of n - n_middle, and the residual.
struct TensorTables {
  const float* n_of_x;    ///< [x]
  const float* n_of_y;    ///< [y]
  const float* residual;  ///< [y][x]
};
/// Units may have any number of visibilities up to tensor_unit().
void launch_tensor(const SumTask<float>& task, const TensorTables& tables, DegridTerms terms,
                   cudaStream_t stream);
bool tensor_planes(int n_planes);
int tensor_unit(int side);

}  // namespace apsyn::idg_degrid
