// SPDX-License-Identifier: GPL-3.0-or-later
// A checked primary HDU opened with CFITSIO where it lies in memory, and its linear axes. For
// libcore/formats/fits only.
#pragma once

#include <fitsio.h>

#include <cstddef>
#include <mutex>
#include <string>

#include "libcore/formats/fits/keys.h"
#include "libcore/formats/fits/scan.h"

namespace apsyn {

/// Closed on destruction. One at a time: others wait, because CFITSIO is not thread-safe.
class MemoryFits {
 public:
  explicit MemoryFits(FitsPrimary& primary);
  ~MemoryFits();
  MemoryFits(const MemoryFits&) = delete;
  fitsfile* get() const { return fits_; }
  /// DataError unless CFITSIO's status is 0.
  void check(int status) const;

 private:
  std::lock_guard<std::mutex> lock_;
  std::string name_;
  void* bytes_;
  std::size_t size_;
  int status_ = 0;
  fitsfile* fits_ = nullptr;
};

struct FitsAxis {
  std::string type;
  double value = 0, step = 1, pixel = 0;  ///< of the file's unit; CRPIX counts from 1
  std::size_t length = 1;
  /// Value at the axis' first pixel.
  double first() const { return value + (1 - pixel) * step; }
};

/// Axis `number` (from 1); DataError when it is rotated against the others.
FitsAxis read_fits_axis(const FitsKeys& keys, const FitsPrimary& fits, int number);
/// One that has to be of this type, and of this unit where the file tells; `what`: "an ionospheric screen".
FitsAxis read_fits_axis(const FitsKeys& keys, const FitsPrimary& fits, int number, const std::string& type,
                        const std::string& unit, const std::string& what);

}  // namespace apsyn
