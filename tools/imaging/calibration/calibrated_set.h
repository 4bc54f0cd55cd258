// SPDX-License-Identifier: GPL-3.0-or-later
// What clean --calibrate knows of its sets beside their visibilities. Several sets are one: antennas of the
// same name share their gains, integrations follow each other in time, windows of the same channels are one
// window. Solutions are then those of the set that joining them would make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libcore/base/units.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/solutions/solutions.h"
#include "libcore/visibility/stokes.h"

namespace apsyn::calibrate {

inline constexpr char kCalibrateOption[] = "--calibrate";  ///< for messages

/// Sets whose data are calibrated while they are imaged, but for their visibilities.
struct CalibratedSet {
  std::string path;  ///< of the first one
  std::vector<Product> products;
  std::vector<SolutionAntenna> antennas;
  /// [station of the visibilities' ImagingInfo] its antenna; empty = station numbers are those of antennas.
  std::vector<std::uint32_t> antenna_of_station;
  std::vector<MsIntegration> integrations;
  std::optional<SkyDirection> field_centre;
  std::vector<MsSpectralWindow> windows;  ///< their selected channels
  std::size_t max_channels() const;       ///< of a window
  std::size_t n_hands() const { return products.size() == 1 ? 1 : 2; }
};

/// Reads the scalars of the rows. UsageError for products that have no gains or differ between sets, and
/// where antennas of one name lie at different places at the same time.
CalibratedSet read_calibrated_set(const std::vector<std::string>& paths, const ImagingOptions& selection);

/// One CalibratedSet of several, as above, in the order in which their visibilities are read.
CalibratedSet join_calibrated_sets(std::span<const CalibratedSet> sets);

/// The integrations of all sets by time; those of the same time are one. The scan of the result changes where
/// a set's own scan changes, and where one set ends before another begins with a scan of another number.
std::vector<MsIntegration> join_integrations(std::span<const CalibratedSet> sets);

}  // namespace apsyn::calibrate
