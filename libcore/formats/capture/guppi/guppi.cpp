// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/guppi/guppi.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/capture/frames/input_window.h"
#include "libcore/formats/capture/frames/interleave.h"
#include "libcore/formats/capture/guppi/guppi_code.h"
#include "libcore/formats/capture/guppi/guppi_header.h"

namespace apsyn {
namespace {

/// The blocks of all inputs, one after the other; places are samples.
class GuppiBlocks final : public PacketSource {
 public:
  explicit GuppiBlocks(const CaptureRequest& request) : inputs_(request.inputs) {
    const auto& inputs = request.inputs;
    if (!open_next() || !read_header()) throw DataError("{}: byte 0: it is empty", inputs[0]);
    look_at_second_block();
    kind_ = *header_;
    code_ = GuppiCode(kind_->n_bit, kind_->n_bit_out(), request.facts.encoding, request.guppi.endian);
    report_.name = inputs.size() == 1 ? window_->source().name() : inputs[0] + " ...";
  }
  const GuppiHeader& kind() const { return *kind_; }
  /// What lies further apart in time is an error.
  void settle(double sample_s, double max_gap_s) {
    sample_s_ = sample_s;
    max_gap_s_ = max_gap_s;
  }

  bool next(PacketRun& run) override {
    if (has_block_) window_->drop(kind_block_bytes_);
    has_block_ = false;
    while (header_ || read_header()) {
      const GuppiHeader h = *header_;
      header_.reset();
      if (!h.same_kind(*kind_))
        throw DataError(
            "{}: other channels, polarisations, antennas, bits or start (STT_*, SYNCTIME) than in the "
            "first block: another recording begins: ingest it by itself",
            place_);
      block_ = h;
      block_->take_packets_of(*kind_);
      const std::size_t held = window_->hold(h.block_bytes);
      const std::size_t n_new = h.n_samples - h.overlap;
      if (held < h.block_bytes) {  // the input ends inside a block
        if (!report_.first_trouble) report_.first_trouble = window_->offset();
        report_.damaged += n_new;
        window_->drop(held);
        continue;
      }
      const std::int64_t first = block_->first_sample();
      const double gap_s = end_ ? static_cast<double>(first - *end_) * sample_s_ : 0;
      if (std::abs(gap_s) > max_gap_s_)
        throw_gap({window_->source().name(), fmt::format("block at byte {}", block_at_), block_at_, gap_s,
                   max_gap_s_});
      end_ = first + static_cast<std::int64_t>(n_new);
      has_block_ = true;
      kind_block_bytes_ = h.block_bytes;
      run = {first, n_new, 0};
      return true;
    }
    return false;
  }
  /// Block [antenna][channel][time][pol] (or [time][antenna][channel][pol]) -> [time][channel][antenna][pol].
  void decode(std::size_t skip, std::size_t n, std::uint8_t* out) const override {
    const GuppiHeader& h = *block_;
    const std::size_t parts = h.n_pol * h.n_dim, lines = h.n_ant * h.n_chan;
    const std::size_t bytes = parts * h.n_bit_out() / 8;
    const std::size_t time_stride = h.channels_first ? parts : parts * lines;
    const std::size_t line_stride = h.channels_first ? parts * h.n_samples : parts;
    for (std::size_t ant = 0; ant < h.n_ant; ++ant)
      for (std::size_t chan = 0; chan < h.n_chan; ++chan) {
        const std::size_t from = (ant * h.n_chan + chan) * line_stride + skip * time_stride;
        std::uint8_t* to = out + (chan * h.n_ant + ant) * bytes;
        for (std::size_t t = 0; t < n; ++t, to += lines * bytes)
          code_.decode(window_->data(), from + t * time_stride, parts, to);
      }
  }
  StreamReport report() const override { return report_; }

 private:
  bool open_next() {
    if (next_input_ == inputs_.size()) return false;
    window_.emplace(std::make_unique<PrefetchSource>(inputs_[next_input_++]));
    return true;
  }
  /// To see what PKTIDX counts; header_ is the first block's.
  void look_at_second_block() {
    if (header_->n_bit >= 8) return;
    const std::size_t held =
        window_->hold(header_->block_bytes + GuppiHeader::kMaxCards * GuppiHeader::kCard);
    if (held <= header_->block_bytes) return;
    const std::string_view bytes(reinterpret_cast<const char*>(window_->data()) + header_->block_bytes,
                                 held - header_->block_bytes);
    const auto length = GuppiHeader::cards_length(bytes);
    if (!length) return;
    const GuppiHeader second(bytes.substr(0, *length),
                             fmt::format("{}: block at byte {}", window_->source().name(),
                                         window_->offset() + header_->block_bytes));
    if (second.same_kind(*header_) && header_->learn_packets(second))
      log_info("{}: PKTSIZE is that of packets of 8 bits, of which the {} bits were made", place_,
               header_->n_bit);
  }
  /// Takes the next block's header; false at the end of all inputs.
  bool read_header() {
    while (window_->hold(1) == 0)
      if (!open_next()) return false;
    block_at_ = window_->offset();
    place_ = fmt::format("{}: block at byte {}", window_->source().name(), block_at_);
    const std::size_t held = window_->hold(GuppiHeader::kMaxCards * GuppiHeader::kCard);
    const std::string_view bytes(reinterpret_cast<const char*>(window_->data()), held);
    const auto length = GuppiHeader::cards_length(bytes);
    if (!length) {
      if (held == GuppiHeader::kMaxCards * GuppiHeader::kCard || !kind_)
        throw DataError("{}: no card END: it is no GUPPI RAW block{}", place_,
                        foreign_hint(window_->beginning(), "guppi"));
      // The recording was cut inside a header.
      if (!report_.first_trouble) report_.first_trouble = window_->offset();
      report_.skipped_bytes += held;
      window_->drop(held);
      return read_header();
    }
    header_.emplace(bytes.substr(0, *length), place_);
    window_->drop(window_->hold(header_->header_bytes));
    return true;
  }

