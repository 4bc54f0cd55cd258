// SPDX-License-Identifier: GPL-3.0-or-later
// FITS images through CFITSIO, in memory only: CFITSIO never sees a file name (its names are a language that
// writes files and opens connections) nor the disk (its errors on a full disk get lost), so files and pipes
// take one path. Layout: RA---SIN, DEC--SIN, FREQ, STOKES as in the FITS standard 4.0, sections 4, 8 and 9.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libcore/image/image.h"

namespace apsyn {

enum class FitsPixel { float32 = -32, float64 = -64 };

/// Reads the image of the primary HDU from a file or from standard input ("-"): axes RA---SIN, DEC--SIN, FREQ
/// and STOKES in either order or missing, then COMPLEX and TIME where there are more. Each time, and its real
/// or imaginary part, is a frame: the frame'th from 0 in the file's order is read; DataError when there are
/// several and none is asked for. Any BITPIX, BSCALE, BZERO and BLANK. Pixels are
/// mirrored where needed, so that east is always towards smaller x and north towards larger y. Header and
/// size are checked before CFITSIO sees a byte. Numeric keywords without a member in ImageInfo arrive in
/// `keywords`. FailureError when it cannot be opened or read, DataError (with the byte offset where there is
/// one) when malformed, truncated, rotated, of another projection or no celestial image.
Image read_fits_image(const std::string& path, std::optional<std::size_t> frame = {});

/// Every time of a file in turn, real parts alone; the file is read once. `use` may take the pixels away, and
/// must not read FITS files itself. Throws as read_fits_image.
void for_each_fits_frame(const std::string& path, const std::function<void(Image&)>& use);

/// What a header tells of images in time, their pixels not read.
struct FitsSeries {
  ImageInfo info;  ///< its times are those of the file
  std::size_t nx = 0, ny = 0, n_chan = 1;
  bool has_time = false;  ///< an axis TIME
  std::size_t n_time = 1;
  double first_s = 0, step_s = 0;  ///< of TIME: the first value, and from image to image
  /// Of a plane among those of the file, real part, for SkyCube.
  std::size_t plane(std::size_t time, std::size_t stokes, std::size_t chan) const {
    const std::size_t n_stokes = info.stokes.size();
    return time * time_stride + (stokes_first ? chan * n_stokes + stokes : stokes * n_chan + chan);
  }
  std::size_t time_stride = 1;  ///< planes from time to time
  bool stokes_first = false;    ///< STOKES varies faster than FREQ
};
/// Throws as read_fits_image.
FitsSeries read_fits_series(const std::string& path);

/// NAXIS1, NAXIS2, ... of a file, its header checked, its pixels not read. Throws as read_fits_image.
std::vector<std::size_t> read_fits_shape(const std::string& path);

/// The numeric keywords of a file that read_fits_image gives as `keywords`, without the pixels. Throws the
/// same.
std::vector<std::pair<std::string, double>> read_fits_keywords(const std::string& path);

/// The geometric mean of BMAJ and BMIN in pixels of CDELT2, or 0 where the header lacks one of them.
double read_fits_beam_pixels(const std::string& path);

/// What write_fits_image() takes beside the image, of n_pixels pixels of so many bytes in the file.
std::uint64_t fits_writing_bytes(std::uint64_t n_pixels, std::uint64_t pixel_bytes, unsigned n_threads);

/// Makes pixels [first, first + pixels.size()) of an image, counted in the order of the file. Any thread, and
/// twice for standard output.
using FitsPixelSource = std::function<void(std::size_t first, std::span<double> pixels)>;
/// Writes [stokes][freq][y][x] as four axes, atomically, with DATASUM and CHECKSUM; "-" is standard output.
/// The same image gives the same bytes (no date of writing). UsageError when the Stokes planes are no
/// arithmetic sequence in FITS' numbering (I Q U V 1..4, RR LL RL LR -1..-4, XX YY XY YX -5..-8) or the
/// output exists; FailureError when it cannot be written.
void write_fits_image(const std::string& path, const Image& image, FitsPixel pixel, bool overwrite,
                      unsigned n_threads = 1);
/// The same of pixels that are made as they are written. Several files may be written at the same time.
void write_fits_image(const std::string& path, const ImageInfo& info, const Buffer<double, 4>::Shape& shape,
                      const FitsPixelSource& source, FitsPixel pixel, bool overwrite, unsigned n_threads);

}  // namespace apsyn
