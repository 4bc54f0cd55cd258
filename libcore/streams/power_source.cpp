// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/power_source.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/filterbank/reader.h"
#include "libcore/streams/detect.h"
#include "libcore/streams/open_voltages.h"

namespace apsyn {

namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

std::vector<std::size_t> parse_ifs(const std::string& text, std::size_t n_if) {
  std::vector<std::size_t> ifs;
  if (text.empty()) return n_if == 2 ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{0};
  for (std::string_view piece : split(text, ',')) {
    const std::optional<double> value = finite_number(piece);
    if (!value || *value < 0 || *value != std::floor(*value) || *value >= static_cast<double>(n_if))
      throw UsageError("--ifs {}: the input has {} products: give whole numbers from 0 to {}", text, n_if,
                       n_if - 1);
    ifs.push_back(static_cast<std::size_t>(*value));
  }
  return ifs;
}

class FilterbankPowers final : public PowerSource {
 public:
  FilterbankPowers(const std::string& path, const std::string& ifs) : reader_(path) {
    const FilterbankInput& input = reader_.input();
    ifs_ = parse_ifs(ifs, input.header.n_if);
    name = reader_.name();
    source = input.header.source;
    start = input.header.start;
    sample_s = input.header.sample_s;
    values_per_sample = input.header.n_if * input.header.n_chan;
    n_samples = reader_.n_samples();
    for (std::size_t chan = 0; chan < input.header.n_chan; ++chan)
      channel_hz.push_back(input.channel_hz(chan));
  }

  bool read(std::size_t n_time, Buffer<float, 2>& samples) override {
    const std::size_t n = reader_.read(n_time, all_), n_chan = channel_hz.size();
    samples.resize({n, n_chan});
    const bool floating = reader_.header().n_bit == 32;
    for (std::size_t t = 0; t < n; ++t) {
      float* row = &samples(t, 0);
      std::fill_n(row, n_chan, 0.0f);
      bool any = false;
      for (std::size_t which : ifs_)
        for (std::size_t chan = 0; chan < n_chan; ++chan) {
          const float x = all_(t, which, chan);
          any |= x != 0;
          row[chan] += floating && x == 0 ? kMissing : x;
        }
      if (!any) std::fill_n(row, n_chan, kMissing);
    }
    return n > 0;
  }

 private:
  FilterbankReader reader_;
  std::vector<std::size_t> ifs_;
  Buffer<float, 3> all_;
};

class VoltagePowers final : public PowerSource {
 public:
  explicit VoltagePowers(const std::string& path) : voltages_(open_voltages(path, {})) {
    const VoltageHeader& header = voltages_.reader.header();
    name = voltages_.reader.name();
    if (header.n_ant != 1)
      throw UsageError("{}: {} antennas: make them a beam with beamform", name, header.n_ant);
    if (header.n_dim != 2)
      throw UsageError("{}: real samples: make channels of them with beamform --channels", name);
    source = header.source;
    start = header.start;
    sample_s = header.sample_s;
    values_per_sample = header.n_chan * header.n_pol * 2;
    if (voltages_.n_samples >= 0) n_samples = static_cast<std::uint64_t>(voltages_.n_samples);
    for (std::size_t chan = 0; chan < header.n_chan; ++chan)
      channel_hz.push_back(header.channel_freq_hz(chan));
  }

  bool read(std::size_t n_time, Buffer<float, 2>& samples) override {
    if (!voltages_.read(block_, n_time)) return false;
    const VoltageHeader& header = voltages_.reader.header();
    const std::size_t n_chan = header.n_chan, n_pol = header.n_pol;
    samples.resize({block_.n_time, n_chan});
    const auto scale = static_cast<float>(header.scale * header.scale / static_cast<double>(n_pol));
    for (std::size_t t = 0; t < block_.n_time; ++t)
      for (std::size_t chan = 0; chan < n_chan; ++chan) {
        float power = 0;
        for (std::size_t i = 0; i < 2 * n_pol; ++i) {
          const float x = block_.integer ? static_cast<float>(block_.samples_i8(t, chan, 0, i / 2, i % 2))
                                         : block_.samples_f32(t, chan, 0, i / 2, i % 2);
          power += x * x;
        }
        const bool missing =
            !block_.is_valid(t, 0) || (block_.not_finite.size() > 0 && block_.not_finite(t, chan, 0) != 0);
        samples(t, chan) = missing ? kMissing : power * scale;
      }
    return true;
  }

 private:
  OpenedVoltages voltages_;
  VoltageBlock block_;
};

}  // namespace

std::unique_ptr<PowerSource> open_filterbank_powers(const std::string& path, const std::string& ifs) {
  return std::make_unique<FilterbankPowers>(path, ifs);
}

std::unique_ptr<PowerSource> open_powers(const std::string& path, const std::string& ifs) {
  const InputKind kind = detect_input(path);
  if (kind == InputKind::filterbank) return open_filterbank_powers(path, ifs);
  if (kind != InputKind::voltage)
    throw DataError("{}: a {}: give a SIGPROC filterbank or a voltage stream", path, input_kind_name(kind));
  if (!ifs.empty()) throw UsageError("--ifs {}: {}: voltages have no products", ifs, path);
  return std::make_unique<VoltagePowers>(path);
}

}  // namespace apsyn
