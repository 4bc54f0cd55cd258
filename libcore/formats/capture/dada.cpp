// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/dada.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/files/input.h"
#include "libcore/streams/stream_payload.h"

namespace apsyn {
namespace {

constexpr std::string_view kOverlap = "OBS_OVERLAP";
constexpr std::size_t kDadaBlockBytes = 4u << 20;
constexpr std::size_t kMaxSpanBytes = std::size_t{4} << 30;

/// One file of the recording, ready to be read.
struct Piece {
  std::string name;
  VoltageHeader header;
  std::unique_ptr<StreamPayload> payload;

  /// `size`: its bytes of data, where these have been looked at already.
  Piece(const std::string& path, std::optional<std::uint64_t> size) {
    auto source = std::make_unique<ByteSource>(path);
    name = source->name();
    header = parse_voltage_header(read_stream_header(*source), name);
    if (size && header.foreign) header.file_size = size;
    payload = std::make_unique<StreamPayload>(path, std::move(source),
                                              PayloadRules{header.file_size, header.trailer, header.foreign,
                                                           header.resolution_bytes, header.unit_bytes()});
  }
};

/// The key in which a piece differs from the first one; empty when its samples go on with those.
std::string difference(const VoltageHeader& a, const VoltageHeader& b) {
  if (a.freq_hz != b.freq_hz) return "FREQ";
  if (a.bandwidth_hz != b.bandwidth_hz) return "BW";
  if (a.sample_s != b.sample_s) return "TSAMP";
  if (a.n_bit != b.n_bit) return "NBIT";
  if (a.n_dim != b.n_dim) return "NDIM";
  if (a.n_pol != b.n_pol) return "NPOL";
  if (a.n_chan != b.n_chan) return "NCHAN";
  if (a.n_ant != b.n_ant) return "NANT";
  if (a.order != b.order) return "ORDER";
  if (a.block_samples != b.block_samples) return "NSBLK";
  if (a.encoding != b.encoding) return "ENCODING";
  if (a.byte_order != b.byte_order) return "ENDIAN";
  if (a.scale != b.scale) return "SCALE";
  if (a.flux_unit != b.flux_unit) return "FLUX_UNIT";
  if (a.sideband_conj != b.sideband_conj) return "SIDEBAND_CONJ";
  return a.pol_basis != b.pol_basis ? "POL_BASIS" : "";
}

/// The bytes of one component that is zero: what missing samples consist of.
std::vector<std::uint8_t> zero_bytes(const VoltageHeader& h) {
  if (h.encoding != SampleEncoding::offset_binary) return {0};
  if (h.n_bit == 4) return {0x88};
  std::vector<std::uint8_t> zero(h.n_bit / 8, 0);
  (h.byte_order == ByteOrder::little ? zero.back() : zero.front()) = 0x80;
  return zero;
}

/// OBS_OVERLAP: bytes at its beginning that the piece before it has, too; 0 when it is no number.
double repeated_bytes(const VoltageHeader& h) {
  for (const auto& [key, value] : h.unknown)
    if (key == kOverlap) return std::max(0.0, finite_number(value).value_or(0));
  return 0;
}

class DadaCapture final : public Capture {
 public:
  explicit DadaCapture(const CaptureRequest& request)
      : inputs_(request.inputs), max_gap_s_(request.facts.max_gap_s) {
    // a pipe must not be opened twice
    const bool files = std::all_of(inputs_.begin(), inputs_.end(), [](const std::string& input) {
      std::error_code error;
      return std::filesystem::is_regular_file(input, error);
    });
    bool may_pause = !files && inputs_.size() > 1;
    if (files) {
      while (open_next()) {
        may_pause |= std::exchange(pause_bytes_, 0) > 0;
        sizes_.push_back(*piece_->payload->size());
        piece_bytes_ = sizes_.back() - std::min(sizes_.back(), overlap_bytes_);
      }
      expected_ = place_;
      next_ = place_ = 0;
    }
    open_next();
    report_.name = inputs_.size() == 1 ? piece_->name : inputs_[0] + " ...";
    header_ = first_;
    header_.file_size.reset();
    header_.trailer = header_.foreign = false;
    header_.resolution_bytes = 0;
    std::erase_if(header_.unknown, [](const auto& key) { return key.first == kOverlap; });
    if (request.facts.missing_samples > 0) header_.missing_samples = request.facts.missing_samples;
    apply_facts(header_, request.facts);
    zero_ = zero_bytes(first_);
    span_bytes_ = may_pause ? span_bytes() : first_.unit_bytes();
  }
  const VoltageHeader& header() const override { return header_; }
  bool read(std::vector<std::uint8_t>& samples) override {
    // whole spans, so that what is missing reaches into no other block
    const std::size_t wanted = std::max<std::size_t>(1, kDadaBlockBytes / span_bytes_) * span_bytes_;
    samples.clear();
    std::vector<Range> missing;
    // bit by bit, so that heaps of which little is there take little memory
    while (piece_ && samples.size() < wanted) {
      const std::size_t got = samples.size(), room = std::min(wanted - got, kDadaBlockBytes);
      if (pause_bytes_ > 0) {
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(room, pause_bytes_));
        samples.resize(got + n);
        missing.push_back({got, got + n});
        report_.lost += samples_of(pause_bytes_) - samples_of(pause_bytes_ - n);
        pause_bytes_ -= n;
        continue;
      }
      samples.resize(got + room);
      samples.resize(got + piece_->payload->read(samples.data() + got, room));
      piece_bytes_ += samples.size() - got;
      report_.intact += samples_of(piece_bytes_) - samples_of(piece_bytes_ - (samples.size() - got));
      if (samples.size() < got + room) open_next();
    }
    blank(samples, missing);
    return !samples.empty();
  }
  std::vector<StreamReport> reports() const override { return {report_}; }
  std::optional<std::uint64_t> expected_samples() const override { return expected_; }
  std::uint64_t memory_bytes() const override { return 5 * (kDadaBlockBytes + span_bytes_); }

