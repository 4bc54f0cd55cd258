// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/io/capture/vdif.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "libcore/core/error.h"
#include "libcore/io/capture/input_window.h"
#include "libcore/io/capture/interleave.h"
#include "libcore/io/capture/vdif_frame.h"

namespace apsyn {
namespace {

constexpr std::size_t kLookFrames = 256;  // at the beginning, to see the threads
/// Less than is read ahead of each input: one producer may feed several by turns.
constexpr std::size_t kLookBytes = PrefetchSource::kPieces * PrefetchSource::kPieceBytes / 2;
constexpr std::size_t kSlackFrames = 32;  // of one thread, by which frames may be out of order
constexpr double kMaxGap_s = 600;

/// One input's frames.
class VdifFrames final : public PacketSource {
 public:
  explicit VdifFrames(std::unique_ptr<PrefetchSource> input) : window_(std::move(input)) {
    report_.name = window_.source().name();
    std::uint8_t header[32] = {};
    const std::size_t got = window_.hold(sizeof header);
    std::copy_n(window_.data(), got, header);
    kind_ = parse_vdif_header(header);
    if (got < sizeof header || kind_.n_samples() == 0)
      throw DataError(
          "{}: byte 0: no VDIF frame: {} bytes with samples of {} bits in {} channels do not go together",
          report_.name, kind_.frame_bytes, kind_.n_bit, kind_.n_chan);
    const std::size_t look =
        std::min(kLookFrames * kind_.frame_bytes, std::max(kLookBytes, 2 * kind_.frame_bytes));
    const std::size_t held = window_.hold(look);
    first_seconds_ = kind_.seconds;
    for (std::size_t at = 0; at + kind_.frame_bytes <= held; at += kind_.frame_bytes) {
      const VdifHeader h = parse_vdif_header(window_.data() + at);
      if (!h.same_kind(kind_)) break;
      threads_.emplace(h.thread, 0);
      first_seconds_ = std::min(first_seconds_, h.seconds);
    }
  }
  const VdifHeader& kind() const { return kind_; }
  std::map<std::uint32_t, std::size_t>& threads() { return threads_; }  ///< thread -> lane
  std::uint32_t first_seconds() const { return first_seconds_; }
  /// The least frame number within the first seconds, of all threads.
  std::int64_t first_frame() {
    const std::size_t held = window_.hold(std::min(kLookFrames * kind_.frame_bytes, kLookBytes));
    std::int64_t least = kind_.frame + std::int64_t{kind_.seconds - first_seconds_} * frames_per_second_;
    for (std::size_t at = 0; at + kind_.frame_bytes <= held; at += kind_.frame_bytes) {
      const VdifHeader h = parse_vdif_header(window_.data() + at);
      if (!h.same_kind(kind_)) break;
      least = std::min(least, place_of(h));
    }
    return least;
  }
  void settle(std::uint32_t reference_seconds, std::int64_t frames_per_second, std::size_t time_bytes,
              std::vector<std::size_t> places) {
    first_seconds_ = reference_seconds;
    frames_per_second_ = frames_per_second;
    time_bytes_ = time_bytes;
    places_ = std::move(places);
  }

  bool next(PacketRun& run) override {
    window_.drop(std::exchange(taken_, 0));
    for (;;) {
      const std::size_t held = window_.hold(kind_.frame_bytes);
      if (held == 0) return false;
      if (held < kind_.frame_bytes) {  // the input ends inside a frame
        trouble();
        ++report_.damaged;
        window_.drop(held);
        return false;
      }
      const VdifHeader h = parse_vdif_header(window_.data());
      if (!h.same_kind(kind_) || h.frame >= frames_per_second_) {
        resynchronise();
        continue;
      }
      const auto lane = threads_.find(h.thread);
      if (h.invalid || lane == threads_.end()) {
        trouble();
        ++report_.damaged;
        window_.drop(kind_.frame_bytes);
        continue;
      }
      // A header within its own frame, where behind it there is none, means that bytes are missing.
      if (!header_at(kind_.frame_bytes)) {
        if (const std::size_t cut = find_header(1); cut < kind_.frame_bytes) {
          trouble();
          ++report_.damaged;
          window_.drop(cut);
          continue;
        }
      }
      taken_ = kind_.frame_bytes;
      run = {place_of(h), 1, lane->second};
      lane_ = lane->second;
      return true;
    }
  }
  void decode(std::size_t, std::size_t, std::uint8_t* out) const override {
    decode_vdif(kind_, window_.data() + kind_.header_bytes(), out + places_[lane_], time_bytes_);
  }
  StreamReport report() const override { return report_; }

