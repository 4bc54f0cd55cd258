// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities for imaging out of Measurement Sets and visibility streams.
//
// The image's centre is the phase centre of the first selected field (or the stream's), or the one asked for;
// rows of other phase centres are moved there, uvw and phases (libcore/sky/rephase.h). A stream without
// phase centre is phased to the zenith at every instant: the centre is then the zenith at mid-observation,
// and every integration is moved from its own zenith to it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/visibility/imaging.h"

namespace apsyn {

struct ImagingSelection {
  std::string column = "DATA";
  bool name_other_columns = false;         ///< say when sets have CORRECTED_DATA, which WSClean would take
  std::vector<int> fields{}, spws{};       ///< empty = all
  std::vector<std::string> field_names{};  ///< those of these names, too
  std::int64_t first_interval = 0, n_intervals = -1;
  std::size_t first_channel = 0, n_channels = 0;  ///< per spectral window; 0 = all
  std::string planes{};                           ///< as parse_planes() takes it
  bool correlations = false;  ///< give XX XY YX YY (correlation_planes) whatever `planes` says: for A-terms
  bool products = false;      ///< give the products as they are (product_planes), whatever else is asked for
  std::optional<SkyDirection> centre{};
  unsigned n_threads = 1;  ///< that may work on a block at once
};

/// One or several Measurement Sets (folders), or one visibility stream (a file or "-"). A stream that cannot
/// be read twice is kept in an unnamed temporary file. UsageError when both kinds are mixed or a selection
/// fits nothing.
std::unique_ptr<ImagingSource> open_imaging_source(const std::vector<std::string>& inputs,
                                                   const ImagingSelection& selection);

std::unique_ptr<ImagingSource> open_ms_source(const std::vector<std::string>& paths,
                                              const ImagingSelection& selection);
std::unique_ptr<ImagingSource> open_stream_source(const std::string& path, const ImagingSelection& selection);

}  // namespace apsyn
