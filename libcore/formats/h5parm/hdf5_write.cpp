// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cstring>
#include <string_view>

#include "libcore/base/error.h"
#include "libcore/formats/h5parm/hdf5.h"
#include "libcore/formats/h5parm/soltabs.h"

namespace apsyn {
namespace {

constexpr std::size_t kAntennaBytes = 16, kDirectionBytes = 128, kPolBytes = 2;  ///< as others write them

/// Text of fixed length as DP3 and PyTables write it: "terminated", with no room for the terminator. Readers
/// that ask for this type get all letters; from texts padded with zeros they would get all but the last.
Hdf5Handle text_type(std::size_t size) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, std::max<std::size_t>(size, 1));
  H5Tset_strpad(type, H5T_STR_NULLTERM);
  return type;
}

std::size_t longest(const std::vector<std::string>& texts, std::size_t at_least) {
  for (const std::string& text : texts) at_least = std::max(at_least, text.size());
  return at_least;
}

/// Texts side by side, `size` bytes each.
std::vector<char> padded(const std::vector<std::string>& texts, std::size_t size) {
  std::vector<char> bytes(texts.size() * size);
  for (std::size_t i = 0; i < texts.size(); ++i)
    std::memcpy(bytes.data() + i * size, texts[i].data(), texts[i].size());
  return bytes;
}

