// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/mwa/mwa32t.h"

#include <algorithm>
#include <cstring>

#include "libcore/base/error.h"
#include "libcore/formats/capture/frames/interleave.h"
#include "libcore/formats/capture/frames/marked_frames.h"

namespace apsyn {
namespace {

constexpr std::size_t kInputs = 16;          // of a receiver
constexpr std::size_t kMissingSamples = 16;  // so long a silence of both polarisations is no chance
constexpr double kBandwidth_hz = 1.28e6;     // critically sampled

/// Where a word keeps its sample, and what becomes of it.
struct WordFormat {
  unsigned bytes = 2;
  bool big = false;
  unsigned n_bit = 5, real_bit = 5, imag_bit = 0;
  unsigned output_bits = 8;
  std::size_t output_bytes() const { return output_bits == 4 ? 1 : 2; }
};

WordFormat word_format(const Mwa32tOptions& options) {
  WordFormat word;
  word.bytes = options.word_bits / 8;
  word.big = options.byte_order == ByteOrder::big;
  word.n_bit = options.word_bits == 16 ? 5 : 4;
  word.imag_bit = options.imag_bit < 0 ? 0 : static_cast<unsigned>(options.imag_bit);
  word.real_bit = options.real_bit < 0 ? word.n_bit : static_cast<unsigned>(options.real_bit);
  word.output_bits = options.output_bits;
  const unsigned low = std::min(word.real_bit, word.imag_bit), high = std::max(word.real_bit, word.imag_bit);
  if (high + word.n_bit > options.word_bits || high - low < word.n_bit)
    throw UsageError(
        "--real-bit {}, --imag-bit {}: two parts of {} bits overlap or leave the {} bits of a word",
        word.real_bit, word.imag_bit, word.n_bit, options.word_bits);
  if (word.output_bits == 5 && word.n_bit != 5)
    throw UsageError("--output-bits 5: samples of {} bits: give 4 or 8", word.n_bit);
  return word;
}

int part(std::uint32_t word, unsigned lowest, unsigned n_bit) {
  const int code = static_cast<int>(word >> lowest & ((1u << n_bit) - 1)), half = 1 << (n_bit - 1);
  return (code ^ half) - half;
}

/// Five bits in four: half the value, ties to even, so that the mean does not move.
int halved(int value) {
  const int down = value >> 1;
  return std::min(7, down + ((value & 1) != 0 && (down & 1) != 0 ? 1 : 0));
}

/// Every word's output, as bytes in their order.
std::vector<std::uint16_t> output_table(const WordFormat& word) {
  std::vector<std::uint16_t> table(std::size_t{1} << (8 * word.bytes));
  for (std::size_t code = 0; code < table.size(); ++code) {
    const int re = part(static_cast<std::uint32_t>(code), word.real_bit, word.n_bit);
    const int im = part(static_cast<std::uint32_t>(code), word.imag_bit, word.n_bit);
    const bool halve = word.output_bits == 4 && word.n_bit == 5;
    const auto low = [](int value, unsigned mask) { return static_cast<unsigned>(value) & mask; };
    unsigned out = 0;
    if (word.output_bits == 8) out = low(re, 0xFF) | low(im, 0xFF) << 8;
    if (word.output_bits == 5) out = low(re, 0x1F) << 5 | low(im, 0x1F);
    if (word.output_bits == 4)
      out = low(halve ? halved(re) : re, 0xF) << 4 | low(halve ? halved(im) : im, 0xF);
    std::size_t at = code;
    if (word.bytes == 2 && word.big) at = (code & 0xFF) << 8 | code >> 8;
    table[at] = static_cast<std::uint16_t>(out);
  }
  return table;
}

/// One receiver's stream.
class ReceiverFrames final : public PacketSource {
 public:
  ReceiverFrames(std::unique_ptr<PrefetchSource> input, const MarkerPattern& pattern,
                 const Mwa32tOptions& options, const WordFormat& word, std::size_t time_bytes)
      : word_(word),
        frames_(std::move(input), pattern, 8 * word.bytes, (kInputs + 1) * word.bytes, options.byte_order),
        time_bytes_(time_bytes),
        table_(output_table(word)) {}

  MarkedFrames& frames() { return frames_; }
  /// Where the first frame stands on the common clock, the lane, and where in a time sample the inputs go.
  void settle(std::int64_t first, std::size_t lane, std::vector<std::size_t> places) {
    first_ = first;
    lane_ = lane;
    places_ = std::move(places);
  }

  bool next(PacketRun& run) override {
    if (!frames_.next(run.first, run.n)) return false;
    run.first += first_;
    run.lane = lane_;
    return true;
  }
  void decode(std::size_t skip, std::size_t n, std::uint8_t* out) const override {
    const std::size_t frame_bytes = (kInputs + 1) * word_.bytes;
    const std::uint8_t* in = frames_.frames() + skip * frame_bytes + word_.bytes;
    for (std::size_t i = 0; i < n; ++i, in += frame_bytes, out += time_bytes_)
      word_.bytes == 2 ? decode_frame<std::uint16_t>(in, out) : decode_frame<std::uint8_t>(in, out);
  }
  StreamReport report() const override { return frames_.report(); }