 private:
  std::int64_t place_of(const VdifHeader& h) const {
    return (std::int64_t{h.seconds} - first_seconds_) * frames_per_second_ + h.frame;
  }
  void trouble() {
    if (!report_.first_trouble) report_.first_trouble = window_.offset();
  }
  /// Whether a header of this kind, or the input's end, is so many bytes behind the front.
  bool header_at(std::size_t at) {
    if (window_.hold(at + 32) < at + 32) return true;
    return parse_vdif_header(window_.data() + at).same_kind(kind_);
  }
  /// The first place from `from` on where a header of this kind is followed by another; two frames further at
  /// most.
  std::size_t find_header(std::size_t from) {
    const std::size_t held = window_.hold(2 * kind_.frame_bytes + 32);
    for (std::size_t at = from; at + 32 <= held; ++at)
      if (parse_vdif_header(window_.data() + at).same_kind(kind_) && header_at(at + kind_.frame_bytes))
        return at;
    return held;
  }
  void resynchronise() {
    trouble();
    const std::size_t at = find_header(1);
    report_.skipped_bytes += at;
    window_.drop(at);
  }

  InputWindow window_;
  VdifHeader kind_;
  std::map<std::uint32_t, std::size_t> threads_;
  std::uint32_t first_seconds_ = 0;
  std::int64_t frames_per_second_ = 1 << 24;
  std::size_t time_bytes_ = 0, lane_ = 0, taken_ = 0;
  std::vector<std::size_t> places_;  ///< [lane] -> byte within a time sample
  StreamReport report_;
};

class VdifCapture final : public Capture {
 public:
  explicit VdifCapture(const CaptureRequest& request) {
    const CaptureFacts& facts = request.facts;
    // All are read from before any is waited for: one program may fill several pipes by turns.
    std::vector<std::unique_ptr<PrefetchSource>> read_ahead;
    for (const std::string& input : request.inputs)
      read_ahead.push_back(std::make_unique<PrefetchSource>(input));
    std::vector<std::unique_ptr<VdifFrames>> inputs;
    for (auto& source : read_ahead) inputs.push_back(std::make_unique<VdifFrames>(std::move(source)));
    const VdifHeader& kind = inputs[0]->kind();
    std::size_t n_threads = 0;
    std::uint32_t reference = inputs[0]->first_seconds();
    for (auto& input : inputs) {
      if (input->kind().n_samples() != kind.n_samples() || input->kind().n_chan != kind.n_chan ||
          input->kind().n_bit != kind.n_bit || input->kind().complex != kind.complex ||
          input->kind().epoch != kind.epoch)
        throw DataError("{}: byte 0: other frames, samples or reference epoch than in {}",
                        input->report().name, inputs[0]->report().name);
      for (auto& [thread, lane] : input->threads()) lane = n_threads++;
      reference = std::min(reference, input->first_seconds());
    }
    describe(kind, n_threads, facts);
    const double per_second = 1 / header_.sample_s / static_cast<double>(kind.n_samples());
    const std::int64_t frames_per_second = std::llround(per_second);
    if (frames_per_second < 1 || std::abs(per_second / static_cast<double>(frames_per_second) - 1) > 1e-9)
      throw UsageError("--sample-rate: {} samples in a second are {} frames of {}, no whole number",
                       1 / header_.sample_s, per_second, kind.n_samples());

    InterleavePlan plan;
    const std::size_t sample_bytes = kind.n_chan * header_.n_dim * header_.n_bit / 8;
    plan.time_bytes = n_threads * sample_bytes;
    plan.packet_samples = kind.n_samples();
    plan.missing_samples = header_.missing_samples;
    plan.slack = kSlackFrames;
    plan.max_gap = static_cast<std::int64_t>(kMaxGap_s * per_second) + 1;
    for (std::size_t lane = 0; lane < n_threads; ++lane) {
      const std::size_t place = place_of(facts, lane, n_threads), ant = place / header_.n_pol;
      place_bytes_.push_back(place * sample_bytes);
      plan.lanes.push_back({0, {{ant * header_.n_pol * sample_bytes, header_.n_pol * sample_bytes}}});
    }
    std::vector<std::unique_ptr<PacketSource>> sources;
    plan.first = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (const auto& [thread, lane] : inputs[i]->threads()) plan.lanes[lane].source = i;
      inputs[i]->settle(reference, frames_per_second, plan.time_bytes, place_bytes_);
      plan.first = std::min(plan.first, inputs[i]->first_frame());
      sources.push_back(std::move(inputs[i]));
    }
    if (!facts.start) {
      header_.start = sample_time(vdif_time(kind_epoch_, reference),
                                  plan.first * static_cast<std::int64_t>(kind_samples_), header_.sample_s);
    }
    interleaver_ = std::make_unique<Interleaver>(std::move(sources), std::move(plan));
    memory_ = interleaver_->memory_bytes() +
              request.inputs.size() *
                  ((PrefetchSource::kPieces + 4) * PrefetchSource::kPieceBytes + 2 * kLookBytes);
  }
  const VoltageHeader& header() const override { return header_; }
  bool read(std::vector<std::uint8_t>& samples) override { return interleaver_->read(samples); }
  std::vector<StreamReport> reports() const override { return interleaver_->reports(); }
  std::optional<std::uint64_t> expected_samples() const override { return std::nullopt; }
  std::uint64_t memory_bytes() const override { return memory_; }

