// SPDX-License-Identifier: GPL-3.0-or-later
// A sub-file holds a sub-observation (8 s) of one coarse channel: a PSRDADA header of 4096 bytes, a block of
// metadata, and blocks of samples, [input][NTIMESAMPLES][re, im] in int8, all of one length. The metadata
// tell which packets are missing (mwax_packet_map.h). NINPUTS counts polarisations; inputs are in the order
// of the metafits' antennas, X before Y. SUBOBS_ID is the GPS second at which it begins. UTC_START and
// OBS_OFFSET are those of the observation, the latter in seconds.
//
// The output keeps the blocks as heaps, [channel][antenna][pol][time].
#include "libcore/formats/capture/mwa/mwax.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/capture/frames/input_window.h"
#include "libcore/formats/capture/frames/interleave.h"
#include "libcore/formats/capture/mwa/mwa_time.h"
#include "libcore/formats/capture/mwa/mwax_packet_map.h"
#include "libcore/header/ascii_header.h"

namespace apsyn {
namespace {

constexpr std::int64_t kMaxBlockBytes = std::int64_t{1} << 28;  // of 512 tiles they have half of that

struct SubHeader {
  std::size_t header_bytes = kHeaderUnit;
  MwaxShape shape;
  MwaxIndex index;
  std::int64_t channel = 0, gps_s = 0, sample_rate_hz = 0;
  bool same_kind(const SubHeader& other) const {
    return shape == other.shape && sample_rate_hz == other.sample_rate_hz;
  }
};

/// `place` names file and byte in errors.
SubHeader parse_sub_header(std::string_view bytes, const std::string& place) {
  SubHeader h;
  HeaderReader reader(bytes, place);
  h.header_bytes = bytes.size();
  reader.require_integer("NBIT", 8, 8);
  h.shape.n_inputs = static_cast<std::size_t>(reader.require_integer("NINPUTS", 2, 8192));
  h.shape.block_samples = static_cast<std::size_t>(reader.require_integer("NTIMESAMPLES", 1, 1 << 24));
  h.sample_rate_hz = reader.integer_or("SAMPLE_RATE", 1, 1 << 30, 1280000);
  h.channel = reader.require_integer("COARSE_CHANNEL", 0, kMwaChannels - 1);
  h.gps_s = reader.require_integer("SUBOBS_ID", kGpsOf2000_s, kMaxGps_s);
  const std::int64_t samples = reader.integer_or("SECS_PER_SUBOBS", 1, 3600, 8) * h.sample_rate_hz;
  const auto block_samples = static_cast<std::int64_t>(h.shape.block_samples);
  if (h.shape.n_inputs % 2 != 0 || samples % block_samples != 0 ||
      static_cast<std::int64_t>(h.shape.block_bytes()) > kMaxBlockBytes)
    throw DataError(
        "{}: NINPUTS {}, NTIMESAMPLES {}, SAMPLE_RATE {}: pairs of inputs in whole blocks of at most {} "
        "bytes "
        "are needed",
        place, h.shape.n_inputs, h.shape.block_samples, h.sample_rate_hz, kMaxBlockBytes);
  h.shape.n_blocks = static_cast<std::size_t>(samples / block_samples);
  const auto whole = static_cast<std::int64_t>((h.shape.n_blocks + 1) * h.shape.block_bytes());
  if (const auto told = reader.integer("TRANSFER_SIZE", 0, INT64_MAX); told && *told != whole)
    throw DataError("{}: TRANSFER_SIZE {}: {} blocks of {} bytes and one of metadata are {}", place, *told,
                    h.shape.n_blocks, h.shape.block_bytes(), whole);
  h.index = mwax_index(reader, h.shape);
  return h;
}

/// The header of the sub-file at the front of `window`; absent at the input's end.
std::optional<SubHeader> take_sub_header(InputWindow& window) {
  const std::string name = window.source().name();
  const std::uint64_t at = window.offset();
  const std::size_t held = window.hold(kHeaderUnit);
  if (held == 0 && at > 0) return std::nullopt;
  const auto text = [&](std::size_t n) {
    return std::string_view(reinterpret_cast<const char*>(window.data()), n);
  };
  if (held < kHeaderUnit || recognise(text(held)).format != "mwax")
    throw DataError("{}: byte {}: no header of an MWAX sub-file with SUBOBS_ID and NTIMESAMPLES{}", name, at,
                    foreign_hint(at == 0 ? window.beginning() : "", "mwax"));
  const std::string place = fmt::format("{}: sub-file at byte {}", name, at);
  const std::size_t size = header_size(text(held), place);
  if (window.hold(size) < size)
    throw DataError("{}: byte {}: the input ends inside a header of {} bytes: it is truncated", name,
                    at + window.hold(size), size);
  const SubHeader header = parse_sub_header(text(size), place);
  window.drop(size);
  return header;
}

/// An input whose first header has been taken; files are closed until their turn comes.
struct SubInput {
  std::string path;
  SubHeader first;
  std::unique_ptr<InputWindow> window;
};

/// The sub-files of one coarse channel; places are blocks.
class CoarseChannel final : public PacketSource {
 public:
  CoarseChannel(std::vector<SubInput> inputs, std::size_t lane) : inputs_(std::move(inputs)), lane_(lane) {
    kind_ = inputs_[0].first;
    report_.name = inputs_[0].path + (inputs_.size() > 1 ? " ..." : "");
  }
  void settle(std::int64_t first_gps_s, double max_gap_s, std::size_t missing_samples) {
    first_gps_s_ = first_gps_s;
    max_gap_s_ = max_gap_s;
    missing_samples_ = missing_samples;
  }

