// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of transform.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/cli/tool.h"
#include "libcore/formats/mwa_fits/mwa_fits.h"

namespace apsyn::transform {

enum class OutputKind { measurement_set, stream, uvh5, uvfits };

struct Options {
  std::vector<std::string> inputs;
  ImagingOptions selection;
  bool column_given = false;
  std::string to;                   ///< ms, vis, uvh5, uvfits or empty: by the output's name
  std::string antennas, baselines;  ///< lists as given, empty: all
  bool no_autos = false;
  double min_time_mjd_s = -std::numeric_limits<double>::infinity();
  double max_time_mjd_s = std::numeric_limits<double>::infinity();
  double min_uvw_m = 0, max_uvw_m = std::numeric_limits<double>::infinity();
  std::optional<SkyDirection> centre;  ///< --phase-centre
  double average_time_s = 0;           ///< 0: not at all
  std::size_t average_channels = 1;
  double bda_loss = 0;        ///< 0: bins of average_time_s for all baselines
  double bda_radius_rad = 0;  ///< where no more than bda_loss is lost
  std::string metafits;       ///< empty: among the inputs, where they are files of the MWA's correlators
  MwaFitsOptions mwa;

  bool selects_uvw() const { return min_uvw_m > 0 || max_uvw_m < std::numeric_limits<double>::infinity(); }
};

/// The longest interval of --bda where --average-time does not say.
inline constexpr double kLongestBda_s = 60;

void declare(Tool& tool, Options& options);
/// What the parser of the command line leaves to do.
void check_options(const Tool& tool, Options& options);
OutputKind output_kind(const Tool& tool, const Options& options);

/// Which pairs of antennas are wanted, by their indices into the layout, autocorrelations included.
/// UsageError for antennas that the layout lacks.
std::vector<std::vector<bool>> wanted_pairs(const Options& options, const ArrayLayout& layout);
/// The antennas of --antennas, rising; all without the option.
std::vector<int> wanted_antennas(const Options& options, const ArrayLayout& layout);

}  // namespace apsyn::transform