 private:
  template <class Word>
  void decode_frame(const std::uint8_t* in, std::uint8_t* out) const {
    for (std::size_t input = 0; input < kInputs; ++input) {
      Word code;  // as it lies in memory: the table knows the byte order
      std::memcpy(&code, in + input * sizeof code, sizeof code);
      const std::uint16_t value = table_[code];
      std::memcpy(out + places_[input], &value, word_.output_bytes());
    }
  }

  WordFormat word_;
  MarkedFrames frames_;
  std::size_t time_bytes_;
  std::vector<std::uint16_t> table_;
  std::int64_t first_ = 0;
  std::size_t lane_ = 0;
  std::vector<std::size_t> places_;
};

class Mwa32tCapture final : public Capture {
 public:
  explicit Mwa32tCapture(const CaptureRequest& request) {
    const WordFormat word = word_format(request.mwa32t);
    describe(request, word);
    const std::size_t n_streams = request.inputs.size(), sample_bytes = word.output_bytes();
    InterleavePlan plan;
    plan.time_bytes = n_streams * kInputs * sample_bytes;
    plan.missing_samples = header_.missing_samples;
    const std::vector<std::size_t> places = input_places(request.facts.input_order, n_streams * kInputs);
    const MarkerPattern pattern(request.mwa32t.marker, request.mwa32t.word_bits);
    // All of them are open before the first is waited for: they may be pipes of one program.
    std::vector<std::unique_ptr<PrefetchSource>> inputs;
    for (const std::string& input : request.inputs) inputs.push_back(std::make_unique<PrefetchSource>(input));
    std::vector<std::unique_ptr<PacketSource>> sources;
    std::uint32_t reference = 0;
    for (std::size_t stream = 0; stream < n_streams; ++stream) {
      auto source = std::make_unique<ReceiverFrames>(std::move(inputs[stream]), pattern, request.mwa32t, word,
                                                     plan.time_bytes);
      const std::uint32_t count = source->frames().first_count();
      if (stream == 0) reference = count;
      // The nearest turn of the counter.
      const auto turn = static_cast<std::int64_t>(pattern.turn());
      std::int64_t first = (static_cast<std::int64_t>(count) - reference + turn) % turn;
      if (first > turn / 2) first -= turn;
      plan.first = std::min(plan.first, first);

      Lane lane{stream, {}};
      std::vector<std::size_t> bytes;
      for (std::size_t input = 0; input < kInputs; ++input) {
        const std::size_t place = places[stream * kInputs + input];
        bytes.push_back(place * sample_bytes);
        lane.blank.emplace_back(place / 2 * 2 * sample_bytes, 2 * sample_bytes);
      }
      plan.lanes.push_back(std::move(lane));
      source->settle(first, stream, std::move(bytes));
      const std::uint64_t n_frames = source->frames().input_bytes_or(0) / ((kInputs + 1) * word.bytes);
      expected_ = std::max(expected_, n_frames);
      sources.push_back(std::move(source));
    }
    interleaver_ = std::make_unique<Interleaver>(std::move(sources), std::move(plan));
    memory_ = interleaver_->memory_bytes() +
              n_streams * (PrefetchSource::kPieces + 4) * PrefetchSource::kPieceBytes;
  }
  const VoltageHeader& header() const override { return header_; }
  bool read(std::vector<std::uint8_t>& samples) override { return interleaver_->read(samples); }
  std::vector<StreamReport> reports() const override { return interleaver_->reports(); }
  std::optional<std::uint64_t> expected_samples() const override {
    return expected_ > 0 ? std::optional(expected_) : std::nullopt;
  }
  std::uint64_t memory_bytes() const override { return memory_; }

 private:
  void describe(const CaptureRequest& request, const WordFormat& word) {
    header_.telescope = "MWA-32T";
    header_.bandwidth_hz = kBandwidth_hz;
    header_.sample_s = 1 / kBandwidth_hz;
    header_.n_ant = request.inputs.size() * kInputs / 2;
    header_.n_pol = 2;
    header_.n_bit = word.output_bits;
    if (word.output_bits == 5) header_.encoding = SampleEncoding::pack5x5;
    if (word.output_bits == 4 && word.n_bit == 5) header_.scale = 2;
    header_.missing_samples =
        request.facts.missing_samples > 0 ? request.facts.missing_samples : kMissingSamples;
    apply_facts(header_, request.facts);
  }

  VoltageHeader header_;
  std::unique_ptr<Interleaver> interleaver_;
  std::uint64_t expected_ = 0, memory_ = 0;
};

}  // namespace

std::unique_ptr<Capture> open_mwa32t(const CaptureRequest& request) {
  return std::make_unique<Mwa32tCapture>(request);
}

}  // namespace apsyn