  bool next(PacketRun& run) override {
    if (window_) window_->drop(std::exchange(taken_, 0));
    while (left_ == 0)
      if (!begin_sub_file()) return false;
    const std::size_t bytes = kind_.shape.block_bytes(), held = window_->hold(bytes);
    if (held < bytes) {  // the input ends inside a sub-file
      trouble();
      report_.damaged += held > 0;
      window_->drop(held);
      left_ = 0;
      return next(run);
    }
    taken_ = bytes;
    run = {place_++, 1, lane_};
    --left_;
    return true;
  }
  void decode(std::size_t, std::size_t, std::uint8_t* out) const override {
    std::uint8_t* const block = out + lane_ * kind_.shape.block_bytes();
    std::memcpy(block, window_->data(), kind_.shape.block_bytes());
    packets_.blank(kind_.shape.n_blocks - left_ - 1, block);
  }
  StreamReport report() const override { return report_; }

 private:
  void trouble() {
    if (!report_.first_trouble) report_.first_trouble = window_->offset();
  }
  bool begin_sub_file() {
    std::optional<SubHeader> header;
    if (window_) header = take_sub_header(*window_);
    while (!header) {
      if (next_input_ == inputs_.size()) return false;
      SubInput& input = inputs_[next_input_++];
      window_ = std::move(input.window);
      if (window_) {
        header = input.first;
        break;
      }
      window_ = std::make_unique<InputWindow>(std::make_unique<PrefetchSource>(input.path));
      header = take_sub_header(*window_);
    }
    const std::string& name = window_->source().name();
    if (!header->same_kind(kind_) || header->channel != kind_.channel)
      throw DataError("{}: sub-file before byte {}: other inputs, blocks or channel than in {}", name,
                      window_->offset(), inputs_[0].path);
    const std::int64_t samples = (header->gps_s - first_gps_s_) * kind_.sample_rate_hz,
                       block = static_cast<std::int64_t>(kind_.shape.block_samples);
    if (samples % block != 0)
      throw DataError("{}: SUBOBS_ID {}: is no whole number of blocks after {}", name, header->gps_s,
                      first_gps_s_);
    const std::int64_t gap = samples / block - place_;
    const double gap_s = static_cast<double>(gap * block) / static_cast<double>(kind_.sample_rate_hz);
    if (gap < 0 && begun_)
      throw DataError("{}: SUBOBS_ID {}: begins {} s before the one before it ends: give the files in order",
                      name, header->gps_s, -gap_s);
    if (gap_s > max_gap_s_)
      throw DataError(
          "{}: SUBOBS_ID {}: begins {} s after the one before it: more than --max-gap {}s: raise it to fill "
          "the "
          "pause with missing data, or ingest the parts by themselves",
          name, header->gps_s, gap_s, max_gap_s_);
    if (gap > 0) trouble();
    begun_ = true;
    place_ = samples / block;
    left_ = kind_.shape.n_blocks;
    take_metadata(header->index);
    return true;
  }
  void take_metadata(const MwaxIndex& index) {
    const std::size_t bytes = kind_.shape.block_bytes(), held = window_->hold(bytes);
    packets_ = MwaxPacketMap();
    if (held == bytes) packets_ = MwaxPacketMap(kind_.shape, index, window_->data(), missing_samples_);
    if (packets_.lost_packets() > 0) trouble();
    report_.lost_packets += packets_.lost_packets();
    window_->drop(held);
    if (index.unusable.empty() || std::exchange(told_, true)) return;
    log_warning(
        "{}: IDX_PACKET_MAP {}: no map of the packets of {} inputs: those that the recorder lost are taken "
        "as zeros",
        window_->source().name(), index.unusable, kind_.shape.n_inputs);
  }

