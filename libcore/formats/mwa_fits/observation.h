// SPDX-License-Identifier: GPL-3.0-or-later
// What the metafits of an MWA observation says about the files of its correlator. For
// libcore/formats/mwa_fits only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/units.h"

namespace apsyn::mwa_fits {

inline constexpr double kCoarse_hz = 1.28e6;  ///< receiver channel n is centred on n times that

enum class Correlator { legacy, mwax };

/// What the correlator itself has taken out of the phases (GEODEL of the metafits).
enum class TrackedDelays { none = 0, zenith = 1, pointing = 2, moving = 3 };

struct Observation {
  std::string path;  ///< of the metafits
  std::int64_t obs_id = 0;
  std::string name, creator;
  ArrayLayout layout;                ///< tiles by rising number, flags and cable delays included
  std::vector<int> coarse_channels;  ///< of the receivers, rising
  std::size_t n_fine = 0;            ///< channels of each coarse channel
  double fine_hz = 0;
  double averaging = 1;  ///< channels of the legacy correlator's filterbank in one of the file
  std::int64_t integration_ms = 0;
  SkyDirection phase_centre, pointing;
  std::optional<double> good_time_s;  ///< Unix time from which on data are good
  bool cables_corrected = false;
  TrackedDelays tracked = TrackedDelays::none;

  std::size_t n_tiles() const { return layout.antennas.size(); }
  std::size_t n_baselines() const { return n_tiles() * (n_tiles() + 1) / 2; }
  double integration_s() const { return static_cast<double>(integration_ms) * 1e-3; }
  /// The receiver channel of a legacy file: numbers from 1 rise with the frequency up to channel 128, then
  /// they fall. Absent where the observation has no such file.
  std::optional<int> channel_of_gpubox(int number) const;
  /// Centres of the fine channels of a receiver channel. The middle one (n_fine / 2) of the filterbank is
  /// centred on it.
  std::vector<double> fine_channels_hz(int coarse_channel, Correlator correlator) const;
};

/// FailureError, DataError as for FITS tables; DataError for what an observation cannot be.
Observation read_observation(const std::string& path);

/// The place of each signal in the legacy correlator's order, [tile][X, Y]: outputs of the polyphase
/// filterbanks, 0 to 255. Throws as read_metafits_inputs.
std::vector<std::array<std::size_t, 2>> legacy_places(const Observation& observation);

/// Digital gains of the receivers, [tile][X, Y][coarse channel]: 1 is 64 in the metafits. DataError where the
/// table has none for each coarse channel.
std::vector<std::array<std::vector<double>, 2>> digital_gains(const Observation& observation);

}  // namespace apsyn::mwa_fits
