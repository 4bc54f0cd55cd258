// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/power_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/formats/filterbank/channels.h"
#include "libcore/streams/detect.h"
#include "libcore/streams/open_samples.h"
#include "libcore/streams/open_voltages.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

std::vector<std::size_t> parse_ifs(const std::string& text, const FilterbankInput& input) {
  const std::size_t n_if = input.header.n_if;
  std::vector<std::size_t> ifs;
  if (text.empty())
    return usual_intensity(n_if, input.products) == IntensityKind::sum ? std::vector<std::size_t>{0, 1}
                                                                       : std::vector<std::size_t>{0};
  for (std::string_view piece : split(text, ',')) {
    const std::optional<double> value = finite_number(piece);
    if (!value || *value < 0 || *value != std::floor(*value) || *value >= static_cast<double>(n_if))
      throw UsageError("--ifs {}: the input has {} products: give whole numbers from 0 to {}", text, n_if,
                       n_if - 1);
    ifs.push_back(static_cast<std::size_t>(*value));
  }
  return ifs;
}

/// Calls work(first, end, thread) for rows of about 64 kB together, on threads.
template <class Work>
void for_rows(unsigned n_threads, std::size_t n_row, std::size_t row_bytes, Work&& work) {
  constexpr std::size_t kBytes = 64u << 10;
  const std::size_t together = std::max<std::size_t>(1, kBytes / std::max<std::size_t>(1, row_bytes));
  parallel_for(n_threads, (n_row + together - 1) / together, [&](std::size_t part, unsigned thread) {
    work(part * together, std::min(n_row, (part + 1) * together), thread);
  });
}

class FilterbankPowers final : public PowerSource {
 public:
  FilterbankPowers(const std::string& path, const std::string& ifs, unsigned n_threads)
      : reader_(open_samples(path)), n_threads_(n_threads) {
    const FilterbankInput& input = reader_->input();
    ifs_ = parse_ifs(ifs, input);
    name = reader_->name();
    source = input.header.source;
    start = input.header.start;
    sample_s = input.header.sample_s;
    values_per_sample = input.header.n_if * input.header.n_chan;
    n_samples = reader_->n_samples();
    telescope = input.telescope;
    telescope_itrf_m = input.telescope_itrf_m;
    barycentric = input.barycentric;
    for (std::size_t chan = 0; chan < input.header.n_chan; ++chan)
      channel_hz.push_back(input.channel_hz(chan));
  }

  bool read(std::size_t n_time, Buffer<float, 2>& samples) override {
    const std::size_t n = reader_->read(n_time, bytes_), n_chan = channel_hz.size();
    const std::size_t row_bytes = reader_->input().bytes_per_sample();
    samples.resize_for_overwrite({n, n_chan});
    decoded_.resize(std::max(1u, n_threads_));
    for_rows(n_threads_, n, row_bytes, [&](std::size_t first, std::size_t end, unsigned thread) {
      Buffer<float, 3>& rows = decoded_[thread];
      rows.resize_for_overwrite({end - first, reader_->header().n_if, n_chan});
      decode_filterbank(reader_->input(),
                        std::span(bytes_).subspan(first * row_bytes, (end - first) * row_bytes),
                        rows.view().span());
      for (std::size_t t = first; t < end; ++t) add_products(rows, t - first, &samples(t, 0));
    });
    return n > 0;
  }

 private:
  void add_products(const Buffer<float, 3>& rows, std::size_t t, float* sum) const {
    const std::size_t n_chan = channel_hz.size();
    const bool floating = reader_->header().n_bit == 32 && !reader_->input().missing_are_nan;
    std::fill_n(sum, n_chan, 0.0f);
    bool any = false;
    for (std::size_t which : ifs_) {
      const float* row = &rows(t, which, 0);
      for (std::size_t chan = 0; chan < n_chan; ++chan) {
        any |= row[chan] != 0;
        sum[chan] += floating && row[chan] == 0 ? kMissing : row[chan];
      }
    }
    if (!any) std::fill_n(sum, n_chan, kMissing);
  }

