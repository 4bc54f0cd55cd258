// SPDX-License-Identifier: GPL-3.0-or-later
// Files of solutions by their suffix or content: apsyn-solutions(5).
//   .h5 .h5parm  H5Parm                                     read, written
//   .bin         AO calibration of mwa-reduce, hyperdrive   read, written
//   .fits .fit   hyperdrive's solutions                     read
//   .fits .fit   A-terms, apsyn-aterms(5)                   written
//   .csv         gains, libcore/array/gains.h               read, written
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/units.h"
#include "libcore/solutions/evaluator.h"
#include "libcore/solutions/solutions.h"

namespace apsyn {

/// What the data know and some files only count: AO and hyperdrive's files say how many intervals, antennas
/// and channels, gains in CSV how many channels.
struct SolutionContext {
  std::vector<std::string> antenna_names;  ///< in the order of the data
  std::vector<double> freq_hz;             ///< channels of the data, rising
  double begin_mjd_s = 0, end_mjd_s = 0;   ///< of the data; equal: not known
};

struct SolutionReadOptions {
  std::string solset;  ///< of H5Parm, as H5ParmSelection
  std::vector<std::string> soltabs;
  std::optional<SolutionContext> context;  ///< needed for .bin, .fits and .csv; UsageError without it
};

/// By content. DataError when it is malformed or no file of solutions; FailureError when it cannot be read.
Solutions read_solutions(const std::string& path, const SolutionReadOptions& options = {});

/// The pixels of A-terms: those of the image that they are for.
struct AtermExportGrid {
  SkyDirection centre;
  double field_rad =
      0;  ///< side of the square; 0: twice the distance of the farthest patch, 1 degree at least
  std::size_t side = 64;
};

struct SolutionWriteOptions {
  bool overwrite = false;
  bool fill = false;                          ///< of H5Parm, as H5ParmOptions
  std::optional<std::size_t> n_chan;          ///< of CSV: channels of the stream that the gains are for
  std::optional<std::size_t> direction;       ///< of CSV and .bin: the patch, for directional solutions
  std::optional<AtermExportGrid> aterm_grid;  ///< of .fits; by default about the field's centre
  unsigned n_threads = 1;                     ///< that convert; they change no byte
};

/// What a file could not say: lines for the user.
struct SolutionWriteReport {
  std::vector<std::string>
      flagged_antennas;  ///< CSV: to be listed with --flag-antennas, since no row means 1
  std::vector<std::string> warnings;
};

/// UsageError for a suffix that is none of these, or solutions that the format cannot hold, with the one that
/// can; FailureError. Call check_output() first, as for every output.
SolutionWriteReport write_solutions(const std::string& path, const Solutions& solutions,
                                    const SolutionWriteOptions& options = {});

/// A DS9 region file: a polygon per patch, the part of the square about `centre` that is nearer to it than to
/// all others (Voronoi), with the patch's name as text. WSClean's -facet-regions reads it.
void write_direction_regions(const std::string& path, const Solutions& solutions, const SkyDirection& centre,
                             double field_rad, bool overwrite);

}  // namespace apsyn
