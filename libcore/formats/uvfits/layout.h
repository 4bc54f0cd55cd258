// SPDX-License-Identifier: GPL-3.0-or-later
// What a file says before its groups: the random groups of UVFITS, or the rows of FITS-IDI's UV_DATA. For
// libcore/formats/uvfits only.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libcore/formats/uvfits/flags.h"
#include "libcore/formats/uvfits/uvfits.h"

namespace apsyn {

/// An axis of a group's array; stride in values.
struct UvfitsAxis {
  std::size_t length = 1, stride = 0;
  double value = 0, step = 0, pixel = 1;
  double at(std::size_t index) const { return value + (static_cast<double>(index + 1) - pixel) * step; }
};

/// A number in a group: big-endian, of a type as BITPIX names it.
struct UvfitsNumber {
  std::size_t byte = 0;
  int bitpix = -32;
};

/// A parameter: the sum of its parts, zero + scale * stored.
struct UvfitsParameter {
  struct Part {
    UvfitsNumber stored;
    double scale = 1, zero = 0;
  };
  std::vector<Part> parts;
  bool there() const { return !parts.empty(); }
};

/// Groups that follow each other in the file.
struct UvfitsSegment {
  std::uint64_t data_byte = 0;
  std::int64_t n_groups = 0;
};

/// The tables beside the groups, and their columns.
struct UvfitsTables {
  const char *antennas, *windows, *window_number, *offset, *width, *sources, *source_number, *flags;
  std::vector<const char*> corrections;  ///< tables that mean something but are not applied
  const char* cure;
};

struct UvfitsLayout {
  std::string name;  ///< of the file
  bool idi = false;  ///< FITS-IDI
  UvfitsTables names;
  std::vector<UvfitsSegment> segments;
  std::size_t group_bytes = 0;
  UvfitsNumber array;          ///< the first of a group's array
  double scale = 1, zero = 0;  ///< BSCALE, BZERO of the array
  /// [IF][STOKES] or [IF]: the first of the weights that stand beside the array.
  std::optional<UvfitsNumber> weights;
  std::size_t weights_per_if = 0;
  std::size_t n_values = 0;
  std::int64_t n_groups = 0;
  UvfitsAxis complex, stokes, freq, if_;
  UvfitsParameter u, v, w, date, baseline, antenna1, antenna2, subarray, source, setup, integration;
  std::vector<std::size_t> product_of;  ///< [STOKES index] -> product of the description
  MsDescription description;
  std::map<std::pair<int, int>, int> antenna_of;  ///< (subarray, number) -> antenna
  std::map<int, int> field_of;                    ///< source -> field
  std::map<int, std::size_t> setup_of;            ///< FREQSEL -> setup
  double utc_offset_s = 0;                        ///< to be added to DATE
  std::string reference_date;                     ///< RDATE of the table of antennas, empty: none
  UvfitsFlags flags;
  std::vector<std::pair<std::string, int>> tables;  ///< EXTNAME, EXTVER
  std::vector<std::string> ignored_tables;
};

/// RA and DEC of the axes, in degrees.
struct UvfitsCentre {
  std::optional<double> ra_deg, dec_deg;
};

/// Reads the axes of the groups' array: `length(n)` tells NAXISn and `number` and `text` the other cards of
/// an axis by keyword and number. DataError for axes that are not understood.
struct UvfitsAxisCards {
  std::function<std::size_t(int axis)> length;
  std::function<std::optional<double>(const char* keyword, int axis)> number;
  std::function<std::optional<std::string>(const char* keyword, int axis)> text;
};
UvfitsCentre read_uvfits_axes(UvfitsLayout& layout, const UvfitsAxisCards& cards, int first_axis,
                              int end_axis);
/// The products of the STOKES axis.
void read_uvfits_products(UvfitsLayout& layout);
/// Antennas, windows and sources of the tables; where there is no table of sources, `centre` is the one.
void read_uvfits_tables(UvfitsLayout& layout, const UvfitsCentre& centre);

/// Throws as UvfitsReader.
UvfitsLayout read_uvfits_layout(const std::string& path);
/// The same of FITS-IDI (fits_idi.cpp).
UvfitsLayout read_fits_idi_layout(const std::string& path);
bool is_fits_idi(const std::string& path);

}  // namespace apsyn
