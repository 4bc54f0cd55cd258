// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/voltage_summary/voltage_summary.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "kernels/common/math/fft.h"
#include "libcore/base/constants.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t kLevels = 256;
constexpr std::size_t kEnoughChannels = 32, kSpectrumBins = 512;

/// Halves the time resolution.
void widen(VoltageSummary& s) {
  for (std::size_t input = 0; input < s.n_inputs(); ++input)
    for (std::size_t i = 0; i < s.time.n; ++i) {
      const bool inside = 2 * i < s.time.n;
      s.power_sum(input, i) = inside ? s.power_sum(input, 2 * i) + s.power_sum(input, 2 * i + 1) : 0;
      s.n_power(input, i) = inside ? s.n_power(input, 2 * i) + s.n_power(input, 2 * i + 1) : 0;
    }
  s.time.width *= 2;
}

struct Sample {
  float re, im;
};

/// Both kinds of blocks alike.
class Samples {
 public:
  explicit Samples(const VoltageBlock& block) : block_(block) {}
  Sample operator()(std::size_t t, std::size_t chan, std::size_t ant, std::size_t pol) const {
    if (!block_.integer)
      return {block_.samples_f32(t, chan, ant, pol, 0), block_.samples_f32(t, chan, ant, pol, 1)};
    return {static_cast<float>(block_.samples_i8(t, chan, ant, pol, 0)),
            static_cast<float>(block_.samples_i8(t, chan, ant, pol, 1))};
  }
  bool good(std::size_t t, std::size_t chan, std::size_t ant) const {
    return block_.is_valid(t, ant) && (block_.not_finite.size() == 0 || block_.not_finite(t, chan, ant) == 0);
  }

 private:
  const VoltageBlock& block_;
};

}  // namespace

struct VoltageSummariser::Transform {
  ComplexFft<float> fft;
  std::vector<Buffer<std::complex<float>, 1>> data;  // [thread]
  Transform(std::size_t n, unsigned n_threads) : fft(n, 1, FftSign::minus), data(n_threads) {
    for (auto& of_thread : data) of_thread.resize({n});
  }
};

VoltageSummariser::~VoltageSummariser() = default;

VoltageSummariser::VoltageSummariser(const VoltageHeader& header, unsigned n_threads)
    : n_threads_(static_cast<unsigned>(std::min<std::size_t>(std::max(1u, n_threads), header.n_ant))) {
  VoltageSummary& s = summary_;
  s.telescope = header.telescope;
  s.flux_unit = header.flux_unit;
  s.source = header.source;
  s.start = header.start;
  s.sample_s = header.sample_s;
  s.n_ant = header.n_ant, s.n_pol = header.n_pol, s.n_chan = header.n_chan;
  s.n_bit = header.n_bit, s.n_dim = header.n_dim;
  s.power_sum.resize({s.n_inputs(), s.time.n});
  s.n_power.resize({s.n_inputs(), s.time.n});
  s.levels.resize({s.n_inputs(), kLevels});
  s.n_values.assign(s.n_inputs(), 0);
  s.n_saturated.assign(s.n_inputs(), 0);
  s.n_missing.assign(s.n_ant, 0);
  if (s.n_chan < kEnoughChannels) {
    while (n_fine_ * s.n_chan < kSpectrumBins) n_fine_ *= 2;
    transform_ = std::make_unique<Transform>(n_fine_, n_threads_);
    for (std::size_t i = 0; i < n_fine_; ++i)
      window_.push_back(static_cast<float>(
          0.5 - 0.5 * std::cos(kTwoPi * static_cast<double>(i) / static_cast<double>(n_fine_))));
  }
  place_frequencies(header);
}

