// SPDX-License-Identifier: GPL-3.0-or-later
// Arrays of numbers of an HDF5 file, at its top level or in groups, read in a process of its own: damaged
// files make the library read wild addresses. For libcore/formats/beam_files only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace apsyn {

struct Hdf5Numbers {
  std::vector<std::size_t> extents;  ///< of the whole dataset, slowest first
  std::vector<double> values;        ///< of complex numbers both parts, one behind the other
};

/// A dataset, or a single number that is its attribute.
struct Hdf5Request {
  enum class Kind { real, complex, attribute };
  std::string dataset;
  Kind kind = Kind::real;
  std::size_t rank = 1;  ///< that it needs to have
  std::string attribute{};
  /// Only so many elements of one axis, where not 0.
  std::size_t n_of_axis = 0, axis = 0, first = 0;
};

/// Names of the datasets and groups, sorted. FailureError when the file cannot be opened, DataError when it
/// is no HDF5 file.
std::vector<std::string> read_hdf5_names(const std::string& path);

/// Finite numbers, of datasets with so many axes: real ones, or pairs r and i as numpy writes complex
/// numbers. DataError for anything else, and for more than 2^26 of them.
std::vector<Hdf5Numbers> read_hdf5_numbers(const std::string& path, const std::vector<Hdf5Request>& requests);

}  // namespace apsyn
