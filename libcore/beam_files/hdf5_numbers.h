// SPDX-License-Identifier: GPL-3.0-or-later
// Arrays of numbers at the top level of an HDF5 file. For libcore/beam_files only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace apsyn {

struct Hdf5Numbers {
  std::vector<std::size_t> extents;  ///< slowest first
  std::vector<double> values;        ///< of complex numbers both parts, one behind the other
};

class Hdf5NumberFile {
 public:
  /// FailureError when it cannot be opened, DataError when it is no HDF5 file.
  explicit Hdf5NumberFile(const std::string& path);
  ~Hdf5NumberFile();
  Hdf5NumberFile(Hdf5NumberFile&&) noexcept;
  Hdf5NumberFile& operator=(Hdf5NumberFile&&) noexcept;

  const std::string& path() const { return path_; }
  /// Of the datasets and groups, sorted.
  std::vector<std::string> names() const;
  /// Finite numbers of so many axes; DataError for anything else, and for more than 2^26 of them.
  Hdf5Numbers real(const std::string& dataset, std::size_t rank) const;
  /// Of pairs r and i, as numpy writes complex numbers.
  Hdf5Numbers complex(const std::string& dataset, std::size_t rank) const;
  double attribute(const std::string& dataset, const std::string& name) const;

 private:
  Hdf5Numbers read(const std::string& dataset, std::size_t rank, bool is_complex) const;
  struct State;
  std::string path_;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
