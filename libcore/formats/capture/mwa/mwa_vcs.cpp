// SPDX-License-Identifier: GPL-3.0-or-later
// A file holds a second of one coarse channel: 10000 times [fine channel][input], 128 channels of 10 kHz and
// one byte of 4+4 bits for each input, in two's complement. The metafits tells the place of each input
// (VCSOrder). There is no header: the name, OBSID_SECOND_chNNN.dat, tells GPS second and coarse channel.
//
// The MWA's own beamformers (vcstools, vcsbeam) take the low half of a byte for the real part; streams have
// it in the high half. Fine channel k of coarse channel n is centred on n 1.28 MHz + (k - 64) 10 kHz.
#include "libcore/formats/capture/mwa/mwa_vcs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/formats/capture/frames/input_window.h"
#include "libcore/formats/capture/frames/interleave.h"
#include "libcore/formats/capture/mwa/mwa_time.h"
#include "libcore/formats/fits/metafits.h"

namespace apsyn {
namespace {

constexpr std::size_t kFine = 128, kRate = 10000;  // channels, samples of each in a second
constexpr double kFine_hz = 10e3;

struct VcsFile {
  std::string path;
  std::int64_t gps_s = 0, channel = -1;  ///< -1: the name does not tell
};

/// The integer that all of `text` is, or -1.
std::int64_t number_of(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

VcsFile file_of(const std::string& path) {
  std::string_view name = path;
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
  const std::size_t last = name.rfind("_ch");
  const std::size_t before = last == name.npos || last == 0 ? name.npos : name.rfind('_', last - 1);
  if (before == name.npos || !name.ends_with(".dat")) return {path};
  VcsFile file{path, number_of(name.substr(before + 1, last - before - 1)),
               number_of(name.substr(last + 3, name.size() - last - 7))};
  const bool good = file.gps_s >= kGpsOf2000_s && file.gps_s <= kMaxGps_s && file.channel >= 0 &&
                    file.channel < kMwaChannels;
  return good ? file : VcsFile{path};
}

/// One coarse channel's files, one after the other; places are samples.
class VcsChannel final : public PacketSource {
 public:
  VcsChannel(std::vector<VcsFile> files, std::size_t lane, std::int64_t first_gps_s, double max_gap_s)
      : files_(std::move(files)), lane_(lane), first_gps_s_(first_gps_s), max_gap_s_(max_gap_s) {
    report_.name = files_[0].path + (files_.size() > 1 ? " ..." : "");
    open_next();
    report_.name = files_.size() > 1 ? report_.name : window_->source().name();
  }
  /// `places` as input_places().
  void settle(std::vector<std::size_t> places, const std::array<std::uint8_t, 256>& table,
              std::size_t time_bytes) {
    places_ = std::move(places);
    table_ = table;
    time_bytes_ = time_bytes;
  }

  bool next(PacketRun& run) override {
    window_->drop(std::exchange(taken_, 0));
    const std::size_t sample_bytes = kFine * places_.size();
    for (;;) {
      const std::size_t held =
          window_->hold(std::max<std::size_t>(1, kHoldBytes / sample_bytes) * sample_bytes);
      const std::size_t n = held / sample_bytes;
      if (n > 0) {
        taken_ = n * sample_bytes;
        run = {place_, n, lane_};
        place_ += static_cast<std::int64_t>(n);
        return true;
      }
      if (held > 0) {  // the file ends inside a sample
        if (!report_.first_trouble) report_.first_trouble = window_->offset();
        ++report_.damaged;
      }
      if (next_file_ == files_.size()) return false;
      open_next();
    }
  }
  void decode(std::size_t skip, std::size_t n, std::uint8_t* out) const override {
    const std::size_t n_inputs = places_.size();
    const std::uint8_t* in = window_->data() + skip * kFine * n_inputs;
    out += lane_ * kFine * n_inputs;
    for (std::size_t t = 0; t < n; ++t, out += time_bytes_ - kFine * n_inputs)
      for (std::size_t chan = 0; chan < kFine; ++chan, in += n_inputs, out += n_inputs)
        for (std::size_t input = 0; input < n_inputs; ++input) out[places_[input]] = table_[in[input]];
  }
  StreamReport report() const override { return report_; }

 private:
  static constexpr std::size_t kHoldBytes = 1u << 20;

  void open_next() {
    const VcsFile& file = files_[next_file_++];
    const std::int64_t place = (file.gps_s - first_gps_s_) * static_cast<std::int64_t>(kRate);
    const double gap_s = static_cast<double>(place - place_) / kRate;
    if (gap_s > max_gap_s_)
      throw DataError(
          "{}: begins {} s after the file before it: more than --max-gap {}s: raise it to fill the pause "
          "with "
          "missing data, or ingest the parts by themselves",
          file.path, gap_s, max_gap_s_);
    window_ = std::make_unique<InputWindow>(std::make_unique<PrefetchSource>(file.path));
    window_->hold(1);
    if (recognise(window_->beginning()).certain)
      throw DataError("{}: byte 0: no samples of mwa-vcs{}", window_->source().name(),
                      foreign_hint(window_->beginning(), "mwa-vcs"));
    if (place > place_ && !report_.first_trouble) report_.first_trouble = 0;  // the seconds before it
    place_ = place;
  }

  std::vector<VcsFile> files_;
  std::size_t lane_, next_file_ = 0, taken_ = 0, time_bytes_ = 0;
  std::int64_t first_gps_s_, place_ = 0;
  double max_gap_s_;
  std::unique_ptr<InputWindow> window_;
  std::vector<std::size_t> places_;  ///< [input] -> byte within a channel of a time sample
  std::array<std::uint8_t, 256> table_{};
  StreamReport report_;
};

/// [byte] -> the same sample with its real part in the high half.
std::array<std::uint8_t, 256> sample_table(const MwaVcsOptions& options) {
  const int real = options.real_bit < 0 ? (options.imag_bit == 0 ? 4 : 0) : options.real_bit;
  const int imag = options.imag_bit < 0 ? 4 - real : options.imag_bit;
  if ((real != 0 && real != 4) || imag != 4 - real)
    throw UsageError("--real-bit {}, --imag-bit {}: mwa-vcs has one part in bit 0 on and one in bit 4 on",
                     real, imag);
  std::array<std::uint8_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte)
    table[byte] = static_cast<std::uint8_t>((byte >> real & 0xF) << 4 | (byte >> imag & 0xF));
  return table;
}

/// [captured input] -> byte of a channel, from the metafits or the options.
std::vector<std::size_t> vcs_places(const CaptureFacts& facts) {
  if (!facts.input_order.empty()) return input_places(facts.input_order, facts.input_order.size());
  if (facts.layout.metafits.empty())
    throw UsageError(
        "--metafits: missing: the files do not tell which input is where: give --metafits or "
        "--input-order");
  const std::vector<MwaInput> inputs = read_metafits_inputs(facts.layout.metafits);
  std::vector<std::size_t> places(inputs.size());
  for (const MwaInput& input : inputs) places[input.vcs_order] = 2 * input.antenna + input.pol;
  return places;
}

class MwaVcsCapture final : public InterleavedCapture {
 public:
  explicit MwaVcsCapture(const CaptureRequest& request) {
    const CaptureFacts& facts = request.facts;
    const auto table = sample_table(request.mwa_vcs);
    const std::vector<std::size_t> places = vcs_places(facts);
    if (places.size() % 2 != 0) throw UsageError("--input-order: give two polarisations of every antenna");
    std::map<std::int64_t, std::vector<VcsFile>> channels;
    for (const std::string& path : request.inputs) {
      const VcsFile file = file_of(path);
      if (file.channel < 0 && request.inputs.size() > 1)
        throw UsageError(
            "{}: the name is not OBSID_SECOND_chNNN.dat, so that its place among several files is not known: "
            "rename it, or ingest it by itself with --freq and --start",
            path);
      channels[file.channel].push_back(file);
    }
    const std::int64_t first = channels.begin()->first, last = channels.rbegin()->first;
    if (static_cast<std::size_t>(last - first) + 1 != channels.size())
      throw UsageError("coarse channels {} to {}: {} of them are there: give neighbouring ones", first, last,
                       channels.size());
    std::int64_t first_gps_s = kMaxGps_s;
    for (auto& [channel, files] : channels) {
      std::stable_sort(files.begin(), files.end(),
                       [](const VcsFile& a, const VcsFile& b) { return a.gps_s < b.gps_s; });
      first_gps_s = std::min(first_gps_s, files[0].gps_s);
    }
    describe(places.size(), first, channels.size(), first_gps_s, facts);
    InterleavePlan plan;
    plan.time_bytes = channels.size() * kFine * places.size();
    plan.missing_samples = header_.missing_samples;
    std::vector<std::unique_ptr<PacketSource>> sources;
    for (auto& [channel, files] : channels) {
      auto source =
          std::make_unique<VcsChannel>(std::move(files), sources.size(), first_gps_s, facts.max_gap_s);
      source->settle(places, table, plan.time_bytes);
      plan.lanes.push_back({sources.size(), {{0, plan.time_bytes}}});
      sources.push_back(std::move(source));
    }
    memory_ = channels.size() * (2 * PrefetchSource::kPieces + 4) * PrefetchSource::kPieceBytes;
    interleaver_ = std::make_unique<Interleaver>(std::move(sources), std::move(plan));
    memory_ += interleaver_->memory_bytes();
  }

 private:
  void describe(std::size_t n_inputs, std::int64_t channel, std::size_t n_channels, std::int64_t gps_s,
                const CaptureFacts& facts) {
    header_.telescope = "MWA";
    header_.n_chan = n_channels * kFine;
    header_.n_ant = n_inputs / 2;
    header_.n_pol = 2;
    header_.n_bit = 4;
    header_.missing_samples = facts.missing_samples > 0 ? facts.missing_samples : 1;
    header_.sample_s = 1.0 / kRate;
    header_.bandwidth_hz = static_cast<double>(header_.n_chan) * kFine_hz;
    if (channel >= 0) {
      const double middle = static_cast<double>(channel) + (static_cast<double>(n_channels) - 1) / 2;
      header_.freq_hz = kMwaCoarse_hz * middle - kFine_hz / 2;
      header_.start = mwa_time(gps_s);
    }
    apply_facts(header_, facts);
  }
};

}  // namespace

std::unique_ptr<Capture> open_mwa_vcs(const CaptureRequest& request) {
  return std::make_unique<MwaVcsCapture>(request);
}

}  // namespace apsyn
