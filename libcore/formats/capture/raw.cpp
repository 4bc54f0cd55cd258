// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/raw.h"

#include <algorithm>
#include <filesystem>

#include "libcore/base/error.h"
#include "libcore/files/input.h"

namespace apsyn {
namespace {

constexpr std::size_t kRawBlockBytes = 4u << 20;

SampleEncoding encoding_of(const std::string& name) {
  if (name == "OFFSETBINARY") return SampleEncoding::offset_binary;
  if (name == "FLOAT") return SampleEncoding::floating;
  if (name == "PACK5X5") return SampleEncoding::pack5x5;
  return SampleEncoding::twos_complement;
}

class RawCapture final : public Capture {
 public:
  explicit RawCapture(const CaptureRequest& request)
      : inputs_(request.inputs), skip_bytes_(request.raw.skip_bytes) {
    const RawOptions& raw = request.raw;
    const CaptureFacts& facts = request.facts;
    header_.n_bit = raw.n_bit;
    header_.n_dim = raw.n_dim;
    header_.n_ant = facts.n_ant;
    header_.n_chan = facts.n_chan;
    header_.n_pol = facts.n_pol;
    header_.order = raw.order;
    header_.block_samples = raw.block_samples;
    header_.encoding = encoding_of(facts.encoding);
    header_.byte_order = raw.byte_order;
    if (facts.missing_samples > 0) header_.missing_samples = facts.missing_samples;
    for (const auto& [option, value] : {std::pair{"--bits", std::size_t{raw.n_bit}},
                                        {"--antenna-count", facts.n_ant},
                                        {"--channels", facts.n_chan},
                                        {"--pols", facts.n_pol}})
      if (value == 0) throw UsageError("{0}: missing: samples without a header: give {0}", option);
    apply_facts(header_, facts);
    // What no reader would take is refused before a byte is written.
    try {
      header_ = parse_voltage_header(format_voltage_header(header_), "the header");
    } catch (const DataError& error) {
      throw UsageError(
          "{} (--bits, --real, --encoding, --order, --heap, --channels, --pols, --antenna-count)",
          error.what());
    }
    open_next();
    report_.name = inputs_.size() == 1 ? source_->name() : inputs_[0] + " ...";
    for (const std::string& input : inputs_) {
      std::error_code error;  // a pipe must not be opened twice
      known_ &= std::filesystem::is_regular_file(input, error);
      if (!known_) break;
      const std::uint64_t size = std::filesystem::file_size(input);
      total_bytes_ += size - std::min(size, skip_bytes_);
    }
    if (known_) check_whole(total_bytes_);
  }
  const VoltageHeader& header() const override { return header_; }
  bool read(std::vector<std::uint8_t>& samples) override {
    const std::size_t unit = header_.unit_bytes();
    samples.resize(std::max<std::size_t>(1, kRawBlockBytes / unit) * unit);
    std::size_t got = 0;
    while (source_ && got < samples.size()) {
      const std::size_t n = source_->read(samples.data() + got, samples.size() - got);
      got += n;
      if (got < samples.size()) open_next();
    }
    samples.resize(got);
    done_bytes_ += got;
    if (got % unit != 0) check_whole(done_bytes_);
    report_.intact = done_bytes_ / unit;
    return got > 0;
  }
  std::vector<StreamReport> reports() const override { return {report_}; }
  std::optional<std::uint64_t> expected_samples() const override {
    if (!known_) return std::nullopt;
    return total_bytes_ * 8 / header_.bits_per_time();
  }
  std::uint64_t memory_bytes() const override { return 5 * (kRawBlockBytes + header_.unit_bytes()); }

 private:
  void open_next() {
    source_.reset();
    if (next_ == inputs_.size()) return;
    source_ = std::make_unique<ByteSource>(inputs_[next_++]);
    if (skip_bytes_ > 0) source_->skip(skip_bytes_);
  }
  void check_whole(std::uint64_t n_bytes) const {
    if (n_bytes % header_.unit_bytes() != 0)
      throw DataError(
          "{}: {} bytes are no whole number of samples or heaps of {} bytes: check --bits, --channels, "
          "--pols, --antenna-count, --heap and --skip",
          report_.name, n_bytes, header_.unit_bytes());
  }

  VoltageHeader header_;
  std::vector<std::string> inputs_;
  std::uint64_t skip_bytes_ = 0, total_bytes_ = 0, done_bytes_ = 0;
  bool known_ = true;
  std::size_t next_ = 0;
  std::unique_ptr<ByteSource> source_;
  StreamReport report_;
};

}  // namespace

std::unique_ptr<Capture> open_raw(const CaptureRequest& request) {
  return std::make_unique<RawCapture>(request);
}

}  // namespace apsyn
