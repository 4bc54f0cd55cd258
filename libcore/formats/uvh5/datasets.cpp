// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/uvh5/datasets.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "libcore/base/error.h"
#include "libcore/formats/uvh5/lzf.h"

namespace apsyn::uvh5 {
namespace {

Hdf5Handle space_of(const std::vector<hsize_t>& shape) {
  return Hdf5Handle(shape.empty() ? H5Screate(H5S_SCALAR)
                                  : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                    H5Sclose);
}

hsize_t elements(const std::vector<hsize_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), hsize_t{1}, std::multiplies<>());
}

/// Rows first .. first + n - 1 of a dataset's space.
bool select_rows(hid_t space, const std::vector<hsize_t>& shape, std::uint64_t first, std::uint64_t n) {
  std::vector<hsize_t> start(shape.size(), 0), count = shape;
  start[0] = first;
  count[0] = n;
  return H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0;
}

std::vector<hsize_t> shape_of(hid_t set) {
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> shape(static_cast<std::size_t>(std::max(rank, 0)));
  if (rank > 0) H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  return shape;
}

}  // namespace

Hdf5Handle complex_type() {
  quieten_hdf5();
  Hdf5Handle type(H5Tcreate(H5T_COMPOUND, 2 * sizeof(float)), H5Tclose);
  H5Tinsert(type, "r", 0, H5T_NATIVE_FLOAT);
  H5Tinsert(type, "i", sizeof(float), H5T_NATIVE_FLOAT);
  return type;
}

Hdf5Handle flag_type() {
  quieten_hdf5();
  Hdf5Handle type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
  std::int8_t value = 0;
  H5Tenum_insert(type, "FALSE", &value);
  value = 1;
  H5Tenum_insert(type, "TRUE", &value);
  return type;
}

Reader::Reader(const std::string& path) : path_(path) {
  quieten_hdf5();
  register_lzf();
  if (::access(path.c_str(), R_OK) != 0) throw FailureError("{}: cannot be opened for reading", path);
  file_ = Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file_.good()) throw DataError("{}: no HDF5 file, or a damaged one", path);
}

bool Reader::has(const std::string& name) const {
  // H5Lexists wants every group on the way to exist.
  for (std::size_t at = name.find('/', 1);; at = name.find('/', at + 1)) {
    if (H5Lexists(file_, name.substr(0, at).c_str(), H5P_DEFAULT) <= 0) return false;
    if (at == std::string::npos) return true;
  }
}

std::vector<std::string> Reader::members(const std::string& group) const {
  std::vector<std::string> names;
  const Hdf5Handle opened(H5Gopen2(file_, group.c_str(), H5P_DEFAULT), H5Gclose);
  H5G_info_t info{};
  if (!opened.good() || H5Gget_info(opened, &info) < 0) return names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    char name[256] = {};
    if (H5Lget_name_by_idx(opened, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) > 0)
      names.emplace_back(name);
  }
  return names;
}

Hdf5Handle Reader::open(const std::string& name) const {
  if (!has(name)) throw DataError("{}: no {}: not a complete UVH5 file", path_, name);
  Hdf5Handle set(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!set.good()) throw DataError("{}: {} is no dataset: not a UVH5 file", path_, name);
  return set;
}

std::vector<hsize_t> Reader::shape(const std::string& name) const {
  return shape_of(open(name));
}

