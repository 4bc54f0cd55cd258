// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/formats/h5parm/hdf5.h"
#include "libcore/formats/h5parm/soltabs.h"

namespace apsyn {
namespace {

constexpr hsize_t kMaxElements = hsize_t{1} << 28;  ///< of a dataset
constexpr hsize_t kMaxNames = 1 << 16;              ///< antennas, directions, links of a group
constexpr std::size_t kMaxTextBytes = 1 << 20;
constexpr int kMaxRank = 8;

const std::array<const char*, 6> kKnownTitles{"amplitude", "phase",      "tec",
                                              "clock",     "leakage-re", "leakage-im"};

std::string up_to_nul(const char* text, std::size_t size) {
  return std::string(trim(std::string_view(text, ::strnlen(text, size))));
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  H5Solset read(const std::string& image, const H5ParmSelection& selection) {
    quieten_hdf5();
    Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    check(H5Pset_fapl_core(access, 1 << 20, 0), "libhdf5");
    check(H5Pset_file_image(access, const_cast<char*>(image.data()), image.size()), "libhdf5");
    const Hdf5Handle file(H5Fopen("solutions.h5", H5F_ACC_RDONLY, access), H5Fclose);
    if (!file.good()) throw DataError("{}: no HDF5 file, or a damaged one", path_);
    const Hdf5Handle root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose);
    check(root, "its top level");

    H5Solset solset;
    solset.name = choose_solset(root, selection.solset);
    const Hdf5Handle group = open_group(root, solset.name);
    const std::vector<std::string> names = links(group, solset.name);
    const auto has = [&](const char* name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (has("antenna")) read_antennas(group, solset.antennas);
    if (has("source")) read_sources(group, solset.sources);
    for (const std::string& wanted : selection.soltabs)
      if (std::find(names.begin(), names.end(), wanted) == names.end())
        throw DataError("{}: {}: no such soltab: there are {}", path_, wanted, joined(names));
    for (const std::string& name : names) {
      if (name == "antenna" || name == "source") continue;
      const bool named =
          std::find(selection.soltabs.begin(), selection.soltabs.end(), name) != selection.soltabs.end();
      if (!selection.soltabs.empty() && !named) continue;
      if (!is_group(group, name)) continue;
      read_soltab(group, name, named, solset.soltabs);
    }
    if (solset.soltabs.empty())
      throw DataError("{}: {} has no solutions: there are {}", path_, solset.name, joined(names));
    return solset;
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw DataError("{}: {} cannot be read: the file is damaged, or newer than HDF5 {}.{}", path_, what,
                    H5_VERS_MAJOR, H5_VERS_MINOR);
  }
  void check(hid_t result, const std::string& what) const {
    if (result < 0) damaged(what);
  }
  static std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
  }