  std::unique_ptr<SampleReader> reader_;
  unsigned n_threads_;
  std::vector<std::size_t> ifs_;
  std::vector<std::uint8_t> bytes_;
  std::vector<Buffer<float, 3>> decoded_;  ///< of each thread, [time][product][channel]
};

class VoltagePowers final : public PowerSource {
 public:
  VoltagePowers(const std::string& path, unsigned n_threads)
      : voltages_(open_voltages(path, selection(n_threads))), n_threads_(n_threads) {
    const VoltageHeader& header = voltages_.reader.header();
    name = voltages_.reader.name();
    if (header.n_ant != 1)
      throw UsageError("{}: {} antennas: make them a beam with beamform", name, header.n_ant);
    if (header.n_dim != 2)
      throw UsageError("{}: real samples: make channels of them with beamform --channels", name);
    source = header.source;
    start = header.start;
    sample_s = header.sample_s;
    telescope = header.telescope;
    if (header.layout.site) telescope_itrf_m = geocentric_from_site(*header.layout.site);
    values_per_sample = header.n_chan * header.n_pol * 2;
    if (voltages_.n_samples >= 0) n_samples = static_cast<std::uint64_t>(voltages_.n_samples);
    for (std::size_t chan = 0; chan < header.n_chan; ++chan)
      channel_hz.push_back(header.channel_freq_hz(chan));
  }

  bool read(std::size_t n_time, Buffer<float, 2>& samples) override {
    if (!voltages_.read(block_, n_time)) return false;
    const VoltageHeader& header = voltages_.reader.header();
    const std::size_t n_chan = header.n_chan, n_pol = header.n_pol;
    samples.resize_for_overwrite({block_.n_time, n_chan});
    const auto scale = static_cast<float>(header.scale * header.scale / static_cast<double>(n_pol));
    for_rows(n_threads_, block_.n_time, n_chan * n_pol * 2,
             [&](std::size_t first, std::size_t end, unsigned) {
               for (std::size_t t = first; t < end; ++t)
                 if (block_.integer)
                   add_powers(t, &block_.samples_i8(t, 0, 0, 0, 0), scale, &samples(t, 0));
                 else
                   add_powers(t, &block_.samples_f32(t, 0, 0, 0, 0), scale, &samples(t, 0));
             });
    return true;
  }

 private:
  static VoltageSelection selection(unsigned n_threads) {
    VoltageSelection all;
    all.n_threads = n_threads;
    return all;
  }

  /// `row` [chan][pol][re, im] at time t of the block.
  template <class T>
  void add_powers(std::size_t t, const T* row, float scale, float* powers) const {
    const std::size_t n_chan = channel_hz.size(), n_component = 2 * voltages_.reader.header().n_pol;
    const bool valid = block_.is_valid(t, 0);
    for (std::size_t chan = 0; chan < n_chan; ++chan, row += n_component) {
      float power = 0;
      for (std::size_t i = 0; i < n_component; ++i) {
        const auto x = static_cast<float>(row[i]);
        power += x * x;
      }
      const bool missing = !valid || (block_.not_finite.size() > 0 && block_.not_finite(t, chan, 0) != 0);
      powers[chan] = missing ? kMissing : power * scale;
    }
  }

  OpenedVoltages voltages_;
  unsigned n_threads_;
  VoltageBlock block_;
};

}  // namespace

std::unique_ptr<PowerSource> open_filterbank_powers(const std::string& path, const std::string& ifs,
                                                    unsigned n_threads) {
  return std::make_unique<FilterbankPowers>(path, ifs, n_threads);
}

std::unique_ptr<PowerSource> open_powers(const std::string& path, const std::string& ifs,
                                         unsigned n_threads) {
  const InputKind kind = detect_input(path);
  if (kind == InputKind::filterbank) return open_filterbank_powers(path, ifs, n_threads);
  if (kind != InputKind::voltage)
    throw DataError("{}: a {}: give a SIGPROC filterbank, a PSRFITS file or a voltage stream", path,
                    input_kind_name(kind));
  if (!ifs.empty()) throw UsageError("--ifs {}: {}: voltages have no products", ifs, path);
  return std::make_unique<VoltagePowers>(path, n_threads);
}

}  // namespace apsyn
