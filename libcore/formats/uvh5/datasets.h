// SPDX-License-Identifier: GPL-3.0-or-later
// Datasets of an HDF5 file by name. For libcore/formats/uvh5 only. casacore and HDF5 types stay within
// libcore.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "libcore/formats/h5parm/hdf5.h"

namespace apsyn::uvh5 {

/// Complex single precision in memory and in the file: a compound of "r" and "i".
Hdf5Handle complex_type();
/// Flags as h5py has booleans: an enumeration of FALSE and TRUE in a byte.
Hdf5Handle flag_type();

template <class T>
hid_t native();
template <>
inline hid_t native<double>() {
  return H5T_NATIVE_DOUBLE;
}
template <>
inline hid_t native<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
inline hid_t native<int>() {
  return H5T_NATIVE_INT;
}

class Reader {
 public:
  /// DataError when it is no HDF5 file, FailureError when it cannot be opened.
  explicit Reader(const std::string& path);
  const std::string& path() const { return path_; }
  bool has(const std::string& name) const;
  std::vector<std::string> members(const std::string& group) const;
  /// Axes of a dataset; empty for scalars. DataError when it is missing.
  std::vector<hsize_t> shape(const std::string& name) const;
  /// All of it. DataError when it is missing, or larger than `max` elements.
  template <class T>
  std::vector<T> all(const std::string& name, std::size_t max = 1 << 26) const;
  template <class T>
  T scalar(const std::string& name) const;
  std::string text(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;
  /// `n` entries of the first axis, of elements of this type.
  void rows(const std::string& name, std::uint64_t first, std::uint64_t n, hid_t type, void* to) const;

 private:
  Hdf5Handle open(const std::string& name) const;
  std::string path_;
  Hdf5Handle file_;
};

/// Closed by close() alone: what a full disk may have cut short stays open.
class Writer {
 public:
  explicit Writer(const std::string& path);
  ~Writer() { file_.abandon(); }
  Writer(const Writer&) = delete;
  void group(const std::string& name);
  template <class T>
  void put(const std::string& name, const std::vector<T>& values, const std::vector<hsize_t>& shape);
  template <class T>
  void scalar(const std::string& name, T value) {
    put<T>(name, {value}, {});
  }
  void text(const std::string& name, const std::string& value);
  void texts(const std::string& name, const std::vector<std::string>& values);
  /// A dataset whose rows follow.
  void create(const std::string& name, hid_t type, const std::vector<hsize_t>& shape);
  void rows(const std::string& name, std::uint64_t first, std::uint64_t n, hid_t type, const void* from);
  /// FailureError where something could not be written.
  void close();

 private:
  void check(bool good) const;
  std::string path_;
  Hdf5Handle file_;
};

}  // namespace apsyn::uvh5
