// SPDX-License-Identifier: GPL-3.0-or-later
// One file of the correlator: integrations of a coarse channel, an HDU each, which for MWAX is followed by
// one of weights. Tiles may be compressed. For libcore/formats/mwa_fits only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/formats/mwa_fits/observation.h"

namespace apsyn::mwa_fits {

/// An image of n_rows rows of n_columns numbers.
struct ImageUnit {
  int number = 0;  ///< from 1, as CFITSIO counts
  std::uint64_t data_byte = 0, data_bytes = 0;
  std::size_t n_rows = 0, n_columns = 0;
  int bitpix = -32;
  double scale = 1, zero = 0;
  bool compressed = false;
  std::int64_t time_ms = 0;  ///< Unix time of the integration's beginning
};

struct Integration {
  ImageUnit visibilities;
  std::optional<ImageUnit> weights;
};

struct CorrelatorFile {
  std::string path;
  Correlator correlator = Correlator::legacy;
  int coarse_channel = 0;  ///< of the receivers
  std::vector<Integration> integrations;
};

/// Whether a file's name is that of a correlator file: ..._gpuboxNN_MM.fits, ..._gpuboxNN.fits or
/// ..._chNNN_MMM.fits.
bool is_correlator_name(const std::string& path);

/// FailureError when it cannot be opened; DataError with the HDU and the value for what is malformed, or is
/// not of this observation.
CorrelatorFile survey_file(const std::string& path, const Observation& observation);

/// Rows of an image as numbers: BSCALE and BZERO are applied. `values` takes n_rows * n_columns. Compressed
/// images are unpacked by CFITSIO in a process of its own, as a whole. DataError when that fails.
void read_rows(const CorrelatorFile& file, const ImageUnit& image, std::size_t first_row, std::size_t n_rows,
               std::vector<float>& values);

}  // namespace apsyn::mwa_fits
