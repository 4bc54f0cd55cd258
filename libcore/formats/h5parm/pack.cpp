// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstring>
#include <type_traits>

#include "libcore/base/error.h"
#include "libcore/formats/h5parm/soltabs.h"

namespace apsyn {
namespace {

/// Appends what it is given.
class Packer {
 public:
  explicit Packer(std::string& bytes) : bytes_(bytes) {}
  void raw(const void* from, std::size_t n_bytes) { bytes_.append(static_cast<const char*>(from), n_bytes); }
  std::size_t length(std::size_t n, std::size_t) {
    raw(&n, sizeof n);
    return n;
  }

 private:
  std::string& bytes_;
};

/// Takes in the same order.
class Unpacker {
 public:
  Unpacker(const std::string& bytes, const std::string& path) : bytes_(bytes), path_(path) {}
  void raw(void* to, std::size_t n_bytes) {
    if (n_bytes > bytes_.size() - at_)
      throw DataError("{}: reading it ended half-way: the file is damaged", path_);
    if (n_bytes > 0) std::memcpy(to, bytes_.data() + at_, n_bytes);
    at_ += n_bytes;
  }
  /// Of a list whose elements take element_bytes at least.
  std::size_t length(std::size_t, std::size_t element_bytes) {
    std::size_t n = 0;
    raw(&n, sizeof n);
    if (n > (bytes_.size() - at_) / element_bytes)
      throw DataError("{}: reading it ended half-way: the file is damaged", path_);
    return n;
  }

 private:
  const std::string& bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
};

template <class Archive, class T>
requires(std::is_arithmetic_v<T>) void go(Archive& archive, T& value) {
  archive.raw(&value, sizeof value);
}

template <class Archive>
void go(Archive& archive, std::string& text) {
  text.resize(archive.length(text.size(), 1));
  archive.raw(text.data(), text.size());
}

template <class Archive>
void go(Archive& archive, SolutionAntenna& antenna) {
  go(archive, antenna.name);
  for (double& metres : antenna.position_m) go(archive, metres);
}

template <class Archive>
void go(Archive& archive, SolutionDirection& direction) {
  go(archive, direction.name);
  go(archive, direction.direction.ra_rad);
  go(archive, direction.direction.dec_rad);
}

template <class Archive, class T>
void go(Archive& archive, std::vector<T>& values);

template <class Archive>
void go(Archive& archive, H5Soltab& soltab) {
  for (std::string* text : {&soltab.name, &soltab.title, &soltab.term, &soltab.order, &soltab.history})
    go(archive, *text);
  go(archive, soltab.axes);
  go(archive, soltab.extents);
  go(archive, soltab.values);
  go(archive, soltab.weights);
  go(archive, soltab.flags);
  for (auto* numbers : {&soltab.time_mjd_s, &soltab.freq_hz, &soltab.interval_s, &soltab.width_hz})
    go(archive, *numbers);
  for (auto* texts : {&soltab.ant, &soltab.pol, &soltab.dir}) go(archive, *texts);
}

template <class Archive, class T>
void go(Archive& archive, std::vector<T>& values) {
  if constexpr (std::is_arithmetic_v<T>) {
    values.resize(archive.length(values.size(), sizeof(T)));
    archive.raw(values.data(), values.size() * sizeof(T));
  } else {
    values.resize(archive.length(values.size(), sizeof(std::size_t)));
    for (T& value : values) go(archive, value);
  }
}

template <class Archive>
void go(Archive& archive, H5Solset& solset) {
  go(archive, solset.name);
  go(archive, solset.antennas);
  go(archive, solset.sources);
  go(archive, solset.soltabs);
}

}  // namespace

std::string pack_solset(const H5Solset& solset) {
  std::string bytes;
  Packer packer(bytes);
  go(packer, const_cast<H5Solset&>(solset));  // a packer changes nothing
  return bytes;
}

H5Solset unpack_solset(const std::string& bytes, const std::string& path) {
  H5Solset solset;
  Unpacker unpacker(bytes, path);
  go(unpacker, solset);
  return solset;
}

}  // namespace apsyn
