// SPDX-License-Identifier: GPL-3.0-or-later
// What a UVFITS file says before its groups. For libcore/formats/uvfits only.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libcore/formats/uvfits/uvfits.h"

namespace apsyn {

/// An axis of a group's array; stride in values.
struct UvfitsAxis {
  std::size_t length = 1, stride = 0;
  double value = 0, step = 0, pixel = 1;
  double at(std::size_t index) const { return value + (static_cast<double>(index + 1) - pixel) * step; }
};

/// A parameter: the sum of its parts, zero + scale * stored.
struct UvfitsParameter {
  struct Part {
    std::size_t index = 0;
    double scale = 1, zero = 0;
  };
  std::vector<Part> parts;
  bool there() const { return !parts.empty(); }
};

struct UvfitsLayout {
  std::string name;  ///< of the file
  std::uint64_t data_offset = 0;
  int bitpix = -32;
  double scale = 1, zero = 0;  ///< BSCALE, BZERO of the array
  std::size_t n_parameters = 0, n_values = 0;
  std::int64_t n_groups = 0;
  UvfitsAxis complex, stokes, freq, if_;
  UvfitsParameter u, v, w, date, baseline, antenna1, antenna2, subarray, source, setup, integration;
  std::vector<std::size_t> product_of;  ///< [STOKES index] -> product of the description
  MsDescription description;
  std::map<std::pair<int, int>, int> antenna_of;    ///< (subarray, number) -> antenna
  std::map<int, int> field_of;                      ///< source -> field
  std::map<int, std::size_t> setup_of;              ///< FREQSEL -> setup
  double utc_offset_s = 0;                          ///< to be added to DATE
  std::vector<std::pair<std::string, int>> tables;  ///< EXTNAME, EXTVER
  std::vector<std::string> ignored_tables;
};

/// Throws as UvfitsReader.
UvfitsLayout read_uvfits_layout(const std::string& path);

}  // namespace apsyn