 private:
  static std::size_t place_of(const CaptureFacts& facts, std::size_t lane, std::size_t n_threads) {
    if (facts.input_order.empty()) return lane;
    std::vector<bool> seen(n_threads);
    for (std::size_t input : facts.input_order)
      if (input < n_threads) seen[input] = true;
    if (facts.input_order.size() != n_threads || std::find(seen.begin(), seen.end(), false) != seen.end())
      throw UsageError("--input-order: give each of the {} threads, counted from 0, once", n_threads);
    return static_cast<std::size_t>(std::find(facts.input_order.begin(), facts.input_order.end(), lane) -
                                    facts.input_order.begin());
  }
  void describe(const VdifHeader& kind, std::size_t n_threads, const CaptureFacts& facts) {
    kind_epoch_ = kind.epoch_start();
    kind_samples_ = kind.n_samples();
    header_.telescope = kind.station_name();
    header_.n_pol = facts.n_pol > 0 ? facts.n_pol : n_threads == 1 ? 1 : 0;
    if (header_.n_pol == 0)
      throw UsageError(
          "--pols: missing: {} threads: are they antennas (--pols 1) or pairs of polarisations (--pols 2)?",
          n_threads);
    if (n_threads % header_.n_pol != 0)
      throw UsageError("--pols {}: the capture has {} threads", header_.n_pol, n_threads);
    header_.n_ant = n_threads / header_.n_pol;
    header_.n_chan = kind.n_chan;
    header_.n_dim = kind.complex ? 2 : 1;
    header_.n_bit = kind.n_bit == 16 ? 16 : 8;
    header_.order = "TAPF";
    header_.scale = kind.n_bit == 2 ? 1.0 / 3 : 1;
    header_.missing_samples = kind_samples_;
    if (facts.missing_samples > 0) {
      if (facts.missing_samples % kind_samples_ != 0)
        throw UsageError("--missing-block {}: give a multiple of the {} samples of a frame",
                         facts.missing_samples, kind_samples_);
      header_.missing_samples = facts.missing_samples;
    }
    if (kind.bandwidth_hz) {
      header_.bandwidth_hz = *kind.bandwidth_hz * static_cast<double>(kind.n_chan);
      header_.sample_s = 1 / (*kind.bandwidth_hz * (kind.complex ? 1 : 2));
    }
    header_.start = kind_epoch_;
    apply_facts(header_, facts);
  }

  VoltageHeader header_;
  UtcTime kind_epoch_;
  std::size_t kind_samples_ = 1;
  std::vector<std::size_t> place_bytes_;
  std::unique_ptr<Interleaver> interleaver_;
  std::uint64_t memory_ = 0;
};

}  // namespace

std::unique_ptr<Capture> open_vdif(const CaptureRequest& request) {
  return std::make_unique<VdifCapture>(request);
}

}  // namespace apsyn
