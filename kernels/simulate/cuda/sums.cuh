// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels behind device_components.h.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/simulate/component_terms.h"

namespace apsyn::simulate {

/// sums [row][chan][plane] of so many rows; `run_length` is kRun of the table.
struct SumTask {
  TermTable table;
  const TermRow* rows = nullptr;  ///< through matrices those of tiles first
  std::size_t n_rows = 0, n_tiled = 0;
  const TermTile* tiles = nullptr;
  std::size_t n_tiles = 0;
  unsigned run_length = 0, n_planes = 0;
  TermPhasor* sums = nullptr;
};
void launch_sums(const SumTask& task, cudaStream_t stream);

/// Some of matrix_batches(), on the device, and the runs that they have. One that does not begin with the
/// first component adds to what is there.
struct TermBatches {
  const TermMatrices* of = nullptr;
  std::uint32_t n = 0;
  std::uint32_t first_run = 0, n_runs = 0;
};
/// Four planes.
void launch_sums_through(const SumTask& task, const TermBatches& batches, cudaStream_t stream);

/// Puts matrices of stations in the order of TermMatrices, which these point to, beside their product with
/// the components' brightness.
struct MatrixTask {
  const TermMatrix* from = nullptr;   ///< [chan][station][component]
  const float* brightness = nullptr;  ///< [component of the sky][chan of the table][I Q U V]
  std::uint32_t n_table_chan = 0;
  TermMatrices of{};
  TermMatrix *seen = nullptr, *jones = nullptr;
};
void launch_matrices(const MatrixTask& task, cudaStream_t stream);

}  // namespace apsyn::simulate