 private:
  struct Range {
    std::size_t from = 0, to = 0;
  };
  std::uint64_t samples_of(std::uint64_t n_bytes) const {
    return n_bytes / first_.unit_bytes() * first_.unit_samples();
  }
  /// What is missing together: MISSING_NSAMP samples, in whole units.
  std::size_t span_bytes() const {
    const std::size_t unit = first_.unit_samples(), together = header_.missing_samples;
    std::size_t n_units = 0, n_bytes = 0;
    n_units = together / std::gcd(unit, together);
    if (__builtin_mul_overflow(n_units, first_.unit_bytes(), &n_bytes) || n_bytes > kMaxSpanBytes)
      throw UsageError(
          "--missing-block {}: and heaps of {} samples have no common multiple below {}: give a divisor or a "
          "multiple of the latter",
          together, unit, format_bytes(double(kMaxSpanBytes)));
    return n_bytes;
  }
  /// Zeros in all spans of the block that pauses reach into.
  void blank(std::vector<std::uint8_t>& samples, const std::vector<Range>& missing) {
    std::size_t done = 0, n_lost = 0, n_blank = 0;
    for (const Range& range : missing) {
      const std::size_t from = std::max(done, range.from / span_bytes_ * span_bytes_);
      done = std::min(samples.size(), (range.to + span_bytes_ - 1) / span_bytes_ * span_bytes_);
      for (std::size_t at = from; at < done; at += zero_.size())
        std::copy(zero_.begin(), zero_.end(), samples.begin() + static_cast<std::ptrdiff_t>(at));
      n_lost += range.to - range.from;
      n_blank += done - std::min(done, from);
    }
    report_.blanked += samples_of(n_blank - n_lost);
  }
  /// Whether there is another piece, and how long the pause before it lasts, or how much it repeats, which is
  /// skipped; DataError when it does not belong there.
  bool open_next() {
    piece_.reset();
    overlap_bytes_ = 0;
    place_ += samples_of(std::exchange(piece_bytes_, 0));
    if (next_ == inputs_.size()) return false;
    const bool seen = next_ < sizes_.size();
    piece_ = std::make_unique<Piece>(inputs_[next_], seen ? std::optional(sizes_[next_]) : std::nullopt);
    const VoltageHeader& h = piece_->header;
    if (next_++ == 0) {
      first_ = h;
      return true;
    }
    if (const std::string key = difference(first_, h); !key.empty())
      throw DataError("{}: {} is another than in {}: it is no piece of that recording", piece_->name, key,
                      inputs_[0]);
    const std::int64_t pause = pause_before(h);
    if (pause > 0 && !seen)
      log_warning("{}: begins {} after {} ended: {} samples are missing", piece_->name,
                  format_duration(static_cast<double>(pause) * h.sample_s), inputs_[next_ - 2], pause);
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(std::abs(pause)) / first_.unit_samples() * first_.unit_bytes();
    if (pause < 0) {
      piece_->payload->skip(overlap_bytes_ = bytes);
    } else {
      place_ += static_cast<std::uint64_t>(pause);
      pause_bytes_ = bytes;
    }
    return true;
  }
  /// Samples between the end of the last piece and the start of this one; negative: which both have.
  std::int64_t pause_before(const VoltageHeader& h) const {
    const UtcTime end = sample_time(first_.start, static_cast<std::int64_t>(place_), first_.sample_s);
    const double pause_s = seconds_between(end, h.start);
    const auto contradiction = [&](const std::string& cure) {
      return DataError("{}: begins at {}, {} {} {} ended (UTC_START, OBS_OFFSET): {}", piece_->name,
                       format_fits_utc(h.start, 9), format_duration(std::abs(pause_s)),
                       pause_s > 0 ? "after" : "before", inputs_[next_ - 2], cure);
    };
    const double repeated_s = repeated_bytes(h) / h.bytes_per_second();
    if (pause_s < -repeated_s - 0.5 * h.sample_s)
      throw contradiction("give the pieces in their order (OBS_OVERLAP tells of repeated bytes)");
    if (pause_s > std::max(max_gap_s_, 0.5 * h.sample_s))
      throw contradiction(
          fmt::format("more than --max-gap {:.6g}s: raise it to fill the pause with missing data, or "
                      "ingest the parts by themselves",
                      max_gap_s_));
    const double n_samples = std::round(pause_s / h.sample_s);
    if (n_samples * static_cast<double>(first_.bits_per_time()) > 0x1p62)
      throw contradiction("more missing data than any disk holds: ingest the parts by themselves");
    const auto pause = static_cast<std::int64_t>(n_samples);
    if (pause % static_cast<std::int64_t>(first_.unit_samples()) != 0)
      throw contradiction(
          fmt::format("{} samples are no whole number of heaps of {}: ingest the parts by themselves", pause,
                      first_.unit_samples()));
    return pause;
  }

  std::vector<std::string> inputs_;
  double max_gap_s_ = 0;
  std::vector<std::uint64_t> sizes_;  ///< of all pieces, when they are files
  VoltageHeader first_, header_;
  std::vector<std::uint8_t> zero_;
  std::unique_ptr<Piece> piece_;
  std::size_t next_ = 0, span_bytes_ = 1;
  std::uint64_t place_ = 0;                          ///< sample of the output that the piece begins with
  std::uint64_t piece_bytes_ = 0, pause_bytes_ = 0;  ///< read of it, and missing before it
  std::uint64_t overlap_bytes_ = 0;                  ///< of the piece, which the one before had
  std::optional<std::uint64_t> expected_;
  StreamReport report_;
};

}  // namespace

std::unique_ptr<Capture> open_dada(const CaptureRequest& request) {
  return std::make_unique<DadaCapture>(request);
}

}  // namespace apsyn
