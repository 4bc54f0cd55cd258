// SPDX-License-Identifier: GPL-3.0-or-later
// Packets of several sources, each with its place on a common clock, into whole time samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

/// Packets that follow each other without a gap.
struct PacketRun {
  std::int64_t first = 0;  ///< place of the first on the common clock, in packets
  std::size_t n = 0;
  std::size_t lane = 0;  ///< which part of a time sample they carry
};

/// One input, taken apart. Runs come in the order of the recording; their places may go back by less than the
/// interleaver's slack.
class PacketSource {
 public:
  virtual ~PacketSource() = default;
  /// False at the end. The run is valid until the next call.
  virtual bool next(PacketRun& run) = 0;
  /// Decodes packets skip .. skip + n - 1 of the last run into whole time samples that start at `out`; writes
  /// the lane's bytes only.
  virtual void decode(std::size_t skip, std::size_t n, std::uint8_t* out) const = 0;
  /// What the source itself knows: damaged, repeated, skipped bytes, first trouble.
  virtual StreamReport report() const = 0;
};

/// Part of a time sample that one kind of packet fills. When one is missing, the blank ranges are cleared:
/// all bytes of the antennas that the lane has a part of.
struct Lane {
  using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;
  std::size_t source = 0;
  Ranges blank;  ///< (first byte, bytes) within a time sample
};

struct InterleavePlan {
  std::size_t time_bytes = 0;      ///< of one time sample of all lanes
  std::size_t packet_samples = 1;  ///< time samples of a packet
  std::size_t missing_samples =
      1;                  ///< spans that are missing as a whole; divides or is a multiple of the former
  std::size_t slack = 0;  ///< packets by which a source's runs may be out of order
  std::vector<Lane> lanes;
  std::int64_t first = 0;  ///< place of the output's first packet
};

class Interleaver {
 public:
  /// Memory is a few MiB, or what `slack` needs.
  Interleaver(std::vector<std::unique_ptr<PacketSource>> sources, InterleavePlan plan);
  ~Interleaver();
  /// Replaces `samples` by the next whole time samples; false at the end.
  bool read(std::vector<std::uint8_t>& samples);
  /// One for each source; complete after read() returned false.
  std::vector<StreamReport> reports() const;
  std::uint64_t memory_bytes() const;

 private:
  struct Input {
    std::unique_ptr<PacketSource> source;
    PacketRun run;
    std::size_t taken = 0;  ///< packets of the run that are placed
    bool ended = false;
    std::uint64_t intact = 0, late = 0, blanked = 0;
  };
  void fill(Input& input);
  void place(Input& input);
  void blank_missing(std::size_t n_packets);

  InterleavePlan plan_;
  std::vector<Input> inputs_;
  std::size_t block_ = 1, capacity_ = 1;  ///< packets of a read, and held
  std::int64_t base_ = 0, end_ = 0;       ///< places: of the first packet held, behind the last one seen
  std::vector<std::uint8_t> window_;      ///< [packet][time sample within it][time_bytes]
  std::vector<std::vector<std::uint8_t>> present_;  ///< [lane][packet]
  std::vector<const Lane::Ranges*> groups_;         ///< what lanes of the same antennas blank together
  std::vector<std::size_t> group_of_;               ///< [lane]
};

/// A capture whose constructor describes the stream and plans its places; the interleaver does the rest.
class InterleavedCapture : public Capture {
 public:
  const VoltageHeader& header() const override { return header_; }
  bool read(std::vector<std::uint8_t>& samples) override { return interleaver_->read(samples); }
  std::vector<StreamReport> reports() const override { return interleaver_->reports(); }
  std::optional<std::uint64_t> expected_samples() const override { return std::nullopt; }
  std::uint64_t memory_bytes() const override { return memory_; }

 protected:
  VoltageHeader header_;
  std::unique_ptr<Interleaver> interleaver_;
  std::uint64_t memory_ = 0;
};

/// A pause in a recording: short ones are filled with missing data, long ones are the user's to decide about.
struct Gap {
  std::string input, place;  ///< place: "frame 12 at byte 3456", where the recording goes on
  std::uint64_t byte = 0;    ///< of that place
  double seconds = 0;        ///< from where it stopped; negative: it goes on at an earlier time
  double max_s = 0;          ///< what is filled
};

/// DataError that tells both cures: to fill the pause, or to take the parts by themselves.
[[noreturn]] void throw_gap(const Gap& gap);

}  // namespace apsyn
