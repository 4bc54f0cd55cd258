// SPDX-License-Identifier: GPL-3.0-or-later
// Handles of libhdf5 that close themselves. For the rooms of HDF5 files only: h5parm, rfi and uvh5.
#pragma once

#include <hdf5.h>

#include <utility>

namespace apsyn {

class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Hdf5Handle() {
    if (id_ >= 0 && close_ != nullptr) close_(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  operator hid_t() const { return id_; }
  bool good() const { return id_ >= 0; }
  /// Leaves it open. Closing a file that a full disk has cut short ends the process (libhdf5 1.10.8).
  void abandon() { id_ = -1; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Nothing of the library's own on standard error, no filters of plug-ins that lie about, and no attempt to
/// write, at the end of the process, what a full disk has refused.
inline void quieten_hdf5() {
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

}  // namespace apsyn