class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path) {}

  std::string write(const H5Solset& solset) {
    quieten_hdf5();
    const Hdf5Handle access(check(H5Pcreate(H5P_FILE_ACCESS)), H5Pclose);
    check(H5Pset_fapl_core(access, 1 << 20, 0));  // in memory only
    const Hdf5Handle file(check(H5Fcreate("solutions.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access)), H5Fclose);
    {
      const Hdf5Handle group = create_group(file, solset.name);
      attribute(group, "h5parm_version", "1.0");
      write_antennas(group, solset.antennas);
      write_sources(group, solset.sources);
      for (const H5Soltab& soltab : solset.soltabs) write_soltab(group, soltab);
    }
    check(H5Fflush(file, H5F_SCOPE_GLOBAL));
    const ssize_t size = H5Fget_file_image(file, nullptr, 0);
    check(size);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    check(H5Fget_file_image(file, bytes.data(), bytes.size()));
    return bytes;
  }

 private:
  template <class T>
  T check(T result) const {
    if (result < 0) throw FailureError("{}: libhdf5 cannot make the file: not enough memory?", path_);
    return result;
  }

  Hdf5Handle create_group(hid_t parent, const std::string& name) const {
    const Hdf5Handle how(check(H5Pcreate(H5P_GROUP_CREATE)), H5Pclose);
    check(H5Pset_obj_track_times(how, false));
    return {check(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, how, H5P_DEFAULT)), H5Gclose};
  }

  void attribute(hid_t object, const char* name, const std::string& text) const {
    const Hdf5Handle type = text_type(text.size());
    const Hdf5Handle space(check(H5Screate(H5S_SCALAR)), H5Sclose);
    const Hdf5Handle attribute(check(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT)),
                               H5Aclose);
    check(H5Awrite(attribute, type, text.empty() ? "" : text.data()));
  }

  Hdf5Handle dataset(hid_t group, const char* name, hid_t type, const std::vector<std::uint64_t>& extents,
                     hid_t memory, const void* values) const {
    const std::vector<hsize_t> sizes(extents.begin(), extents.end());
    const Hdf5Handle space(check(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr)),
                           H5Sclose);
    const Hdf5Handle how(check(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose);
    check(H5Pset_obj_track_times(how, false));  // the same solutions give the same bytes
    check(H5Pset_layout(how, H5D_CONTIGUOUS));
    Hdf5Handle dataset(check(H5Dcreate2(group, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT)), H5Dclose);
    check(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    return dataset;
  }

  void numbers(hid_t group, const char* name, const std::vector<double>& values) const {
    dataset(group, name, H5T_IEEE_F64LE, {values.size()}, H5T_NATIVE_DOUBLE, values.data());
  }

  void texts(hid_t group, const char* name, const std::vector<std::string>& values,
             std::size_t at_least) const {
    const std::size_t size = longest(values, at_least);
    const Hdf5Handle type = text_type(size);
    dataset(group, name, type, {values.size()}, type, padded(values, size).data());
  }

  /// Records of a name and numbers of type `element`.
  template <class T>
  void table(hid_t group, const char* name, const char* numbers, const std::vector<std::string>& names,
             std::size_t name_bytes, const std::vector<T>& values, hid_t element, hid_t native) const {
    const std::size_t n = names.size(), size = longest(names, name_bytes),
                      per = values.size() / n * sizeof(T);
    const std::vector<char> texts = padded(names, size);
    std::vector<char> records(n * (size + per));
    for (std::size_t i = 0; i < n; ++i) {
      std::memcpy(records.data() + i * (size + per), texts.data() + i * size, size);
      std::memcpy(records.data() + i * (size + per) + size,
                  reinterpret_cast<const char*>(values.data()) + i * per, per);
    }
    const auto record = [&](hid_t number) {
      const hsize_t extent = values.size() / n;
      const Hdf5Handle text = text_type(size), array(check(H5Tarray_create2(number, 1, &extent)), H5Tclose);
      Hdf5Handle type(check(H5Tcreate(H5T_COMPOUND, size + per)), H5Tclose);
      check(H5Tinsert(type, "name", 0, text));
      check(H5Tinsert(type, numbers, size, array));
      return type;
    };
    const Hdf5Handle stored = record(element), memory = record(native);
    dataset(group, name, stored, {n}, memory, records.data());
  }

  void write_antennas(hid_t group, const std::vector<SolutionAntenna>& antennas) const {
    std::vector<std::string> names;
    std::vector<float> positions;
    for (const SolutionAntenna& antenna : antennas) {
      names.push_back(antenna.name);
      for (const double metres : antenna.position_m) positions.push_back(static_cast<float>(metres));
    }
    table(group, "antenna", "position", names, kAntennaBytes, positions, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT);
  }

  void write_sources(hid_t group, const std::vector<SolutionDirection>& sources) const {
    std::vector<std::string> names;
    std::vector<double> directions;
    for (const SolutionDirection& source : sources) {
      names.push_back(source.name);
      directions.insert(directions.end(), {source.direction.ra_rad, source.direction.dec_rad});
    }
    table(group, "source", "dir", names, kDirectionBytes, directions, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE);
  }

  void write_soltab(hid_t solset, const H5Soltab& soltab) const {
    const Hdf5Handle group = create_group(solset, soltab.name);
    attribute(group, "TITLE", soltab.title);
    attribute(group, "h5parm_version", "1.0");
    if (!soltab.term.empty()) attribute(group, "APSYN_TERM", soltab.term);
    if (!soltab.order.empty()) attribute(group, "APSYN_ORDER", soltab.order);
    for (const std::string& axis : soltab.axes) {
      if (axis == "time") numbers(group, "time", soltab.time_mjd_s);
      if (axis == "freq") numbers(group, "freq", soltab.freq_hz);
      if (axis == "ant") texts(group, "ant", soltab.ant, 1);
      if (axis == "dir") texts(group, "dir", soltab.dir, kDirectionBytes);
      if (axis == "pol") texts(group, "pol", soltab.pol, kPolBytes);
    }
    if (!soltab.interval_s.empty()) numbers(group, "interval", soltab.interval_s);
    if (!soltab.width_hz.empty()) numbers(group, "width", soltab.width_hz);
    std::string axes;
    for (const std::string& axis : soltab.axes) axes += (axes.empty() ? "" : ",") + axis;
    const Hdf5Handle values =
        dataset(group, "val", H5T_IEEE_F64LE, soltab.extents, H5T_NATIVE_DOUBLE, soltab.values.data());
    attribute(values, "AXES", axes);
    if (!soltab.history.empty()) attribute(values, "HISTORY000", soltab.history);
    const Hdf5Handle weights =
        dataset(group, "weight", H5T_IEEE_F32LE, soltab.extents, H5T_NATIVE_FLOAT, soltab.weights.data());
    attribute(weights, "AXES", axes);
    if (!soltab.flags.empty()) {
      const Hdf5Handle flags =
          dataset(group, "reason", H5T_STD_U8LE, soltab.extents, H5T_NATIVE_UINT8, soltab.flags.data());
      attribute(flags, "AXES", axes);
    }
  }

  const std::string& path_;
};

}  // namespace

std::string write_solset(const H5Solset& solset, const std::string& path) {
  return Writer(path).write(solset);
}

}  // namespace apsyn
