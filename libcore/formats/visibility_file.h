// SPDX-License-Identifier: GPL-3.0-or-later
// Files of visibilities of formats other than the Measurement Set, as one sequence of rows: what tells of a
// row (time, antennas, coordinates) comes first and is cheap, its visibilities follow where they are wanted.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"

namespace apsyn {

/// Consecutive rows of a file beside their cells. All of them have cells in the spectral windows first_window
/// to first_window + n_windows - 1 of the description, which a Measurement Set stores as a row for each.
struct FileRows {
  std::size_t first_window = 0, n_windows = 1;
  std::vector<Baseline> baselines;             ///< ant1 <= ant2
  std::vector<double> time_mjd_s, interval_s;  ///< mid-integration
  std::vector<int> field;                      ///< 0: the source, then more_fields
  Buffer<double, 2> uvw_m;                     ///< [row][3], r_1 - r_2 as apsyn-conventions(7) says
  std::size_t n_rows() const { return baselines.size(); }
};

/// A choice of the cells of the rows that next() gave last.
struct FileCells {
  std::size_t window = 0;                         ///< one of those of the rows
  std::size_t first_channel = 0, n_channels = 0;  ///< of the window
  std::span<const std::size_t> rows;              ///< rising, by their places in FileRows
};

/// The cells of all windows of some rows, for callers that want them in memory.
struct FileVisibilities {
  std::vector<Buffer<std::complex<float>, 3>> data;  ///< [window - first_window] of [row][chan][product]
  std::vector<Buffer<float, 3>> weight;              ///< the same shape; 0 = flagged
};

class VisibilityFile {
 public:
  virtual ~VisibilityFile() = default;
  /// Antennas, windows of as many channels each, fields, and products in the order of MsSpectralWindow.
  virtual const MsDescription& description() const = 0;
  /// What it is, for the plan of a run.
  virtual std::string summary() const = 0;
  /// What its user should know before it is read.
  virtual std::vector<std::string> warnings() const { return {}; }
  /// Rows of a Measurement Set that holds all of it.
  virtual std::int64_t n_rows() const = 0;
  /// Memory that next() and read_cells() need for blocks of so many rows.
  virtual std::uint64_t memory_bytes(std::size_t block_rows, unsigned n_threads) const = 0;
  /// Rows that are best read together; less memory suffices for fewer.
  virtual std::size_t block_rows() const = 0;
  /// Whether reading the file in smaller blocks than block_rows() reads much of it several times.
  virtual bool has_fixed_blocks() const { return false; }

  virtual void rewind() = 0;
  /// Up to max_rows rows without their cells; false at the end. DataError for what is malformed.
  virtual bool next(FileRows& rows, std::size_t max_rows) = 0;
  /// Cells of the rows that next() gave last, on up to n_threads threads including the caller's, in pieces of
  /// consecutive wanted rows in any order. Callers may skip it, or call it for several windows.
  virtual void read_cells(const FileCells& wanted, unsigned n_threads, const UseMsCells& use) = 0;
  /// FailureError where none of the cells that have been read is usable, and the file says why.
  virtual void check_use() const {}

  /// next(), and the cells of all windows of the rows.
  bool read(FileRows& rows, FileVisibilities& cells, std::size_t max_rows, unsigned n_threads = 1);
};

/// The product of a baseline that is turned round: the receptors change places.
Product with_swapped_receptors(Product product);

}  // namespace apsyn
