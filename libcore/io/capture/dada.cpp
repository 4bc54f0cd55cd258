// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/io/capture/dada.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "libcore/core/error.h"
#include "libcore/core/input.h"
#include "libcore/io/stream_payload.h"

namespace apsyn {
namespace {

constexpr std::size_t kBlockBytes = 4u << 20;

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
  if (a.sideband_conj != b.sideband_conj) return "SIDEBAND_CONJ";
  return a.pol_basis != b.pol_basis ? "POL_BASIS" : "";
}

class DadaCapture final : public Capture {
 public:
  explicit DadaCapture(const CaptureRequest& request) : inputs_(request.inputs) {
    // a pipe must not be opened twice
    const bool files = std::all_of(inputs_.begin(), inputs_.end(), [](const std::string& input) {
      std::error_code error;
      return std::filesystem::is_regular_file(input, error);
    });
    if (files) {
      while (open_next()) sizes_.push_back(piece_bytes_ = *piece_->payload->size());
      expected_ = done_samples_;
      next_ = done_samples_ = 0;
    }
    open_next();
    report_.name = inputs_.size() == 1 ? piece_->name : inputs_[0] + " ...";
    header_ = first_;
    header_.file_size.reset();
    header_.trailer = header_.foreign = false;
    header_.resolution_bytes = 0;
    if (request.facts.missing_samples > 0) header_.missing_samples = request.facts.missing_samples;
    apply_facts(header_, request.facts);
  }
  const VoltageHeader& header() const override { return header_; }
  bool read(std::vector<std::uint8_t>& samples) override {
    const std::size_t unit = first_.unit_bytes(),
                      wanted = std::max<std::size_t>(1, kBlockBytes / unit) * unit;
    samples.clear();
    // bit by bit, so that heaps of which little is there take little memory
    while (piece_ && samples.size() < wanted) {
      const std::size_t got = samples.size(), room = std::min(wanted - got, kBlockBytes);
      samples.resize(got + room);
      samples.resize(got + piece_->payload->read(samples.data() + got, room));
      piece_bytes_ += samples.size() - got;
      if (samples.size() < got + room) open_next();
    }
    report_.intact = done_samples_ + samples_of(piece_bytes_);
    return !samples.empty();
  }
  std::vector<StreamReport> reports() const override { return {report_}; }
  std::optional<std::uint64_t> expected_samples() const override { return expected_; }
  std::uint64_t memory_bytes() const override { return 5 * (kBlockBytes + first_.unit_bytes()); }

 private:
  std::uint64_t samples_of(std::uint64_t n_bytes) const {
    return n_bytes / first_.unit_bytes() * first_.unit_samples();
  }
  /// Whether there is another piece; DataError when it does not go on where the last one ended.
  bool open_next() {
    piece_.reset();
    done_samples_ += samples_of(std::exchange(piece_bytes_, 0));
    if (next_ == inputs_.size()) return false;
    piece_ = std::make_unique<Piece>(inputs_[next_],
                                     next_ < sizes_.size() ? std::optional(sizes_[next_]) : std::nullopt);
    const VoltageHeader& h = piece_->header;
    if (next_++ == 0) {
      first_ = h;
      return true;
    }
    if (const std::string key = difference(first_, h); !key.empty())
      throw DataError("{}: {} is another than in {}: it is no piece of that recording", piece_->name, key,
                      inputs_[0]);
    const UtcTime end = sample_time(first_.start, static_cast<std::int64_t>(done_samples_), first_.sample_s);
    if (const double pause_s = seconds_between(end, h.start); std::abs(pause_s) > 0.5 * h.sample_s)
      throw DataError(
          "{}: begins at {}, {} {} {} ended (UTC_START, OBS_OFFSET): give the pieces in their order, "
          "and what pauses divide by itself",
          piece_->name, format_fits_utc(h.start, 9), format_duration(std::abs(pause_s)),
          pause_s > 0 ? "after" : "before", inputs_[next_ - 2]);
    return true;
  }

  std::vector<std::string> inputs_;
  std::vector<std::uint64_t> sizes_;  ///< of all pieces, when they are files
  VoltageHeader first_, header_;
  std::unique_ptr<Piece> piece_;
  std::size_t next_ = 0;
  std::uint64_t done_samples_ = 0, piece_bytes_ = 0;  ///< of the pieces before, and of this one
  std::optional<std::uint64_t> expected_;
  StreamReport report_;
};

}  // namespace

std::unique_ptr<Capture> open_dada(const CaptureRequest& request) {
  return std::make_unique<DadaCapture>(request);
}

}  // namespace apsyn