template <class T>
std::vector<T> Reader::all(const std::string& name, std::size_t max) const {
  const Hdf5Handle set = open(name);
  const hsize_t n = elements(shape_of(set));
  if (n > max) throw DataError("{}: {} has {} elements: too many", path_, name, n);
  std::vector<T> values(n);
  if (n > 0 && H5Dread(set, native<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    throw DataError("{}: {} holds no numbers, or is damaged", path_, name);
  return values;
}
template std::vector<double> Reader::all(const std::string&, std::size_t) const;
template std::vector<float> Reader::all(const std::string&, std::size_t) const;
template std::vector<int> Reader::all(const std::string&, std::size_t) const;

template <class T>
T Reader::scalar(const std::string& name) const {
  const std::vector<T> values = all<T>(name, 1);
  if (values.empty()) throw DataError("{}: {} is empty", path_, name);
  return values[0];
}
template double Reader::scalar(const std::string&) const;
template int Reader::scalar(const std::string&) const;

std::vector<std::string> Reader::texts(const std::string& name) const {
  const Hdf5Handle set = open(name);
  const Hdf5Handle type(H5Dget_type(set), H5Tclose), space(H5Dget_space(set), H5Sclose);
  const hsize_t n = elements(shape_of(set));
  constexpr hsize_t kMaxBytes = 1 << 24;
  if (H5Tget_class(type) != H5T_STRING || n > kMaxBytes) throw DataError("{}: {} is no text", path_, name);
  std::vector<std::string> values;
  if (H5Tis_variable_str(type) > 0) {
    std::vector<char*> pointers(n, nullptr);
    const Hdf5Handle memory(H5Tcopy(type), H5Tclose);
    if (H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()) < 0)
      throw DataError("{}: {} cannot be read", path_, name);
    for (const char* text : pointers) values.emplace_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(memory, space, H5P_DEFAULT, pointers.data());
    return values;
  }
  const std::size_t size = H5Tget_size(type);
  if (size == 0 || n * size > kMaxBytes) throw DataError("{}: {} is no text", path_, name);
  std::vector<char> bytes(n * size);
  if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
    throw DataError("{}: {} cannot be read", path_, name);
  for (hsize_t i = 0; i < n; ++i) {
    const char* text = bytes.data() + i * size;
    values.emplace_back(text, std::find(text, text + size, '\0'));
    while (!values.back().empty() && values.back().back() == ' ') values.back().pop_back();
  }
  return values;
}

std::string Reader::text(const std::string& name) const {
  const std::vector<std::string> values = texts(name);
  return values.empty() ? "" : values[0];
}

void Reader::rows(const std::string& name, std::uint64_t first, std::uint64_t n, hid_t type, void* to) const {
  const Hdf5Handle set = open(name);
  std::vector<hsize_t> shape = shape_of(set);
  if (shape.empty() || first > shape[0] || n > shape[0] - first)
    throw DataError("{}: {} has fewer rows than the header says", path_, name);
  const Hdf5Handle in_file(H5Dget_space(set), H5Sclose);
  const bool selected = select_rows(in_file, shape, first, n);
  shape[0] = n;
  const Hdf5Handle in_memory = space_of(shape);
  if (!selected || H5Dread(set, type, in_memory, in_file, H5P_DEFAULT, to) < 0)
    throw DataError(
        "{}: {} cannot be read from row {} on: damaged, or compressed by a filter that HDF5 lacks", path_,
        name, first);
}

Writer::Writer(const std::string& path) : path_(path) {
  quieten_hdf5();
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access, false, true);  // who made the file has locked it
  file_ = Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
  check(file_.good());
}

void Writer::check(bool good) const {
  if (!good) throw FailureError("{}: cannot be written: check the free space", path_);
}

void Writer::group(const std::string& name) {
  const Hdf5Handle made(H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  check(made.good());
}

void Writer::create(const std::string& name, hid_t type, const std::vector<hsize_t>& shape) {
  const Hdf5Handle space = space_of(shape), layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_fill_time(layout, H5D_FILL_TIME_NEVER);  // all of it is going to be written
  H5Pset_alloc_time(layout, H5D_ALLOC_TIME_EARLY);
  // The time of writing would change from run to run.
  H5Pset_obj_track_times(layout, false);
  const Hdf5Handle set(H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, layout, H5P_DEFAULT),
                       H5Dclose);
  check(set.good());
}

template <class T>
void Writer::put(const std::string& name, const std::vector<T>& values, const std::vector<hsize_t>& shape) {
  create(name, native<T>(), shape);
  const Hdf5Handle set(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  check(H5Dwrite(set, native<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
}
template void Writer::put(const std::string&, const std::vector<double>&, const std::vector<hsize_t>&);
template void Writer::put(const std::string&, const std::vector<float>&, const std::vector<hsize_t>&);
template void Writer::put(const std::string&, const std::vector<int>&, const std::vector<hsize_t>&);

void Writer::texts(const std::string& name, const std::vector<std::string>& values) {
  std::size_t size = 1;
  for (const std::string& value : values) size = std::max(size, value.size());
  std::string bytes;
  for (const std::string& value : values) bytes += value + std::string(size - value.size(), '\0');
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, size);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  create(name, type, {values.size()});
  const Hdf5Handle set(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0);
}

void Writer::text(const std::string& name, const std::string& value) {
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, std::max<std::size_t>(1, value.size()));
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  const std::string bytes = value.empty() ? std::string(1, '\0') : value;
  create(name, type, {});
  const Hdf5Handle set(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0);
}

void Writer::rows(const std::string& name, std::uint64_t first, std::uint64_t n, hid_t type,
                  const void* from) {
  const Hdf5Handle set(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  check(set.good());
  std::vector<hsize_t> shape = shape_of(set);
  const Hdf5Handle in_file(H5Dget_space(set), H5Sclose);
  const bool selected = select_rows(in_file, shape, first, n);
  shape[0] = n;
  const Hdf5Handle in_memory = space_of(shape);
  check(selected && H5Dwrite(set, type, in_memory, in_file, H5P_DEFAULT, from) >= 0);
}

void Writer::close() {
  check(H5Fflush(file_, H5F_SCOPE_GLOBAL) >= 0);
  file_ = {};
}

}  // namespace apsyn::uvh5