  std::vector<std::string> links(hid_t group, const std::string& what) const {
    H5G_info_t info{};
    check(H5Gget_info(group, &info), what);
    if (info.nlinks > kMaxNames) throw DataError("{}: {} has {} members: too many", path_, what, info.nlinks);
    std::vector<std::string> names;
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const ssize_t length =
          H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT);
      if (length < 0 || length > static_cast<ssize_t>(kMaxTextBytes)) damaged(what);
      std::string name(static_cast<std::size_t>(length) + 1, '\0');
      check(H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(), name.size(),
                               H5P_DEFAULT),
            what);
      name.resize(static_cast<std::size_t>(length));
      H5L_info_t link{};
      check(H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT), what);
      if (link.type != H5L_TYPE_HARD)
        throw DataError("{}: {}/{} is a link to elsewhere, which is not followed: copy it into the file",
                        path_, what, name);
      names.push_back(std::move(name));
    }
    return names;
  }

  bool is_group(hid_t parent, const std::string& name) const {
    const Hdf5Handle object(H5Oopen(parent, name.c_str(), H5P_DEFAULT), H5Oclose);
    check(object, name);
    return H5Iget_type(object) == H5I_GROUP;
  }

  Hdf5Handle open_group(hid_t parent, const std::string& name) const {
    if (!is_group(parent, name)) throw DataError("{}: {} is no group", path_, name);
    Hdf5Handle group(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose);
    check(group, name);
    return group;
  }

  std::string choose_solset(hid_t root, const std::string& wanted) const {
    const std::vector<std::string> names = links(root, "the top level");
    const std::string name = !wanted.empty() ? wanted : names.size() == 1 ? names.front() : "sol000";
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw DataError("{}: no solset {}: there are {}", path_, name, joined(names));
    return name;
  }

  /// A text attribute of one element; `otherwise` where there is none.
  std::string attribute(hid_t object, const char* name, const std::string& what,
                        const std::string& otherwise = "") const {
    const htri_t there = H5Aexists(object, name);
    check(there, what);
    if (there == 0) return otherwise;
    const Hdf5Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
    check(attribute, what);
    const Hdf5Handle space(H5Aget_space(attribute), H5Sclose), type(H5Aget_type(attribute), H5Tclose);
    check(space, what);
    check(type, what);
    const std::vector<std::string> texts =
        read_texts(type, element_count(space, 1, what), what,
                   [&](hid_t memory, void* to) { return H5Aread(attribute, memory, to); });
    if (texts.size() != 1) damaged(what + ": attribute " + name);
    return texts[0];
  }

  hsize_t element_count(hid_t space, hsize_t most, const std::string& what) const {
    std::vector<std::uint64_t> extents;
    return element_count(space, most, what, extents);
  }
  hsize_t element_count(hid_t space, hsize_t most, const std::string& what,
                        std::vector<std::uint64_t>& extents) const {
    if (H5Sis_simple(space) <= 0) damaged(what);
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > kMaxRank) damaged(what);
    std::array<hsize_t, kMaxRank> sizes{};
    if (rank > 0) check(H5Sget_simple_extent_dims(space, sizes.data(), nullptr), what);
    extents.assign(sizes.begin(), sizes.begin() + rank);
    hsize_t n = H5Sget_simple_extent_type(space) == H5S_NULL ? 0 : 1;
    for (const std::uint64_t extent : extents)
      if (__builtin_mul_overflow(n, extent, &n)) n = kMaxElements + 1;
    if (n > most) throw DataError("{}: {} has {} elements: at most {} are read", path_, what, n, most);
    return n;
  }

  struct Dataset {
    Hdf5Handle id, type;
    std::vector<std::uint64_t> extents;
    hsize_t n = 0;
  };

  /// Its values lie in this file.
  Dataset open_dataset(hid_t group, const char* name, hsize_t most, const std::string& what) const {
    Dataset dataset;
    const htri_t there = H5Lexists(group, name, H5P_DEFAULT);
    check(there, what);
    if (there == 0) throw DataError("{}: {} is missing", path_, what);
    dataset.id = Hdf5Handle(H5Dopen2(group, name, H5P_DEFAULT), H5Dclose);
    check(dataset.id, what);
    const Hdf5Handle created(H5Dget_create_plist(dataset.id), H5Pclose);
    check(created, what);
    const H5D_layout_t layout = H5Pget_layout(created);
    if (layout != H5D_CONTIGUOUS && layout != H5D_COMPACT && layout != H5D_CHUNKED) damaged(what);
    if (layout == H5D_CONTIGUOUS && H5Pget_external_count(created) != 0)
      throw DataError("{}: {} lies in another file, which is not read", path_, what);
    const Hdf5Handle space(H5Dget_space(dataset.id), H5Sclose);
    check(space, what);
    dataset.type = Hdf5Handle(H5Dget_type(dataset.id), H5Tclose);
    check(dataset.type, what);
    dataset.n = element_count(space, most, what, dataset.extents);
    return dataset;
  }

  template <class T>
  std::vector<T> read_numbers(const Dataset& dataset, hid_t memory, const std::string& what) const {
    const H5T_class_t kind = H5Tget_class(dataset.type);
    if (kind != H5T_FLOAT && kind != H5T_INTEGER) throw DataError("{}: {} are no numbers", path_, what);
    std::vector<T> values(dataset.n);
    if (dataset.n > 0) check(H5Dread(dataset.id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), what);
    return values;
  }

  std::vector<double> read_axis(hid_t group, const char* name, const std::string& what) const {
    const std::string axis = what + "/" + name;
    return read_numbers<double>(open_dataset(group, name, kMaxElements, axis), H5T_NATIVE_DOUBLE, axis);
  }

  /// Texts of fixed or variable length.
  std::vector<std::string> read_texts(hid_t type, hsize_t n, const std::string& what,
                                      const std::function<herr_t(hid_t, void*)>& read) const {
    if (H5Tget_class(type) != H5T_STRING) throw DataError("{}: {} is no text", path_, what);
    std::vector<std::string> texts;
    if (n == 0) return texts;
    if (H5Tis_variable_str(type) > 0) {
      Hdf5Handle memory(H5Tcopy(H5T_C_S1), H5Tclose);
      check(H5Tset_size(memory, H5T_VARIABLE), what);
      check(H5Tset_cset(memory, H5Tget_cset(type)), what);
      std::vector<char*> pointers(n, nullptr);
      check(read(memory, pointers.data()), what);  // never freed: the process ends with the file
      for (const char* text : pointers)
        texts.push_back(text == nullptr ? "" : up_to_nul(text, kMaxTextBytes));
      return texts;
    }
    const std::size_t size = H5Tget_size(type);
    if (size == 0 || size > kMaxTextBytes || size * n > (std::size_t{1} << 30)) damaged(what);
    std::vector<char> bytes(size * n + 1);
    const Hdf5Handle memory(H5Tcopy(type), H5Tclose);
    check(memory, what);
    check(read(memory, bytes.data()), what);
    for (hsize_t i = 0; i < n; ++i) texts.push_back(up_to_nul(bytes.data() + i * size, size));
    return texts;
  }

  std::vector<std::string> read_names(hid_t group, const char* name, const std::string& what) const {
    const std::string axis = what + "/" + name;
    const Dataset dataset = open_dataset(group, name, kMaxNames, axis);
    return read_texts(dataset.type, dataset.n, axis, [&](hid_t memory, void* to) {
      return H5Dread(dataset.id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
    });
  }

  /// Names and `n_numbers` numbers of each element of a compound dataset.
  std::vector<std::pair<std::string, std::vector<double>>> read_table(hid_t group, const char* name,
                                                                      const char* numbers,
                                                                      hsize_t n_numbers) const {
    const Dataset dataset = open_dataset(group, name, kMaxNames, name);
    if (H5Tget_class(dataset.type) != H5T_COMPOUND) throw DataError("{}: {} is no table", path_, name);
    const auto member = [&](const char* field) {
      const int index = H5Tget_member_index(dataset.type, field);
      if (index < 0) throw DataError("{}: {} has no field {}", path_, name, field);
      Hdf5Handle type(H5Tget_member_type(dataset.type, static_cast<unsigned>(index)), H5Tclose);
      check(type, name);
      return type;
    };
    const Hdf5Handle text = member("name"), array = member(numbers);
    if (H5Tget_class(text) != H5T_STRING || H5Tis_variable_str(text) > 0)
      throw DataError("{}: the names of {} are not of fixed length", path_, name);
    hsize_t extent = 0;
    if (H5Tget_class(array) != H5T_ARRAY || H5Tget_array_ndims(array) != 1 ||
        H5Tget_array_dims2(array, &extent) < 0 || extent != n_numbers)
      throw DataError("{}: {} of {} are not {} numbers each", path_, numbers, name, n_numbers);
    const Hdf5Handle element(H5Tget_super(array), H5Tclose);
    check(element, name);
    if (H5Tget_class(element) != H5T_FLOAT)
      throw DataError("{}: {} of {} are no numbers", path_, numbers, name);

    const std::vector<std::string> names = read_texts(text, dataset.n, name, [&](hid_t memory, void* to) {
      const Hdf5Handle record(H5Tcreate(H5T_COMPOUND, H5Tget_size(memory)), H5Tclose);
      if (!record.good() || H5Tinsert(record, "name", 0, memory) < 0) return herr_t{-1};
      return H5Dread(dataset.id, record, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
    });
    std::vector<double> all(dataset.n * n_numbers);
    const Hdf5Handle wide(H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &n_numbers), H5Tclose);
    const Hdf5Handle record(H5Tcreate(H5T_COMPOUND, n_numbers * sizeof(double)), H5Tclose);
    check(wide, name);
    check(record, name);
    check(H5Tinsert(record, numbers, 0, wide), name);
    if (dataset.n > 0) check(H5Dread(dataset.id, record, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()), name);
    std::vector<std::pair<std::string, std::vector<double>>> rows;
    for (hsize_t i = 0; i < dataset.n; ++i) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(i * n_numbers);
      rows.emplace_back(names[i], std::vector<double>(first, first + static_cast<std::ptrdiff_t>(n_numbers)));
    }
    return rows;
  }

  void read_antennas(hid_t group, std::vector<SolutionAntenna>& antennas) const {
    for (const auto& [name, position] : read_table(group, "antenna", "position", 3))
      antennas.push_back({name, {position[0], position[1], position[2]}});
  }
  void read_sources(hid_t group, std::vector<SolutionDirection>& sources) const {
    for (const auto& [name, dir] : read_table(group, "source", "dir", 2))
      sources.push_back({name, {dir[0], dir[1]}});
  }

  void read_soltab(hid_t solset, const std::string& name, bool named, std::vector<H5Soltab>& soltabs) const {
    const Hdf5Handle group = open_group(solset, name);
    links(group, name);  // hard ones only
    H5Soltab soltab;
    soltab.name = name;
    soltab.title = attribute(group, "TITLE", name, name.substr(0, name.find_last_not_of("0123456789") + 1));
    soltab.term = attribute(group, "APSYN_TERM", name);
    soltab.order = attribute(group, "APSYN_ORDER", name);
    if (std::find(kKnownTitles.begin(), kKnownTitles.end(), soltab.title) == kKnownTitles.end()) {
      if (soltab.title == "error" && !named) return;
      throw DataError(
          "{}: {} holds '{}', which is not applied here: name the soltabs to take (amplitude, phase, tec "
          "and clock are known)",
          path_, name, soltab.title);
    }
    if (soltab.term == "product" && !named) return;

    const Dataset values = open_dataset(group, "val", kMaxElements, name + "/val");
    soltab.extents = values.extents;
    const std::string axes = attribute(values.id, "AXES", name + "/val");
    for (const std::string_view axis : split(axes, ','))
      if (!axis.empty()) soltab.axes.emplace_back(axis);
    if (soltab.axes.size() != soltab.extents.size())
      throw DataError("{}: {}/val has {} axes and names {}", path_, name, soltab.extents.size(),
                      soltab.axes.size());
    soltab.history = attribute(values.id, "HISTORY000", name + "/val");
    for (std::size_t i = 0; i < soltab.axes.size(); ++i) {
      const std::string& axis = soltab.axes[i];
      std::size_t length = soltab.extents[i];
      if (axis == "time") length = (soltab.time_mjd_s = read_axis(group, "time", name)).size();
      if (axis == "freq") length = (soltab.freq_hz = read_axis(group, "freq", name)).size();
      if (axis == "ant") length = (soltab.ant = read_names(group, "ant", name)).size();
      if (axis == "pol") length = (soltab.pol = read_names(group, "pol", name)).size();
      if (axis == "dir") length = (soltab.dir = read_names(group, "dir", name)).size();
      if (length != soltab.extents[i])
        throw DataError("{}: {}/val has the length {} along {}, and {}/{} has {}", path_, name,
                        soltab.extents[i], axis, name, axis, length);
    }
    soltab.values = read_numbers<double>(values, H5T_NATIVE_DOUBLE, name + "/val");
    const Dataset weights = open_dataset(group, "weight", kMaxElements, name + "/weight");
    if (weights.extents != values.extents)
      throw DataError("{}: {}/weight has another shape than {}/val", path_, name, name);
    soltab.weights = read_numbers<float>(weights, H5T_NATIVE_FLOAT, name + "/weight");
    if (H5Lexists(group, "interval", H5P_DEFAULT) > 0) soltab.interval_s = read_axis(group, "interval", name);
    if (H5Lexists(group, "width", H5P_DEFAULT) > 0) soltab.width_hz = read_axis(group, "width", name);
    if (H5Lexists(group, "reason", H5P_DEFAULT) > 0) {
      const Dataset flags = open_dataset(group, "reason", kMaxElements, name + "/reason");
      if (flags.extents != values.extents)
        throw DataError("{}: {}/reason has another shape than {}/val", path_, name, name);
      soltab.flags = read_numbers<std::uint8_t>(flags, H5T_NATIVE_UINT8, name + "/reason");
    }
    soltabs.push_back(std::move(soltab));
  }

  const std::string& path_;
};

}  // namespace

H5Solset read_solset(const std::string& image, const std::string& path, const H5ParmSelection& selection) {
  return Reader(path).read(image, selection);
}

}  // namespace apsyn
