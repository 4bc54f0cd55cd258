// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/beam_files/hdf5_numbers.h"

#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/system/isolated.h"

namespace apsyn {
namespace {

constexpr hsize_t kMaxElements = hsize_t{1} << 26;
constexpr hsize_t kMaxNames = hsize_t{1} << 20;
constexpr int kMaxRank = 8;

/// Closes what it holds.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  operator hid_t() const { return id_; }
  bool good() const { return id_ >= 0; }

 private:
  hid_t id_;
  Close close_;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(open(path), H5Fclose) {
    if (!file_.good()) throw DataError("{}: no HDF5 file, or a damaged one", path);
  }

  std::vector<std::string> names() const {
    const auto damaged = [&] {
      return DataError("{}: its top level cannot be read: the file is damaged", path_);
    };
    H5G_info_t info{};
    if (H5Gget_info(file_, &info) < 0 || info.nlinks > kMaxNames) throw damaged();
    std::vector<std::string> names;
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const ssize_t length =
          H5Lget_name_by_idx(file_, ".", H5_INDEX_NAME, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT);
      if (length < 0 || length > 4096) throw damaged();
      std::string name(static_cast<std::size_t>(length) + 1, '\0');
      if (H5Lget_name_by_idx(file_, ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(), name.size(),
                             H5P_DEFAULT) < 0)
        throw damaged();
      name.resize(static_cast<std::size_t>(length));
      names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  Hdf5Numbers read(const Hdf5Request& request) const {
    const std::string& dataset = request.dataset;
    const std::size_t rank = request.rank;
    if (request.kind == Hdf5Request::Kind::attribute) return {{}, {attribute(dataset, request.attribute)}};
    const bool is_complex = request.kind == Hdf5Request::Kind::complex;
    const auto damaged = [&] {
      return DataError("{}: {} cannot be read: the file is damaged", path_, dataset);
    };
    for (std::size_t end = 0; end != std::string::npos;) {  // its groups first
      end = dataset.find('/', end + 1);
      const std::string part = dataset.substr(0, end);
      const htri_t there = H5Lexists(file_, part.c_str(), H5P_DEFAULT);
      if (there <= 0)
        throw DataError("{}: it has no dataset '{}': is it the file that it is named as?", path_, dataset);
      H5L_info_t link{};
      if (H5Lget_info(file_, part.c_str(), &link, H5P_DEFAULT) < 0) throw damaged();
      if (link.type != H5L_TYPE_HARD)
        throw DataError("{}: {} is a link to elsewhere, which is not followed: copy it into the file", path_,
                        part);
    }
    const Handle id(H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT), H5Dclose);
    if (!id.good()) throw DataError("{}: {} is no dataset", path_, dataset);
    const Handle created(H5Dget_create_plist(id), H5Pclose);
    if (!created.good()) throw damaged();
    const H5D_layout_t layout = H5Pget_layout(created);
    if (layout != H5D_CONTIGUOUS && layout != H5D_COMPACT && layout != H5D_CHUNKED) throw damaged();
    if (layout == H5D_CONTIGUOUS && H5Pget_external_count(created) != 0)
      throw DataError("{}: {} lies in another file, which is not read", path_, dataset);
    const Handle space(H5Dget_space(id), H5Sclose), type(H5Dget_type(id), H5Tclose);
    if (!space.good() || !type.good() || H5Sis_simple(space) <= 0) throw damaged();
    const int n_axes = H5Sget_simple_extent_ndims(space);
    if (n_axes < 0 || n_axes > kMaxRank) throw damaged();
    if (static_cast<std::size_t>(n_axes) != rank)
      throw DataError("{}: {} has {} axes: {} are expected", path_, dataset, n_axes, rank);
    hsize_t extents[kMaxRank] = {};
    if (n_axes > 0 && H5Sget_simple_extent_dims(space, extents, nullptr) < 0) throw damaged();
    Hdf5Numbers numbers{{extents, extents + n_axes}, {}};
    hsize_t first[kMaxRank] = {};
    const Handle selected(H5Scopy(space), H5Sclose);
    if (!selected.good()) throw damaged();
    if (request.n_of_axis > 0) {
      if (request.axis >= rank || request.first + request.n_of_axis > extents[request.axis])
        throw DataError("{}: {} has other extents than its axes", path_, dataset);
      first[request.axis] = request.first;
      extents[request.axis] = request.n_of_axis;
      if (H5Sselect_hyperslab(selected, H5S_SELECT_SET, first, nullptr, extents, nullptr) < 0)
        throw damaged();
    }
    hsize_t n = 1;
    for (int axis = 0; axis < n_axes; ++axis) {
      if (__builtin_mul_overflow(n, extents[axis], &n)) n = kMaxElements + 1;
      if (n > kMaxElements)
        throw DataError("{}: {} has more than {} numbers: too many", path_, dataset, kMaxElements);
    }
    numbers.values.assign(is_complex ? 2 * n : n, 0);
    const H5T_class_t kind = H5Tget_class(type);
    hid_t memory = H5T_NATIVE_DOUBLE;
    const Handle pair(is_complex ? H5Tcreate(H5T_COMPOUND, 2 * sizeof(double)) : H5Tcopy(H5T_NATIVE_DOUBLE),
                      H5Tclose);
    if (is_complex) {
      if (kind != H5T_COMPOUND || H5Tget_nmembers(type) != 2 || H5Tget_member_index(type, "r") < 0 ||
          H5Tget_member_index(type, "i") < 0 || H5Tget_member_class(type, 0) != H5T_FLOAT ||
          H5Tget_member_class(type, 1) != H5T_FLOAT)
        throw DataError("{}: {} holds no complex numbers (pairs r, i)", path_, dataset);
      if (!pair.good() || H5Tinsert(pair, "r", 0, H5T_NATIVE_DOUBLE) < 0 ||
          H5Tinsert(pair, "i", sizeof(double), H5T_NATIVE_DOUBLE) < 0)
        throw damaged();
      memory = pair;
    } else if (kind != H5T_FLOAT && kind != H5T_INTEGER) {
      throw DataError("{}: {} holds no numbers", path_, dataset);
    }
    const Handle together(H5Screate_simple(1, &n, nullptr), H5Sclose);
    if (!together.good() ||
        (n > 0 && H5Dread(id, memory, together, selected, H5P_DEFAULT, numbers.values.data()) < 0))
      throw damaged();
    for (const double value : numbers.values)
      if (!std::isfinite(value)) throw DataError("{}: {} holds numbers that are not finite", path_, dataset);
    return numbers;
  }

