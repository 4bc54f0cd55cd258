// SPDX-License-Identifier: GPL-3.0-or-later
// What a look at many visibilities shows: where they lie in the uv plane, how strong they are and how they
// are spread over time, frequency and baseline length.
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libcore/base/density.h"
#include "libcore/visibility/visibility.h"

namespace apsyn {

/// Counts of unflagged samples [v][u] in a square of half side `half_width` wavelengths about the origin.
struct UvCounts {
  double half_width = 0;
  Buffer<std::uint32_t, 2> counts;
};

/// Of the parallel hands of the cross-correlations: log10 of the amplitude, phase in degrees.
struct AmplitudePhase {
  Density log_amplitude, phase_deg;
};

/// One baseline's visibility in one channel against time.
struct Fringe {
  int ant1 = 0, ant2 = 0;
  double length_m = 0;
  std::vector<double> time_s;                            ///< as against_time, mid-integration
  std::vector<std::vector<std::complex<float>>> values;  ///< [product][time], NaN where flagged
};

/// Sums against time and frequency over the cross-correlations, of those `baselines` alone if there are any.
/// Only times that have rows take a bin, however long the pauses between them; when there are too many, bins
/// double their width.
struct Waterfall {
  static constexpr std::size_t kMaxBins = 512;
  bool wanted = false;
  std::vector<std::pair<int, int>> baselines;  ///< ant1 <= ant2
  double bin_s = 1;                            ///< width of a time bin
  std::map<std::int64_t, std::size_t> bins;    ///< floor(x / bin_s), x as against_time -> index in the sums
  std::size_t n_band = 0;                      ///< of equally many channels, about
  Buffer<double, 3> sum_amplitude;             ///< [product][band][index of bin]
  Buffer<std::complex<double>, 3> sum_visibility;
  Buffer<std::uint64_t, 3> n;
  std::size_t band_of(std::size_t chan, std::size_t n_chan) const { return chan * n_band / n_chan; }
};

struct VisibilitySummary {
  std::string telescope, source;
  FluxUnit flux_unit = FluxUnit::jansky;
  double first_time_mjd_s = 0, last_time_mjd_s = 0, interval_s = 0;
  std::vector<double> channel_hz;  ///< all channels of all spectral windows, rising
  double channel_width_hz = 0;     ///< the widest
  std::vector<Product> products;
  std::vector<std::string> antennas;  ///< names, by number
  std::vector<char> antenna_seen;     ///< 1 for antennas with unflagged data
  std::uint64_t n_rows = 0, n_samples = 0, n_flagged = 0, n_auto_rows = 0;
  double longest_wavelengths = 0, longest_m = 0;

  UvCounts uv;
  AmplitudePhase against_time;      ///< x: seconds since first_time_mjd_s less half an interval
  AmplitudePhase against_freq;      ///< x: Hz
  AmplitudePhase against_baseline;  ///< x: wavelengths

  std::vector<Fringe> fringes;  ///< of the baselines that were asked for
  double fringe_hz = 0;         ///< in this channel
  Waterfall waterfall;

  /// Sums over the cross-correlations [product][channel as in channel_hz].
  Buffer<double, 2> sum_amplitude;
  Buffer<std::complex<double>, 2> sum_visibility;
  Buffer<std::uint64_t, 2> n_cross;
  /// Sums of the real part of the autocorrelations [antenna][product][channel].
  Buffer<double, 3> sum_auto;
  Buffer<std::uint64_t, 3> n_auto;
};

}  // namespace apsyn
