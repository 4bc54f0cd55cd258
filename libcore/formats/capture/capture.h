// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings in other formats as voltage streams. One reader for each format behind a small interface;
// ingest(1) describes the formats.
//
// A reader takes its inputs apart into packets that carry a place on a common clock, decodes them into the
// samples of one stream, and leaves zeros where packets are lost or damaged. A zero span of MISSING_NSAMP
// samples of an antenna marks missing data (apsyn-voltage(5)): where a packet is shorter than such a span,
// the whole span is blanked.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/voltage/voltage.h"

namespace apsyn {

/// What a command line says about a capture. NaN, 0, empty: not given.
struct CaptureFacts {
  double freq_hz = NAN, bandwidth_hz = NAN, sample_s = NAN, scale = NAN;
  std::optional<UtcTime> start;  ///< of the output's first sample
  std::string telescope, source, pol_basis;
  std::string encoding;                          ///< as the key ENCODING
  bool conjugate = false, no_conjugate = false;  ///< SIDEBAND_CONJ 1, or 0 whatever the format means
  std::size_t n_ant = 0, n_chan = 0, n_pol = 0;
  std::size_t missing_samples = 0;
  double max_gap_s = 600;           ///< longer pauses are no part of a recording
  unsigned tuning = 0;              ///< of a DRX recording
  std::int64_t first_channel = -1;  ///< in the recorder's numbers; -1: its first
  /// Captured inputs in the order of the output's [antenna][pol]; empty: as captured.
  std::vector<std::size_t> input_order;
  VoltageSelection layout;  ///< antennas, metafits, site and flags
};

/// Frames of a marker word and 16 data words, one of each input of an MWA-32T receiver.
struct Mwa32tOptions {
  std::string marker;                ///< empty: all bits count
  unsigned word_bits = 16;           /// 16: 5+5 bits; 8: 4+4 bits
  int real_bit = -1, imag_bit = -1;  ///< lowest bits; -1: imaginary 0, real just above it
  ByteOrder byte_order = ByteOrder::little;
  unsigned output_bits = 8;  ///< 8; 5 = PACK5X5; 4 = rounded
};

/// Samples of the MWA's legacy voltage capture, 4+4 bits.
struct MwaVcsOptions {
  int real_bit = -1, imag_bit = -1;  ///< lowest bits, 0 and 4 or 4 and 0; -1: 0 and 4
};

/// Samples of 2 and 4 bits, of which a byte holds several.
struct GuppiOptions {
  std::optional<ByteOrder> endian;  ///< big: the first component in the highest bits; absent: big
};

/// Samples without any header.
struct RawOptions {
  std::string order = "TFAP";
  unsigned n_bit = 0, n_dim = 2;
  std::size_t block_samples = 1;
  ByteOrder byte_order = ByteOrder::little;
  std::uint64_t skip_bytes = 0;
};

struct CaptureRequest {
  std::string format;
  std::vector<std::string> inputs;
  CaptureFacts facts;
  Mwa32tOptions mwa32t;
  MwaVcsOptions mwa_vcs;
  GuppiOptions guppi;
  RawOptions raw;
};

/// What became of one stream. Frames are the format's own; those of the output's span that are neither intact
/// nor damaged are lost.
struct StreamReport {
  std::string name;
  std::uint64_t intact = 0, damaged = 0, lost = 0;
  std::uint64_t repeated = 0;  ///< or too late; dropped
  std::uint64_t skipped_bytes = 0;
  std::uint64_t blanked = 0;                         ///< intact, but in a span with missing ones
  std::uint64_t lost_packets = 0;                    ///< parts of intact frames that the recorder missed
  std::optional<std::uint64_t> first_trouble;        ///< byte offset of the first damage or gap
  std::optional<std::uint64_t> first_trouble_frame;  ///< its number from 0, where frames have one
  bool troubled() const { return damaged + lost + repeated + skipped_bytes + lost_packets > 0; }
};

class Capture {
 public:
  virtual ~Capture() = default;
  /// Complete but for what this run adds to its history.
  virtual const VoltageHeader& header() const = 0;
  /// Replaces `samples` by the next whole units of the stream; false at the end.
  virtual bool read(std::vector<std::uint8_t>& samples) = 0;
  /// Final after read() returned false.
  virtual std::vector<StreamReport> reports() const = 0;
  /// Samples in the output when they are known beforehand, for progress only.
  virtual std::optional<std::uint64_t> expected_samples() const = 0;
  virtual std::uint64_t memory_bytes() const = 0;
};

/// Names of the formats, for help and checks.
std::vector<std::string> capture_formats();

/// Opens the inputs and reads as far as the header needs. UsageError names the option of a fact that the
/// capture lacks or that contradicts it; DataError when an input is not of the format; FailureError.
std::unique_ptr<Capture> open_capture(const CaptureRequest& request);

/// [captured input] -> place in the output's [antenna][pol]; `order` as CaptureFacts::input_order. UsageError
/// unless it names each of the inputs once.
std::vector<std::size_t> input_places(const std::vector<std::size_t>& order, std::size_t n_inputs);

/// The options' facts in a header that holds what the capture told. A fact that neither has is a UsageError
/// that names the option. `header` must have its counts of antennas, channels and polarisations.
void apply_facts(VoltageHeader& header, const CaptureFacts& facts);

}  // namespace apsyn
