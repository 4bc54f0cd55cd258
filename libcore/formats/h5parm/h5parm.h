// SPDX-License-Identifier: GPL-3.0-or-later
// H5Parm, the HDF5 file of solutions that LoSoTo, DP3 and WSClean share: apsyn-solutions(5).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libcore/solutions/solutions.h"

namespace apsyn {

/// What to take from a file.
struct H5ParmSelection {
  std::string solset;                ///< empty: the only one, or sol000
  std::vector<std::string> soltabs;  ///< names as amplitude000; empty: all that are gains, but for what files
                                     ///< of our own mark as the product of the others
};

/// Whether a file begins as HDF5 does: from its first 8 bytes.
bool is_hdf5(std::string_view first_bytes);

/// Any order of axes; amplitude and phase tables of one number and equal axes become one table. Tables of our
/// own files keep their order; of others, clock comes first, then amplitude and phase, then TEC. NaN,
/// infinite and unweighted values are flagged. DataError for what is malformed, of a kind that is not known
/// here (rotation, rotationmeasure) and asked for, or too large; FailureError when it cannot be read.
Solutions read_h5parm(const std::string& path, const H5ParmSelection& selection = {});

struct H5ParmOptions {
  /// Flagged solutions have the value of the nearest good neighbour and weight 1, for WSClean, where a single
  /// NaN blanks a facet. Otherwise NaN and weight 0.
  bool fill = false;
  bool overwrite = false;
  unsigned n_threads = 1;  ///< that convert; they change no byte
};

/// Appears complete or not at all. FailureError, UsageError as OutputFile.
void write_h5parm(const std::string& path, const Solutions& solutions, const H5ParmOptions& options = {});

}  // namespace apsyn