 private:
  /// Nothing of the library's own on standard error, and no filters of plug-ins that lie about.
  static hid_t open(const std::string& path) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLset_loading_state(0);
    return H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  }

  double attribute(const std::string& dataset, const std::string& name) const {
    const Handle object(H5Oopen(file_, dataset.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object.good() || H5Aexists(object, name.c_str()) <= 0)
      throw DataError("{}: {} has no attribute '{}': is it the file that it is named as?", path_, dataset,
                      name);
    const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    double value = 0;
    if (attribute.good()) {
      const Handle space(H5Aget_space(attribute), H5Sclose), type(H5Aget_type(attribute), H5Tclose);
      const H5T_class_t kind = type.good() ? H5Tget_class(type) : H5T_NO_CLASS;
      if (space.good() && H5Sget_simple_extent_npoints(space) == 1 &&
          (kind == H5T_FLOAT || kind == H5T_INTEGER) && H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) >= 0 &&
          std::isfinite(value))
        return value;
    }
    throw DataError("{}: attribute '{}' of {} is no number", path_, name, dataset);
  }

  const std::string& path_;
  Handle file_;
};

/// Numbers and texts one behind the other, on their way out of a process.
class Packed {
 public:
  explicit Packed(std::string bytes = {}) : bytes_(std::move(bytes)) {}
  void put(std::uint64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void put(const void* data, std::size_t size) {
    put(size);
    bytes_.append(static_cast<const char*>(data), size);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    take(&value, sizeof value);
    return value;
  }
  void take(void* to, std::size_t size) {
    if (size > bytes_.size() - at_) throw std::logic_error("hdf5_numbers: a process returned too little");
    std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  std::string bytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

Packed isolated(const std::string& path, const std::function<void(const Reader&, Packed&)>& work) {
  { const ByteSource exists(path); }
  const IsolatedResult result = run_isolated({std::uint64_t{2} << 30, 60}, [&] {
    const Reader reader(path);
    Packed packed;
    work(reader, packed);
    return std::move(packed).bytes();
  });
  if (result.end == IsolatedEnd::out_of_memory)
    throw DataError("{}: it asks for more memory than any file of coefficients needs: it is damaged", path);
  if (result.end != IsolatedEnd::finished)
    throw DataError("{}: the file is damaged: the HDF5 library dies of it", path);
  return Packed(result.bytes);
}

}  // namespace

std::vector<std::string> read_hdf5_names(const std::string& path) {
  Packed packed = isolated(path, [](const Reader& reader, Packed& to) {
    const std::vector<std::string> names = reader.names();
    to.put(names.size());
    for (const std::string& name : names) to.put(name.data(), name.size());
  });
  std::vector<std::string> names(packed.number());
  for (std::string& name : names) {
    name.resize(packed.number());
    packed.take(name.data(), name.size());
  }
  return names;
}

std::vector<Hdf5Numbers> read_hdf5_numbers(const std::string& path,
                                           const std::vector<Hdf5Request>& requests) {
  Packed packed = isolated(path, [&](const Reader& reader, Packed& to) {
    for (const Hdf5Request& request : requests) {
      const Hdf5Numbers numbers = reader.read(request);
      to.put(numbers.extents.size());
      for (const std::size_t extent : numbers.extents) to.put(extent);
      to.put(numbers.values.data(), numbers.values.size() * sizeof(double));
    }
  });
  std::vector<Hdf5Numbers> all(requests.size());
  for (Hdf5Numbers& numbers : all) {
    numbers.extents.resize(packed.number());
    for (std::size_t& extent : numbers.extents) extent = packed.number();
    numbers.values.resize(packed.number() / sizeof(double));
    packed.take(numbers.values.data(), numbers.values.size() * sizeof(double));
  }
  return all;
}

}  // namespace apsyn
