// SPDX-License-Identifier: GPL-3.0-or-later
// Images in time: a FITS file of axes RA---SIN, DEC--SIN, FREQ, STOKES, then COMPLEX where cross products
// need it, and TIME outermost, written as the images come. The number of images need not be known before.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libcore/files/output.h"
#include "libcore/image/image.h"

namespace apsyn {

struct FitsCubeShape {
  std::size_t nx = 0, ny = 0, n_chan = 1, n_stokes = 1;
  bool complex = false;                ///< an axis of real and imaginary parts
  bool in_time = false;                ///< an axis TIME; without it there is one image
  double step_s = 0;                   ///< from image to image
  std::string quantity = "Intensity";  ///< BTYPE

  std::size_t n_part() const { return complex ? 2 : 1; }
  /// Floats of one image.
  std::size_t n_record() const { return n_part() * n_stokes * n_chan * ny * nx; }
};

/// UsageError, beginning with `path`, for labels that one STOKES axis cannot hold in this order.
void check_fits_stokes(const std::string& path, const std::vector<std::string>& stokes);

class FitsCubeWriter {
 public:
  /// `info.time` is the beginning of the first image; a TIME axis counts from it, to the middle of each
  /// image, the last one taken as long as the others; XPOSLAST is its length. float32, atomically, with
  /// DATASUM and CHECKSUM; not to a pipe. Throws as write_fits_image.
  FitsCubeWriter(const std::string& path, ImageInfo info, const FitsCubeShape& shape, bool overwrite,
                 unsigned n_threads = 1);
  /// [part][stokes][freq][y][x], of so much time: step_s, of the last image perhaps less. XPOSURE is the time
  /// of all images that have data.
  void write(std::span<const float> record, double length_s, bool any_data) {
    write(n_written_, record, length_s, any_data);
  }
  /// The same of image `index`; in any order, but all up to the last have to be written, once each.
  void write(std::size_t index, std::span<const float> record, double length_s, bool any_data);
  void commit();

 private:
  std::string header(std::uint32_t data_sum) const;

  std::string path_;
  ImageInfo info_;
  FitsCubeShape shape_;
  OutputFile out_;
  unsigned n_threads_;
  std::size_t n_written_ = 0, header_bytes_ = 0;
  double last_s_ = 0;      // length of the last image
  double exposure_s_ = 0;  // of all images with data
  std::uint64_t sum_ = 0;  // of the data as big-endian words, carries added back
};

}  // namespace apsyn
