// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/memory.h"

#include "libcore/base/error.h"

namespace apsyn {
namespace {

std::mutex& cfitsio_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// One row of a rotation or CD matrix must have its diagonal element only.
void reject_rotation(const FitsKeys& keys, const FitsPrimary& fits, const char* stem, int axis) {
  for (int other = 1; other <= static_cast<int>(fits.axes.size()); ++other) {
    const std::string keyword = fmt::format("{}{}_{}", stem, axis, other);
    if (other == axis) continue;
    if (const auto value = keys.number(keyword); value && *value != 0)
      throw DataError("{}: {} = {}: rotated axes are not supported: regrid the image", fits.name, keyword,
                      *value);
  }
}

}  // namespace

MemoryFits::MemoryFits(FitsPrimary& primary)
    : lock_(cfitsio_mutex()), name_(primary.name), bytes_(primary.bytes.data()), size_(primary.bytes.size()) {
  check(fits_open_memfile(&fits_, "memory", READONLY, &bytes_, &size_, 0, nullptr, &status_));
}

MemoryFits::~MemoryFits() {
  int status = 0;
  if (fits_ != nullptr) fits_close_file(fits_, &status);
}

void MemoryFits::check(int status) const {
  if (status != 0) throw DataError("{}: {}", name_, fits_error_text(status));
}

FitsAxis read_fits_axis(const FitsKeys& keys, const FitsPrimary& fits, int number) {
  auto name = [&](const char* stem) { return fmt::format("{}{}", stem, number); };
  FitsAxis out;
  out.length = static_cast<std::size_t>(fits.axes[static_cast<std::size_t>(number - 1)]);
  out.type = keys.text(name("CTYPE")).value_or("");
  out.value = keys.number(name("CRVAL")).value_or(0);
  out.pixel = keys.number(name("CRPIX")).value_or(0);
  if (const auto step = keys.number(name("CDELT")))
    out.step = *step * keys.number(fmt::format("PC{0}_{0}", number)).value_or(1);
  else
    out.step = keys.number(fmt::format("CD{0}_{0}", number)).value_or(1);
  reject_rotation(keys, fits, "PC", number);
  reject_rotation(keys, fits, "CD", number);
  if (const auto angle = keys.number(name("CROTA")); angle && *angle != 0)
    throw DataError("{}: {} = {}: rotated axes are not supported: regrid the image", fits.name, name("CROTA"),
                    *angle);
  return out;
}

FitsAxis read_fits_axis(const FitsKeys& keys, const FitsPrimary& fits, int number, const std::string& type,
                        const std::string& unit, const std::string& what) {
  const FitsAxis axis = read_fits_axis(keys, fits, number);
  if (axis.type != type)
    throw DataError("{}: CTYPE{} = '{}': {} is needed: not {}", fits.name, number, axis.type, type, what);
  const std::string keyword = fmt::format("CUNIT{}", number);
  if (const std::string found = keys.text(keyword).value_or(unit); found != unit)
    throw DataError("{}: {} = '{}': {} is needed", fits.name, keyword, found, unit);
  return axis;
}

}  // namespace apsyn
