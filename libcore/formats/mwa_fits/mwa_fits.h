// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities of the MWA's correlators, as their FITS files and the metafits of the observation have them:
// the legacy correlator (gpubox files) and MWAX. Signs, orders and units of the result are those of
// apsyn-conventions(7).
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"

namespace apsyn {

/// What is taken out of the data, and what is flagged.
struct MwaFitsOptions {
  bool cable_delays = true, geometric_delays = true, digital_gains = true;
  std::optional<SkyDirection> phase_centre;  ///< else that of the metafits
  bool pointing_centre = false;              ///< that is, RA and DEC instead of RAPHASE and DECPHASE
  bool flag_tiles = true;                    ///< those that the metafits flags
  double flag_edge_hz = 80e3;                ///< at both ends of each coarse channel
  std::optional<bool> flag_centre;  ///< the middle of each coarse channel; else for the legacy correlator
  double flag_begin_s = -1;         ///< after the first integration's beginning; below 0: until GOODTIME

  bool operator==(const MwaFitsOptions&) const = default;
};

/// Rows of one time and one spectral window.
struct MwaFitsRows {
  int window = 0;
  double time_mjd_s = 0, interval_s = 0;  ///< the middle
  std::vector<Baseline> baselines;
  Buffer<double, 2> uvw_m;              ///< [row][3], r_1 - r_2
  Buffer<std::complex<float>, 3> data;  ///< [row][chan][XX XY YX YY]
  Buffer<float, 3> weight;              ///< the same; 0 = flagged. MWAX: the valid share of the samples
};

class MwaFitsReader {
 public:
  /// FailureError when a file cannot be opened; DataError, with the file and the value, when one is malformed
  /// or they do not fit together; UsageError for a phase centre that the correlator has not tracked.
  MwaFitsReader(const std::string& metafits, const std::vector<std::string>& files,
                const MwaFitsOptions& options);
  ~MwaFitsReader();
  /// Tiles, one field, and windows: one where all coarse channels are adjacent, otherwise one for each.
  const MsDescription& description() const;
  std::size_t n_baselines() const;
  std::size_t n_coarse_channels() const;
  std::int64_t n_times() const;  ///< of which there are data
  std::int64_t n_rows() const;
  /// Coarse channels of times for which no file has data though it has others: flagged, or no rows.
  std::int64_t n_missing() const;
  bool is_mwax() const;
  std::uint64_t memory_bytes(std::size_t max_rows) const;
  /// Up to max_rows rows, time by time, window by window; false at the end.
  bool read(MwaFitsRows& rows, std::size_t max_rows, unsigned n_threads);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether a file is the metafits of an observation; false where it cannot be read.
bool is_mwa_metafits(const std::string& path);
/// Whether a file has the name of a correlator's.
bool is_mwa_correlator_file(const std::string& path);

}  // namespace apsyn
