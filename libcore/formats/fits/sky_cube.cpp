// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/sky_cube.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>

#include "libcore/base/error.h"
#include "libcore/formats/fits/celestial.h"
#include "libcore/formats/fits/keys.h"
#include "libcore/formats/fits/scan.h"

namespace apsyn {
namespace {

constexpr long kMaxAxes = 7;

/// FITS standard 4.0, section 5: integers are signed except bytes; floating point is IEEE; all big-endian.
template <class Bits, class Value>
void decode(const char* bytes, std::size_t n, double* values) {
  for (std::size_t i = 0; i < n; ++i) {
    Bits bits;
    std::memcpy(&bits, bytes + i * sizeof(Bits), sizeof(Bits));
    if constexpr (sizeof(Bits) == 2) bits = __builtin_bswap16(bits);
    if constexpr (sizeof(Bits) == 4) bits = __builtin_bswap32(bits);
    if constexpr (sizeof(Bits) == 8) bits = __builtin_bswap64(bits);
    values[i] = static_cast<double>(std::bit_cast<Value>(bits));
  }
}
static_assert(std::endian::native == std::endian::little);

void decode(const char* bytes, int bitpix, std::size_t n, double* values) {
  switch (bitpix) {
    case 8:
      return decode<std::uint8_t, std::uint8_t>(bytes, n, values);
    case 16:
      return decode<std::uint16_t, std::int16_t>(bytes, n, values);
    case 32:
      return decode<std::uint32_t, std::int32_t>(bytes, n, values);
    case 64:
      return decode<std::uint64_t, std::int64_t>(bytes, n, values);
    case -32:
      return decode<std::uint32_t, float>(bytes, n, values);
    default:
      return decode<std::uint64_t, double>(bytes, n, values);
  }
}

}  // namespace

SkyCube::SkyCube(const std::string& path, CubePlane plane) : path_(path) {
  FitsPrimary fits = read_fits_header(path, kMaxAxes);
  header_bytes_ = fits.header_bytes;
  bitpix_ = fits.bitpix;
  nx_ = static_cast<std::size_t>(fits.axes[0]);
  ny_ = static_cast<std::size_t>(fits.axes[1]);
  std::size_t n_bytes = header_bytes_, n_data = static_cast<std::size_t>(std::abs(bitpix_)) / 8;
  for (const long length : fits.axes) n_data *= static_cast<std::size_t>(length);
  n_bytes += n_data;
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw FailureError("{}: is no regular file: copy it to a file first", path);
  if (size < n_bytes)
    throw DataError("{}: ends at byte {}, its header promises {}: the file is truncated", path, size,
                    n_bytes);
  {
    const MemoryFits memory(fits);
    const FitsKeys keys(memory.get(), path);
    x_axis_ = read_fits_axis(keys, fits, 1);
    y_axis_ = read_fits_axis(keys, fits, 2);
    if (plane == CubePlane::celestial) {
      read_fits_celestial(keys, fits, x_axis_, y_axis_, info_);
      mirror_x_ = x_axis_.step > 0;
      mirror_y_ = y_axis_.step < 0;
    }
    for (int number = 3; number <= static_cast<int>(fits.axes.size()); ++number)
      axes_.push_back(read_fits_axis(keys, fits, number));
    scale_ = keys.number("BSCALE").value_or(1);
    zero_ = keys.number("BZERO").value_or(0);
    if (const auto blank = keys.number("BLANK"); blank && bitpix_ > 0) {
      has_blank_ = true;
      blank_ = *blank;
    }
  }
  file_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file_.number() < 0) throw FailureError("{}: cannot open: {}", path, std::strerror(errno));
}

SkyCube::Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

void SkyCube::read_plane(std::size_t plane, View<double, 2> pixels) const {
  const std::size_t pixel_bytes = static_cast<std::size_t>(std::abs(bitpix_)) / 8;
  std::vector<char> bytes(nx_ * ny_ * pixel_bytes);
  for (std::size_t done = 0; done < bytes.size();) {
    const auto n = ::pread(file_.number(), bytes.data() + done, bytes.size() - done,
                           static_cast<off_t>(header_bytes_ + plane * bytes.size() + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw FailureError("{}: cannot read: {}", path_, std::strerror(errno));
    if (n == 0) throw DataError("{}: plane {}: the file has become shorter", path_, plane + 1);
    done += static_cast<std::size_t>(n);
  }
  for (std::size_t y = 0; y < ny_; ++y) {
    const View<double, 1> row = pixels[mirror_y_ ? ny_ - 1 - y : y];
    decode(bytes.data() + y * nx_ * pixel_bytes, bitpix_, nx_, row.data());
    for (double& pixel : row) {
      const double value = zero_ + scale_ * pixel;
      const bool good = std::isfinite(value) && !(has_blank_ && pixel == blank_);
      pixel = good ? value : std::numeric_limits<double>::quiet_NaN();
    }
    if (mirror_x_) std::reverse(row.begin(), row.end());
  }
}

}  // namespace apsyn