  std::vector<std::string> inputs_;
  std::size_t next_input_ = 0;
  std::optional<InputWindow> window_;
  GuppiCode code_;
  std::string place_;
  std::uint64_t block_at_ = 0;
  std::optional<std::int64_t> end_;  ///< sample behind the last block
  double sample_s_ = 0, max_gap_s_ = 0;
  std::optional<GuppiHeader> header_, kind_, block_;  ///< read and not used yet; the first; the held block's
  bool has_block_ = false;
  std::size_t kind_block_bytes_ = 0;
  StreamReport report_;
};

class GuppiCapture final : public InterleavedCapture {
 public:
  explicit GuppiCapture(const CaptureRequest& request) {
    auto blocks = std::make_unique<GuppiBlocks>(request);
    const GuppiHeader& h = blocks->kind();
    describe(h, request.inputs[0], request.facts);
    InterleavePlan plan;
    plan.time_bytes = h.time_bytes();
    plan.missing_samples = header_.missing_samples;
    plan.lanes.push_back({0, {{0, plan.time_bytes}}});
    plan.first = h.first_sample();
    blocks->settle(header_.sample_s, request.facts.max_gap_s);
    const UtcTime observation = header_.start;
    if (!request.facts.start) header_.start = sample_time(observation, plan.first, header_.sample_s);
    memory_ = 3 * h.block_bytes;
    std::vector<std::unique_ptr<PacketSource>> sources;
    sources.push_back(std::move(blocks));
    interleaver_ = std::make_unique<Interleaver>(std::move(sources), std::move(plan));
    memory_ += interleaver_->memory_bytes() + (PrefetchSource::kPieces + 4) * PrefetchSource::kPieceBytes;
  }

 private:
  void describe(const GuppiHeader& h, const std::string& input, const CaptureFacts& facts) {
    header_.telescope = h.text("TELESCOP").empty() ? "unknown" : h.text("TELESCOP");
    header_.source = h.text("SRC_NAME").empty() ? "unknown" : h.text("SRC_NAME");
    header_.n_ant = h.n_ant;
    header_.n_chan = h.n_chan;
    header_.n_pol = h.n_pol;
    header_.n_bit = h.n_bit_out();
    header_.n_dim = h.n_dim;
    if (h.n_bit == 2) header_.scale = GuppiCode::kTwoBitScale;
    if (h.text("FD_POLN").starts_with("CIR")) header_.pol_basis = "RL";
    if (facts.missing_samples > 0) header_.missing_samples = facts.missing_samples;
    header_.freq_hz = 1e6 * h.number("OBSFREQ").value_or(0);
    const double width_hz = 1e6 * h.number("CHAN_BW").value_or(0),
                 band_hz = 1e6 * h.number("OBSBW").value_or(0);
    const double sample_s = h.number("TBIN").value_or(0), n_chan = static_cast<double>(h.n_chan);
    const double per_hz = h.n_dim == 1 ? 2 : 1;  // samples in a second
    const bool given = !std::isnan(facts.bandwidth_hz) && !std::isnan(facts.sample_s);
    const auto differ = [](double a, double b) { return a != 0 && b != 0 && std::abs(a / b - 1) > 1e-6; };
    if (!given && (differ(band_hz, width_hz * n_chan) || differ(sample_s * std::abs(width_hz) * per_hz, 1)))
      throw UsageError(
          "{}: block at byte 0: OBSBW {} MHz, CHAN_BW {} MHz, TBIN {} s of {} channels contradict each "
          "other: "
          "give --bandwidth and --sample-rate",
          input, band_hz / 1e6, width_hz / 1e6, sample_s, h.n_chan);
    header_.bandwidth_hz = band_hz != 0 ? band_hz : width_hz * n_chan;
    header_.sample_s = sample_s != 0               ? sample_s
                       : header_.bandwidth_hz == 0 ? 0
                                                   : n_chan / std::abs(header_.bandwidth_hz) / per_hz;
    const double told_s = std::isnan(facts.sample_s) ? header_.sample_s : facts.sample_s;
    if (const auto start = h.count_start(told_s)) header_.start = *start;
    apply_facts(header_, facts);
    // a band that descends was mixed with an oscillator above it, and so was each of its channels
    if (!facts.no_conjugate && h.n_dim == 2) header_.sideband_conj |= header_.bandwidth_hz < 0;
  }
};

}  // namespace

std::unique_ptr<Capture> open_guppi(const CaptureRequest& request) {
  return std::make_unique<GuppiCapture>(request);
}

}  // namespace apsyn
