// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities in UVH5 files, as pyuvdata reads and writes them (UVH5 memo, version 1.2; older ones are
// read). HDF5 types stay out of this header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libcore/formats/visibility_file.h"

namespace apsyn {

/// A file of a number of rows that is known, of one window.
class Uvh5Writer {
 public:
  /// `conjugated`: UVW of the rows are r_2 - r_1, which UVH5 has, too. UsageError where the description has
  /// several windows; UsageError and FailureError as check_output.
  Uvh5Writer(const std::string& path, const MsDescription& description, bool overwrite, std::int64_t n_rows,
             bool conjugated);
  ~Uvh5Writer();
  /// Cells of rows; any thread, one after the other. A weight of 0 is a flag.
  void write_cells(std::int64_t first_row, View<const std::complex<float>, 3> data,
                   View<const float, 3> weight);
  /// Antennas, coordinates and times of rows, from one thread. EXPOSURE becomes integration_time.
  void write_rows(std::int64_t first_row, const MsWriteRows& rows);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Uvh5Reader final : public VisibilityFile {
 public:
  /// DataError for files that are none, with several windows, or whose data are not phased to fixed
  /// directions.
  explicit Uvh5Reader(const std::string& path);
  ~Uvh5Reader() override;
  const MsDescription& description() const override;
  std::string summary() const override;
  std::int64_t n_rows() const override;
  std::uint64_t memory_bytes(std::size_t block_rows, unsigned n_threads) const override;
  std::size_t block_rows() const override;
  void rewind() override;
  bool next(FileRows& rows, std::size_t max_rows) override;
  void read_cells(const FileCells& wanted, unsigned n_threads, const UseMsCells& use) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether a file begins as HDF5 does.
bool is_hdf5_file(const std::string& path);

}  // namespace apsyn