  std::vector<SubInput> inputs_;
  std::size_t lane_, next_input_ = 0, left_ = 0, taken_ = 0;
  SubHeader kind_;
  std::unique_ptr<InputWindow> window_;
  MwaxPacketMap packets_;  ///< of the current sub-file
  std::int64_t first_gps_s_ = 0, place_ = 0;
  std::size_t missing_samples_ = 1;
  double max_gap_s_ = 0;
  bool begun_ = false, told_ = false;
  StreamReport report_;
};

std::unique_ptr<InputWindow> open_input(const std::string& path) {
  return std::make_unique<InputWindow>(std::make_unique<PrefetchSource>(path));
}

/// Pipes of one program may be filled by turns: all are read at once. Files, of which there may be more than
/// descriptors, are open one at a time.
std::map<std::int64_t, std::vector<SubInput>> open_inputs(const std::vector<std::string>& paths) {
  std::vector<std::unique_ptr<InputWindow>> pipes(paths.size());
  std::error_code error;
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (!std::filesystem::is_regular_file(paths[i], error)) pipes[i] = open_input(paths[i]);
  std::map<std::int64_t, std::vector<SubInput>> channels;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    SubInput input{paths[i], {}, std::move(pipes[i])};
    input.first = *take_sub_header(input.window ? *input.window : *open_input(paths[i]));
    channels[input.first.channel].push_back(std::move(input));
  }
  return channels;
}

class MwaxCapture final : public InterleavedCapture {
 public:
  explicit MwaxCapture(const CaptureRequest& request) {
    auto channels = open_inputs(request.inputs);
    const SubHeader kind = channels.begin()->second[0].first;
    const auto first = channels.begin()->first, last = channels.rbegin()->first;
    if (static_cast<std::size_t>(last - first) + 1 != channels.size())
      throw UsageError("coarse channels {} to {}: {} of them are there: give neighbouring ones", first, last,
                       channels.size());
    std::int64_t first_gps_s = kMaxGps_s;
    for (const auto& [channel, inputs] : channels) {
      if (!inputs[0].first.same_kind(kind))
        throw DataError("{}: byte 0: other inputs, blocks or sample rate than in {}", inputs[0].path,
                        channels.begin()->second[0].path);
      for (const SubInput& input : inputs) first_gps_s = std::min(first_gps_s, input.first.gps_s);
    }
    describe(kind, first, channels.size(), first_gps_s, request.facts);
    InterleavePlan plan;
    plan.time_bytes = channels.size() * 2 * kind.shape.n_inputs;
    plan.packet_samples = kind.shape.block_samples;
    plan.missing_samples = header_.missing_samples;
    std::vector<std::unique_ptr<PacketSource>> sources;
    for (auto& [channel, inputs] : channels) {
      auto source = std::make_unique<CoarseChannel>(std::move(inputs), sources.size());
      source->settle(first_gps_s, request.facts.max_gap_s, header_.missing_samples);
      plan.lanes.push_back({sources.size(), {{0, plan.time_bytes}}});
      sources.push_back(std::move(source));
    }
    interleaver_ = std::make_unique<Interleaver>(std::move(sources), std::move(plan));
    memory_ = interleaver_->memory_bytes() +
              channels.size() * (2 * kind.shape.block_bytes() +
                                 (PrefetchSource::kPieces + 4) * PrefetchSource::kPieceBytes);
  }

 private:
  void describe(const SubHeader& kind, std::int64_t channel, std::size_t n_channels, std::int64_t gps_s,
                const CaptureFacts& facts) {
    header_.telescope = "MWA";
    header_.n_chan = n_channels;
    header_.n_ant = kind.shape.n_inputs / 2;
    header_.n_pol = 2;
    header_.order = "FAPT";
    header_.block_samples = kind.shape.block_samples;
    header_.missing_samples = facts.missing_samples > 0
                                  ? facts.missing_samples
                                  : std::gcd(std::size_t{128}, kind.shape.block_samples);
    if (kind.shape.block_samples % header_.missing_samples != 0)
      throw UsageError("--missing-block {}: give a divisor of the {} samples of a block",
                       header_.missing_samples, kind.shape.block_samples);
    const auto rate_hz = static_cast<double>(kind.sample_rate_hz);
    if (n_channels > 1 && rate_hz != kMwaCoarse_hz)
      throw UsageError(
          "{} samples in a second of channels of {}: oversampled channels overlap: ingest each "
          "coarse channel by itself",
          rate_hz, format_frequency(kMwaCoarse_hz));
    header_.sample_s = 1 / rate_hz;
    header_.bandwidth_hz = static_cast<double>(n_channels) * rate_hz;
    header_.freq_hz =
        kMwaCoarse_hz * (static_cast<double>(channel) + (static_cast<double>(n_channels) - 1) / 2);
    header_.start = mwa_time(gps_s);
    apply_facts(header_, facts);
  }
};

}  // namespace

std::unique_ptr<Capture> open_mwax(const CaptureRequest& request) {
  return std::make_unique<MwaxCapture>(request);
}

}  // namespace apsyn
