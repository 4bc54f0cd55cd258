// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/vlbi/vdif.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/formats/capture/vlbi/vdif_frames.h"

namespace apsyn {
namespace {

constexpr double kMaxVdifFrames = 1 << 24;  // in a second

class VdifCapture final : public InterleavedCapture {
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
    if (!(per_second <= kMaxVdifFrames))
      throw UsageError(
          "--sample-rate: {} samples in a second are {} frames of {}: their numbers have 24 bits",
          1 / header_.sample_s, per_second, kind.n_samples());
    const std::int64_t frames_per_second = std::llround(per_second);
    if (frames_per_second < 1 || std::abs(per_second / static_cast<double>(frames_per_second) - 1) > 1e-9)
      throw UsageError("--sample-rate: {} samples in a second are {} frames of {}, no whole number",
                       1 / header_.sample_s, per_second, kind.n_samples());

    InterleavePlan plan;
    const std::size_t sample_bytes = kind.n_chan * header_.n_dim * header_.n_bit / 8;
    plan.time_bytes = n_threads * sample_bytes;
    plan.packet_samples = kind.n_samples();
    plan.missing_samples = header_.missing_samples;
    plan.slack = VdifFrames::kSlack;
    for (std::size_t lane = 0; lane < n_threads; ++lane) {
      const std::size_t place = place_of(facts, lane, n_threads), ant = place / header_.n_pol;
      place_bytes_.push_back(place * sample_bytes);
      plan.lanes.push_back({0, {{ant * header_.n_pol * sample_bytes, header_.n_pol * sample_bytes}}});
    }
    plan.first = std::numeric_limits<std::int64_t>::max();
    for (const auto& input : inputs)
      plan.first = std::min(plan.first, input->first_place(reference, frames_per_second));
    std::vector<std::unique_ptr<PacketSource>> sources;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (const auto& [thread, lane] : inputs[i]->threads()) plan.lanes[lane].source = i;
      inputs[i]->settle({reference, frames_per_second, plan.first, facts.max_gap_s,
                         facts.encoding == "TWOSCOMPLEMENT", plan.time_bytes, place_bytes_});
      sources.push_back(std::move(inputs[i]));
    }
    if (!facts.start) {
      header_.start = sample_time(vdif_time(kind_epoch_, reference),
                                  plan.first * static_cast<std::int64_t>(kind_samples_), header_.sample_s);
    }
    interleaver_ = std::make_unique<Interleaver>(std::move(sources), std::move(plan));
    memory_ = interleaver_->memory_bytes() +
              request.inputs.size() * (2 * PrefetchSource::kPieces + 4) * PrefetchSource::kPieceBytes;
  }

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

  UtcTime kind_epoch_;
  std::size_t kind_samples_ = 1;
  std::vector<std::size_t> place_bytes_;
};

}  // namespace

std::unique_ptr<Capture> open_vdif(const CaptureRequest& request) {
  return std::make_unique<VdifCapture>(request);
}

}  // namespace apsyn
