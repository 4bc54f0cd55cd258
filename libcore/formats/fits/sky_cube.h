// SPDX-License-Identifier: GPL-3.0-or-later
// FITS cubes of the sky with more axes than an image has (stations, matrix elements, times): the header is
// read at once, planes when they are wanted.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/formats/fits/memory.h"
#include "libcore/image/image.h"

namespace apsyn {

/// What the first two axes are: RA---SIN and DEC--SIN, or any linear ones, which are then not mirrored.
enum class CubePlane { celestial, linear };

class SkyCube {
 public:
  /// Two axes of a plane and up to five others. FailureError when the file cannot be opened, DataError
  /// when it is malformed, truncated or no such cube.
  explicit SkyCube(const std::string& path, CubePlane plane = CubePlane::celestial);
  SkyCube(SkyCube&& other) noexcept = default;
  SkyCube& operator=(SkyCube&& other) noexcept = default;

  const std::string& path() const { return path_; }
  const ImageInfo& info() const { return info_; }  ///< centre, cells and reference pixel only
  std::size_t nx() const { return nx_; }
  std::size_t ny() const { return ny_; }
  const FitsAxis& x_axis() const { return x_axis_; }
  const FitsAxis& y_axis() const { return y_axis_; }
  /// The axes after the first two, fastest first.
  const std::vector<FitsAxis>& axes() const { return axes_; }

  /// Plane `plane` of the file into pixels [y][x], celestial ones mirrored so that east is towards smaller x
  /// and north towards larger y; blank, infinite and NaN pixels become NaN. Safe from several threads at
  /// once.
  void read_plane(std::size_t plane, View<double, 2> pixels) const;

 private:
  /// Closes what it holds.
  class Descriptor {
   public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
      std::swap(number_, other.number_);
      return *this;
    }
    ~Descriptor();
    int number() const { return number_; }

   private:
    int number_;
  };

  std::string path_;
  Descriptor file_;
  std::size_t header_bytes_ = 0, nx_ = 0, ny_ = 0;
  int bitpix_ = 0;
  double scale_ = 1, zero_ = 0, blank_ = 0;
  bool has_blank_ = false, mirror_x_ = false, mirror_y_ = false;
  FitsAxis x_axis_, y_axis_;
  ImageInfo info_;
  std::vector<FitsAxis> axes_;
};

}  // namespace apsyn
