// SPDX-License-Identifier: GPL-3.0-or-later
// Voltage streams: PSRDADA header and samples. The layout is described in apsyn-voltage(5).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"

namespace apsyn {

enum class SampleEncoding { twos_complement, offset_binary, floating, pack5x5 };
enum class ByteOrder { little, big };

struct VoltageHeader {
  std::string telescope = "unknown", instrument = "apsyn", source = "unknown";
  UtcTime start;            ///< of sample 0 of this stream (UTC_START, PICOSECONDS and OBS_OFFSET)
  double freq_hz = 0;       ///< band centre
  double bandwidth_hz = 0;  ///< negative: channels descend
  double sample_s = 0;      ///< per channel sample
  unsigned n_bit = 8;       ///< per component: 4, 8, 16 or 32; 5 with pack5x5, two of them in 16 bits
  unsigned n_dim = 2;       ///< 1 real, 2 complex
  std::size_t n_chan = 1, n_ant = 1, n_pol = 1;
  std::string order = "TFAP";     ///< slowest first
  std::size_t block_samples = 1;  ///< NSBLK
  SampleEncoding encoding = SampleEncoding::twos_complement;
  ByteOrder byte_order = ByteOrder::little;  ///< ENDIAN
  double scale = 1;                          ///< SCALE
  FluxUnit flux_unit = FluxUnit::adu;        ///< FLUX_UNIT: of a sample times SCALE, squared
  double scale_gain =
      1;  ///< SCALE_GAIN: the part of an amplitude that quantising leaves, which SCALE makes up for
  bool sideband_conj = false;  ///< the samples are conjugated; readers undo it
  std::string pol_basis = "XY";
  std::size_t missing_samples = 128;       ///< MISSING_NSAMP
  std::optional<std::uint64_t> file_size;  ///< payload bytes; absent when FILE_SIZE is 0 or missing
  bool trailer = false;                    ///< TRAILER 1
  /// No TRAILER key: other software wrote it, FILE_SIZE may be what was asked for and not what was recorded.
  bool foreign = false;
  std::uint64_t resolution_bytes = 0;  ///< RESOLUTION; 0 = not told. Written as unit_bytes() when 0
  ArrayLayout layout;                  ///< from the inline table; empty antennas when absent
  std::optional<SkyDirection> phase_centre;
  std::string tracking;
  std::vector<std::string> history;
  std::vector<std::pair<std::string, std::string>> unknown;  ///< other keys, verbatim, in order

  /// Centre of channel `chan`, Hz: FREQ - BW/2 + (chan + 1/2) BW / NCHAN. Real input (NDIM 1): one channel =
  /// the band.
  double channel_freq_hz(std::size_t chan) const;
  /// Bits of one time sample of all channels, antennas and polarisations.
  std::size_t bits_per_time() const {
    return (encoding == SampleEncoding::pack5x5 ? 16 : n_bit * n_dim) * n_chan * n_ant * n_pol;
  }
  /// The smallest run of samples that stands alone: a heap (NSBLK) when T is not the slowest axis, otherwise
  /// what fills whole bytes.
  std::size_t unit_samples() const;
  std::size_t unit_bytes() const { return unit_samples() * bits_per_time() / 8; }
  /// Whole where only the rounding of sample_s keeps it from that, as readers that take an integer want it.
  double bytes_per_second() const {
    const double rate = static_cast<double>(bits_per_time()) / 8 / sample_s, whole = std::round(rate);
    return std::abs(rate - whole) < 1e-14 * rate ? whole : rate;
  }
};

/// What a command line adds to a stream; empty text = not given.
struct VoltageSelection {
  std::string antennas, metafits;  ///< files that override the inline antenna table
  std::string site;                ///< LAT,LON,ALT
  std::string flag_antennas;       ///< names or indices
  std::string gains;               ///< file
  bool gains_follow = false;       ///< it may be replaced meanwhile
  std::int64_t first_sample = 0;
  std::int64_t n_samples = -1;  ///< -1 = to the end
  unsigned n_threads = 1;       ///< that read and decode
  bool keep_4bit = false;       ///< VoltageReader::keep_4bit
  /// Samples to read besides, on either side of the range and as far as there are any: what filters and
  /// delays reach for. Empty = none.
  std::function<std::int64_t(const VoltageHeader&, const ArrayLayout&)> margin;
};

/// DataError naming the missing or offending key, or an order, NBIT, NDIM and ENCODING that do not go
/// together. `bytes` is the whole header (HDR_SIZE bytes). MJD_START and DADA_VERSION are dropped.
VoltageHeader parse_voltage_header(std::string_view bytes, const std::string& source);
/// DataError when BW, TSAMP, NCHAN and NDIM contradict each other: a channel of width W takes W complex or 2
/// W real samples a second, and up to twice as many where channels overlap. parse_voltage_header() leaves
/// this to who reads the samples, so that the header of a recording that contradicts itself can still be
/// looked at.
void check_sample_rate(const VoltageHeader& header, const std::string& source);
/// A header of a multiple of 4096 bytes that parses to the same values; its size does not depend on
/// file_size. `start` is written as UTC_START and PICOSECONDS with OBS_OFFSET 0, and again as MJD_START.
std::string format_voltage_header(const VoltageHeader& header);

/// A gulp in canonical order, either integer (n_bit <= 16 is decoded to int8 when n_bit <= 8, else float) or
/// float.
struct VoltageBlock {
  std::int64_t first_sample = 0;
  std::size_t n_time = 0;
  bool integer = true;
  bool four_bit = false;               ///< integers that are still packed: VoltageReader::keep_4bit
  Buffer<std::int8_t, 5> samples_i8;   ///< [time][chan][ant][pol][re, im] when integer and not four_bit
  Buffer<std::uint8_t, 4> samples_i4;  ///< [time][chan][ant][pol] when four_bit: re in bits 7..4, im in 3..0
  Buffer<float, 5>
      samples_f32;  ///< the same axes otherwise; NaN and Inf already replaced by 0 and marked missing
  /// [time / missing_samples, aligned to the stream's sample 0][ant]: 1 = valid, 0 = missing. The first row
  /// covers the aligned span that holds first_sample.
  Buffer<std::uint8_t, 2> valid;
  std::size_t first_valid_row_offset = 0;  ///< first_sample mod missing_samples
  std::size_t missing_samples = 128;       ///< samples per row of `valid`
  /// Floating input only: 1 where a sample was not finite, [time][chan][ant]; empty when all were finite.
  Buffer<std::uint8_t, 3> not_finite;

  bool is_valid(std::size_t time, std::size_t ant) const {
    return valid((first_valid_row_offset + time) / missing_samples, ant) != 0;
  }
};

}  // namespace apsyn
