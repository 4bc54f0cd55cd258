// SPDX-License-Identifier: GPL-3.0-or-later
// A FITS image that CFITSIO builds in memory. For libcore/formats/fits only.
#pragma once

#include <fitsio.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "libcore/formats/fits/image.h"

namespace apsyn {

/// CFITSIO's calls do nothing once status is set, so the first error stays; it is thrown as FailureError.
class FitsBuilder {
 public:
  /// `name` names the file in errors; `n_bytes` is a first guess of its size.
  FitsBuilder(std::string name, std::size_t n_bytes);
  ~FitsBuilder();
  FitsBuilder(const FitsBuilder&) = delete;

  /// `axes`: NAXIS1 (fastest) first.
  void create_image(FitsPixel pixel, std::vector<long> axes);
  /// The shortest text that reads back as the same double; left out when it is not finite.
  void key(const std::string& keyword, double value, const std::string& comment);
  void key(const std::string& keyword, const std::string& value, const std::string& comment);
  void history(const std::string& line);
  /// Pixels `first` (from 0) and those that follow, in the order of the file.
  void pixels(std::size_t first, std::span<const double> values);
  /// DATASUM and CHECKSUM. The comments that CFITSIO writes hold the date: they are replaced, so that bytes
  /// repeat, and the sum of the header made again.
  void checksum();
  /// Ends the file; the bytes stay valid as long as the builder.
  std::span<const char> finish();

 private:
  void record(const std::string& keyword, const std::string& value, const std::string& comment);
  void check() const;

  std::string name_;
  void* buffer_ = nullptr;
  std::size_t capacity_ = 0;
  fitsfile* fits_ = nullptr;
  int status_ = 0;
};

}  // namespace apsyn
