// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities that a GPU keeps from their first reading on. The host surveys a block for weights and plan
// while its values travel; once there is a plan, the GPU weights and grids what it has. Nothing is read or
// copied twice, and the host keeps no visibilities.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/idg/idg.h"

namespace apsyn {

/// Factors of imaging weights on a uv grid (kernels/weighting/image_weights.h): a visibility at (u, v), or
/// with v < 0 at (-u, -v), takes that of the cell (floor(u n_u cell_rad + n_u / 2), floor(v n_v cell_rad)),
/// and 0 outside of the grid.
struct CellFactors {
  View<const double, 2> factor;  ///< [v][u], n_v / 2 rows of n_u
  double cell_rad = 0;
};

/// Cells of such a grid, and visibilities to be counted: those within max_uv_lambda of its centre.
struct CellGeometry {
  std::size_t n_rows = 0, n_u = 0;
  double cell_rad = 0;
  double max_uv_lambda = 0;
  bool counts_alone = false;  ///< no sums are wanted
};

struct CellSums {
  /// [v][u] of the weights of plane 0: exact, then rounded once; empty where counts alone are wanted.
  Buffer<double, 2> sum;
  std::uint64_t n_visibilities = 0;  ///< with data, of those that count
  std::uint64_t n_beyond = 0;        ///< of these, without a cell
  double max_lambda = 0;             ///< largest finite |u| or |v| of these; 0 = none is finite
};

/// Where rows of a block are kept, one part after the other.
struct KeptRows {
  struct Range {
    std::size_t part = 0, place = 0;  ///< and the first row in it
    std::size_t first = 0, n = 0;     ///< in the block
  };
  std::vector<Range> ranges;
};

class KeptVisibilities {
 public:
  virtual ~KeptVisibilities() = default;
  /// Copies a block without A-terms, with the weights of the data. wavelength_m [chan]. The caller's memory
  /// is no longer read when it returns. False: there is no room, and nothing can be added any more.
  virtual bool add(const GridBlock& block, std::span<const double> wavelength_m) = 0;
  /// add() in steps, for values that come in pieces from several threads: room for rows of a block, in the
  /// order of the calls, while other threads may take rows of earlier blocks. Empty: there is none, and
  /// nothing can be added any more.
  virtual KeptRows reserve(std::size_t n_row, View<const double, 1> wavenumber,
                           std::span<const double> wavelength_m, bool with_path) = 0;
  /// Writes data and weight, [row][chan][plane], of n rows from `first` on.
  using Fill =
      std::function<void(std::size_t first, std::size_t n, std::complex<float>* data, float* weight)>;
  /// Takes rows first .. first + n - 1 of those reserved, which fill() writes where they travel from, a few
  /// at a time. False: weights of some visibility differ from plane to plane, and keep_own_weights() is to be
  /// called before all is begun anew.
  virtual bool take(const KeptRows& rows, std::size_t first, std::size_t n, const Fill& fill) = 0;
  /// Coordinates and stations of the rows that were reserved.
  virtual void place(const KeptRows& rows, const GridBlock& block) = 0;
  /// The weights of a row that was taken become 0.
  virtual void drop(const KeptRows& rows, std::size_t row) = 0;
  /// Forgets everything, and keeps weights of every plane from now on.
  virtual void keep_own_weights() = 0;
  /// Before weigh().
  virtual CellSums sum_cells(const CellGeometry& geometry) = 0;
  /// Multiplies the weights by their factors, once, after the last block; returns the sums [plane].
  virtual std::vector<double> weigh(const CellFactors& factors) = 0;
  /// Parts of many blocks each, so that tracks are long where Gridder::grid_kept() takes a whole one.
  virtual std::size_t n_parts() const = 0;
  virtual std::uint64_t n_visibilities(std::size_t part) const = 0;
  virtual std::size_t n_rows(std::size_t part) const = 0;
  /// After weigh(): the weights of plane 0, summed over the channels of each slot, [row][slot]. slot_of_chan
  /// [chan], below n_slots.
  virtual Buffer<double, 2> sum_slots(std::size_t part, View<const std::uint32_t, 1> slot_of_chan,
                                      std::size_t n_slots) = 0;
};

/// For a GPU, with at most max_bytes of its memory. DeviceError in a build without CUDA.
std::unique_ptr<KeptVisibilities> keep_visibilities(const Device& device, std::size_t n_planes,
                                                    std::uint64_t max_bytes, unsigned n_threads);

}  // namespace apsyn
