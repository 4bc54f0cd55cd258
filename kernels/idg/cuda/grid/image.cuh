// SPDX-License-Identifier: GPL-3.0-or-later
// From the folded sums of tasks to the images of their subgrids: quadrants and terms combined (with the
// taper), then A-terms and the mix of correlations into image planes, then the task's w screen.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/idg/cuda/complex.cuh"
#include "kernels/idg/partition/sub_table.h"

namespace apsyn::idg_cuda {

constexpr int kMaxMixed = 4;  ///< image planes that correlations are mixed to

enum class DeviceAterms { none, normalised, adjoint };

using idg::AtermKey;

/// sums [task][term][plane][re cos_y, re sin_y, im cos_y, im sin_y][y][cos_x, sin_x][x].
struct TaskSumsShape {
  int n_terms, n_planes, n_rows;  ///< n_rows: y, with padding
  int row_values, sine_values;    ///< from one y to the next, from cos_x to sin_x
  std::size_t task_values;
};

template <class T>
struct ImageTask {
  int n_tasks, side;
  int n_outputs;  ///< images for each task and plane: 1, or with WHandling::kernel one for each term, since
                  ///< its terms are not combined
  TaskSumsShape shape;
  const T* sums;
  const double* coefficient;    ///< [term][y][x] of half the side, with the taper; [1] when not combined
  const double* n_from_middle;  ///< [y][x] n - n_middle of half the side; null: no screen
  const double* screen_lambda;  ///< [task] of its w from its layer's
  DeviceAterms aterms;
  const float2* jones;                            ///< [row slot][chan slot][response][y][x][4], x to the west
  const AtermKey* keys;                           ///< [task]
  int n_chan_slots, n_responses, n_image_planes;  ///< with A-terms: image planes without the PSF's
  double2 mix[kMaxMixed][4], folded_mix[kMaxMixed][4];
  ComplexOf<T>* images;  ///< [task][image plane][output][y][x]
};
/// With the PSF's.
template <class T>
__host__ __device__ inline int image_planes(const ImageTask<T>& task) {
  return task.aterms == DeviceAterms::none ? task.shape.n_planes
                                           : task.n_image_planes + task.shape.n_planes - 4;
}
template <class T>
void launch_images(const ImageTask<T>& task, cudaStream_t stream);

/// Sides whose subgrids, of one output each, launch_cells() makes, in single precision.
template <class T>
bool has_cells(int side, int n_image_planes, int n_outputs);
/// The images transformed on the spot: [task][image plane][v][u] in `task.images`, cells in rising order,
/// times the phases that AddTask explains.
template <class T>
void launch_cells(const ImageTask<T>& task, const ComplexOf<T>* uv_phase, cudaStream_t stream);

/// The same of large subgrids, as far as one plane finds room in the current device's shared memory.
bool has_plane_cells(int side);
void launch_plane_cells(const ImageTask<float>& task, const float2* uv_phase, cudaStream_t stream);

}  // namespace apsyn::idg_cuda
