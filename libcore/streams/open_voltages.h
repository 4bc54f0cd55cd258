// SPDX-License-Identifier: GPL-3.0-or-later
// Opens a voltage stream together with what a command line adds to it: positions, site, flags, gains, range.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/array/followed_gains.h"
#include "libcore/base/view.h"
#include "libcore/streams/timed_gains.h"
#include "libcore/streams/voltage_stream.h"

namespace apsyn {

struct OpenedVoltages {
  VoltageReader reader;  ///< already at first_sample, or a margin before it
  /// One antenna per NANT, in stream order, under the overrides. Without any table the antennas are named
  /// ant000, ant001, ... and stand at the site.
  ArrayLayout layout;
  bool has_positions = false;  ///< false: no table anywhere, the layout's positions mean nothing
  /// [antenna][pol][channel, or what divide_channels() makes of it]; all 1 without --gains. Data are divided
  /// by them; what has none (NaN) is flagged.
  Buffer<std::complex<double>, 3> gains;
  bool has_gains = false;
  std::optional<FollowedGains> followed;  ///< with --gains-follow, of a table
  std::optional<TimedGains> timed;        ///< of solutions
  std::int64_t n_samples = -1;            ///< of the asked-for range as far as there is any; -1 = unknown
  std::int64_t samples_left = -1;         ///< of the asked-for range and its margin; -1 = to the end

  /// Reads like VoltageReader::read, and ends with the range that was asked for.
  bool read(VoltageBlock& block, std::size_t n_time);
  /// Solutions become gains of these channels, which divide the input channels evenly; a table's stay those
  /// of input channels.
  void divide_channels(const std::vector<double>& channel_hz);
  /// Whether `gains` are others than before, since solutions change with time or the file has been replaced
  /// (--gains-follow). `data_s` is how far the data are, for messages, and `at_s` the time of the data that
  /// gains are for, from the first sample of the range on. Another thread may be in read().
  bool renew_gains(double data_s, double at_s);
};

/// `path` may be "-". UsageError when --antennas and --metafits are both given, an override does not fit the
/// stream's NANT, an antenna to flag is unknown or the range lies beyond the stream; otherwise as
/// VoltageReader.
OpenedVoltages open_voltages(const std::string& path, const VoltageSelection& selection);

/// The stream's layout under the overrides (gains and range are not used).
ArrayLayout effective_layout(const VoltageHeader& header, const VoltageSelection& selection,
                             bool& has_positions);

}  // namespace apsyn
