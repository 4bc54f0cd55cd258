// SPDX-License-Identifier: GPL-3.0-or-later
// Solutions of mwa_hyperdrive: an image [timeblock][tile][chanblock][8] in the HDU SOLUTIONS, real and
// imaginary parts of XX XY YX YY, and tables beside it that may be missing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace apsyn {

struct HyperdriveSolutions {
  std::size_t n_time = 0, n_tile = 0, n_chan = 0;
  std::vector<double> values;  ///< [time][tile][chan][8]: what multiplies data, NaN where there is none
  std::vector<std::string> tile_names;  ///< [tile]; empty where the file has none
  std::vector<double> freq_hz;          ///< [chan]; empty likewise
};

/// Whether a FITS file has an HDU SOLUTIONS.
bool is_hyperdrive(const std::string& path);

/// DataError when it is malformed; FailureError when it cannot be read.
HyperdriveSolutions read_hyperdrive(const std::string& path);

}  // namespace apsyn
