// SPDX-License-Identifier: GPL-3.0-or-later
// SIGPROC filterbank files (D. R. Lorimer, "SIGPROC: Pulsar Signal Processing Programs", section on file
// formats), as PRESTO, heimdall and dspsr read them: a header of named values between HEADER_START and
// HEADER_END, each name and string with its length as int32 in front, then [time][IF][channel], all
// little-endian. Channels run down from the highest frequency (foff < 0).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/files/output.h"

namespace apsyn {

struct FilterbankHeader {
  std::string source = "unknown";
  std::string raw_file;  ///< what it was made from; readers hold 79 characters
  UtcTime start;         ///< of the first sample's beginning
  double sample_s = 0;
  double first_hz = 0;  ///< centre of the first channel
  double step_hz = 0;   ///< negative
  std::size_t n_chan = 1, n_if = 1;
  unsigned n_bit = 32;  ///< 8: unsigned; 32: float
  std::optional<SkyDirection> direction;
  double azimuth_rad = 0, zenith_angle_rad = 0;  ///< at the start
  std::size_t n_beam = 1, beam = 0;              ///< counted from 0; from 1 in the file
};

/// Degrees, or hours with a turn of 24, packed as (d)ddmmss.s below a turn: -30d43m17.5s is -304317.5.
double packed_sexagesimal(double value, double turn = 360);
std::string format_filterbank_header(const FilterbankHeader& header);

/// Writes to a file (atomic) or to "-".
class FilterbankWriter {
 public:
  FilterbankWriter(const std::string& path, const FilterbankHeader& header, bool overwrite);
  /// Whole samples, [time][IF][channel].
  void write(const void* bytes, std::size_t n_bytes) { out_.write(bytes, n_bytes); }
  void commit() { out_.commit(); }

 private:
  OutputFile out_;
};

}  // namespace apsyn