/// The frequency of each channel's fine bins, wherever the orders of FFT and channels put them.
void VoltageSummariser::place_frequencies(const VoltageHeader& header) {
  VoltageSummary& s = summary_;
  std::vector<double> hz;
  for (std::size_t chan = 0; chan < s.n_chan; ++chan)
    for (std::size_t k = 0; k < n_fine_; ++k) {
      double offset = static_cast<double>(k) / static_cast<double>(n_fine_);
      if (n_fine_ > 1 && offset >= 0.5) offset -= 1;
      // a real channel holds its band once, from 0 up to half the sampling rate
      if (s.n_dim == 1 && n_fine_ > 1) offset = std::abs(offset) - 0.25;
      // conjugates (SIDEBAND_CONJ) are undone by the reader; real samples stay those of a lower sideband
      const double side = s.n_dim == 1 && header.bandwidth_hz < 0 ? -1 : 1;
      hz.push_back(header.channel_freq_hz(chan) + side * offset / s.sample_s);
    }
  s.freq_hz = hz;
  std::sort(s.freq_hz.begin(), s.freq_hz.end());
  s.freq_hz.erase(std::unique(s.freq_hz.begin(), s.freq_hz.end()), s.freq_hz.end());
  for (double one : hz)
    position_.push_back(static_cast<std::size_t>(std::lower_bound(s.freq_hz.begin(), s.freq_hz.end(), one) -
                                                 s.freq_hz.begin()));
  s.spectrum.resize({s.n_inputs(), s.freq_hz.size()});
  s.n_spectrum.resize({s.n_inputs(), s.freq_hz.size()});
}

void VoltageSummariser::prepare_levels(const VoltageBlock& block) {
  summary_.integer = block.integer;
  if (block.integer) return;
  // one bin is an eighth of the first block's RMS, so the histogram reaches 16 RMS
  double sum = 0;
  for (float value : block.samples_f32) sum += static_cast<double>(value) * value;
  const double rms = std::sqrt(sum / static_cast<double>(std::max<std::size_t>(1, block.samples_f32.size())));
  summary_.level_step = rms > 0 ? rms / 8 : 1;
}

template <class Work>
void VoltageSummariser::share_antennas(Work&& work) {
  parallel_for(n_threads_, n_threads_, [&](std::size_t share, unsigned thread) {
    work(Antennas{summary_.n_ant * share / n_threads_, summary_.n_ant * (share + 1) / n_threads_}, thread);
  });
}

/// As many samples at a time as the bins of time hold at their present width.
void VoltageSummariser::add_samples(const VoltageBlock& block) {
  VoltageSummary& s = summary_;
  for (std::size_t first = 0; first < block.n_time;) {
    while (!s.time.holds(static_cast<double>(s.n_time))) widen(s);
    const auto room = static_cast<std::size_t>(s.time.high()) - static_cast<std::size_t>(s.n_time);
    const std::size_t n = std::min(room, block.n_time - first);
    share_antennas([&](Antennas antennas, unsigned) {
      if (block.integer)
        add_samples_of(block, block.samples_i8.data(), first, n, antennas);
      else
        add_samples_of(block, block.samples_f32.data(), first, n, antennas);
    });
    s.n_time += static_cast<std::int64_t>(n);
    first += n;
  }
}

