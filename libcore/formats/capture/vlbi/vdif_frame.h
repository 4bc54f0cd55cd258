// SPDX-License-Identifier: GPL-3.0-or-later
// Headers and samples of VDIF frames (VDIF specification 1.1.1): words of 32 bits, little-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libcore/base/time.h"

namespace apsyn {

struct VdifHeader {
  bool invalid = false, legacy = false, complex = false;
  std::uint32_t seconds = 0, epoch = 0, frame = 0, thread = 0, station = 0;
  std::size_t n_chan = 1, frame_bytes = 0;
  unsigned n_bit = 2;                  ///< of a component
  bool twos_complement = false;        ///< not told by the header; the specification has offset binary
  std::optional<double> bandwidth_hz;  ///< of a channel, from extended user data 1 and 3

  std::size_t header_bytes() const { return legacy ? 16 : 32; }
  /// Time samples of all channels in the frame; 0 when the sizes do not go together.
  std::size_t n_samples() const;
  /// What all frames of a recording have in common.
  bool same_kind(const VdifHeader& other) const;
  UtcTime epoch_start() const;  ///< seconds count from here: half a year after 2000-01-01 for each epoch
  std::string station_name() const;
};

/// UTC so many seconds after the epoch, leap seconds among them.
UtcTime vdif_time(const UtcTime& epoch, std::uint32_t seconds);

/// `bytes` holds 32. Any 32 bytes are a header; sizes may be senseless.
VdifHeader parse_vdif_header(const std::uint8_t* bytes);

/// Components of a frame as samples of a voltage stream: 1 bit -> -1 1; 2 bits -> -10 -3 3 10, in units of a
/// third of the lower level (their ratio is the optimum 3.336 within 0.1 %); 4 and 8 bits as integers; all
/// int8. 16 bits become little-endian two's complement. Writes whole channels, n_samples() of them, `stride`
/// bytes apart.
void decode_vdif(const VdifHeader& header, const std::uint8_t* payload, std::uint8_t* out,
                 std::size_t stride);

}  // namespace apsyn