/// Samples [first, first + n) of the block, `samples` [time][chan][ant][pol][re, im]. Powers of one bin of
/// time are added up beside the summary, where inputs lie next to each other.
template <class T>
void VoltageSummariser::add_samples_of(const VoltageBlock& block, const T* samples, std::size_t first,
                                       std::size_t n, Antennas antennas) {
  VoltageSummary& s = summary_;
  const float limit = block.integer ? static_cast<float>((1 << (s.n_bit - 1)) - 1) : INFINITY;
  const double per_step = 1 / s.level_step;
  const std::size_t begin = antennas.begin * s.n_pol, n_input = (antennas.end - antennas.begin) * s.n_pol;
  std::vector<double> power(n_input);
  std::vector<std::uint64_t> n_power(n_input), n_values(n_input), n_saturated(n_input);
  std::size_t bin = s.time.bin(static_cast<double>(s.n_time));
  const auto keep = [&] {
    for (std::size_t i = 0; i < n_input; ++i) {
      s.power_sum(begin + i, bin) += std::exchange(power[i], 0.0);
      s.n_power(begin + i, bin) += std::exchange(n_power[i], 0);
    }
  };
  for (std::size_t t = 0; t < n; ++t) {
    const std::size_t next = s.time.bin(static_cast<double>(s.n_time + static_cast<std::int64_t>(t)));
    if (next != bin) keep();
    bin = next;
    const std::uint8_t* valid =
        &block.valid((block.first_valid_row_offset + first + t) / block.missing_samples, 0);
    for (std::size_t chan = 0; chan < s.n_chan; ++chan) {
      const std::size_t row = ((first + t) * s.n_chan + chan) * s.n_ant;
      for (std::size_t ant = antennas.begin; ant < antennas.end; ++ant) {
        if (valid[ant] == 0 || (block.not_finite.size() > 0 && block.not_finite.data()[row + ant] != 0)) {
          s.n_missing[ant] += s.n_pol;
          continue;
        }
        const T* at = samples + (row + ant) * 2 * s.n_pol;
        for (std::size_t pol = 0; pol < s.n_pol; ++pol, at += 2) {
          const std::size_t input = ant * s.n_pol + pol, mine = input - begin;
          const auto re = static_cast<double>(at[0]), im = static_cast<double>(at[1]);
          const double sum = re * re + im * im;
          power[mine] += sum;
          ++n_power[mine];
          for (unsigned part = 0; part < s.n_dim; ++part) {
            std::size_t level = 0;
            if constexpr (std::is_integral_v<T>)
              level = static_cast<std::size_t>(at[part] + 128);
            else
              level = static_cast<std::size_t>(
                  std::clamp(std::floor(static_cast<double>(at[part]) * per_step + 0.5), -128.0, 127.0) +
                  128);
            ++s.levels(input, level);
            if (std::abs(static_cast<float>(at[part])) >= limit) ++n_saturated[mine];
          }
          n_values[mine] += s.n_dim;
          if (transform_) continue;
          s.spectrum(input, position_[chan]) += sum;
          ++s.n_spectrum(input, position_[chan]);
        }
      }
    }
  }
  keep();
  for (std::size_t i = 0; i < n_input; ++i) {
    s.n_values[begin + i] += n_values[i];
    s.n_saturated[begin + i] += n_saturated[i];
  }
}

void VoltageSummariser::add_spectra(const VoltageBlock& block, Antennas antennas, std::complex<float>* data) {
  VoltageSummary& s = summary_;
  const Samples samples(block);
  for (std::size_t begin = 0; begin + n_fine_ <= block.n_time; begin += n_fine_)
    for (std::size_t chan = 0; chan < s.n_chan; ++chan)
      for (std::size_t ant = antennas.begin; ant < antennas.end; ++ant) {
        bool whole = true;
        for (std::size_t i = 0; whole && i < n_fine_; ++i) whole = samples.good(begin + i, chan, ant);
        for (std::size_t pol = 0; whole && pol < s.n_pol; ++pol) {
          for (std::size_t i = 0; i < n_fine_; ++i) {
            const Sample e = samples(begin + i, chan, ant, pol);
            data[i] = {e.re * window_[i], e.im * window_[i]};
          }
          transform_->fft.execute(data);
          for (std::size_t k = 0; k < n_fine_; ++k) {
            const std::size_t at = position_[chan * n_fine_ + k];
            s.spectrum(ant * s.n_pol + pol, at) += std::norm(data[k]);
            ++s.n_spectrum(ant * s.n_pol + pol, at);
          }
        }
      }
}

void VoltageSummariser::add(const VoltageBlock& block) {
  if (summary_.n_time == 0) prepare_levels(block);
  add_samples(block);
  if (!transform_) return;
  share_antennas([&](Antennas antennas, unsigned thread) {
    add_spectra(block, antennas, transform_->data[thread].data());
  });
}

}  // namespace apsyn
