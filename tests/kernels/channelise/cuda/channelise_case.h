// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings through the CUDA F stage, and what its spectra are by definition, in float64. With CUDA only.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/channelise/channelise_cuda.h"
#include "kernels/common/cuda/spectra.cuh"
#include "kernels/common/cuda/transfer.h"
#include "libcore/base/constants.h"
#include "tests/reference/correlate.h"
#include "tests/reference/pfb.h"
#include "tests/support/correlate_setup.h"

namespace apsyn::test {

inline constexpr double kRaised[] = {0.5, 0.54, 1};  // of hann, hamming, rect

/// tau = a + b t + c t^2, bounded: as a tracked source's, with shifts that change, or racing and kinked.
class TestDelays final : public DelaySource {
 public:
  TestDelays(double sample_s, double samples, double rate) : t_s_(sample_s), reach_(samples), rate_(rate) {}
  void prepare(double, double) override {}
  double delay_s(std::size_t ant, double t_s) const override {
    const double sign = ant % 2 == 0 ? 1 : -1, start = reach_ * (static_cast<double>(ant % 5) - 2) / 4;
    const double at = start * t_s_ + sign * rate_ * t_s + 1e-9 * t_s * t_s;
    return std::clamp(at, -reach_ * t_s_, reach_ * t_s_);
  }
  double max_delay_s() const override { return reach_ * t_s_; }

 private:
  double t_s_, reach_, rate_;
};

struct Case {
  std::size_t n_chan = 1, n_ant = 4, n_pol = 2, n_fine = 128, n_taps = 0;
  Window window = Window::hann;
  bool real = false, descending = false, four_bit = false, floats = false, drop = false;
  double reach = 0, rate = 0;  ///< of delays, samples and seconds per second; 0 = none
  int amplitude = 20;
  std::size_t n_spectra = 70;
  bool dither = false;
  std::size_t gulp = 0;
};

inline Recording record(const Case& c, unsigned seed) {
  auto header = voltage_header(c.n_chan, c.n_ant, c.n_pol, c.descending ? -2e6 : 2e6, 150e6);
  if (c.real) {
    header.n_dim = 1;
    header.sample_s /= 2;
  }
  const std::size_t length = c.real ? 2 * c.n_fine : c.n_fine;
  Recording recording(header, (c.n_spectra + 8) * length + 3);
  recording.integer = !c.floats;
  std::mt19937 random(seed);
  const int top = c.four_bit ? 7 : c.amplitude, low = c.four_bit ? -8 : -c.amplitude;
  std::uniform_int_distribution<int> uniform(low, top);
  for (auto& sample : recording.samples) {
    const float re = static_cast<float>(uniform(random));
    sample = {re, c.real ? 0 : static_cast<float>(uniform(random))};
  }
  if (c.drop)
    for (std::size_t row = 0; row < recording.valid.size() / c.n_ant; ++row)
      for (std::size_t ant = 0; ant < c.n_ant; ++ant)
        recording.valid[row * c.n_ant + ant] = random() % 40 != 0;
  return recording;
}

/// What comes back from the device, with the plan that it was made by.
struct Output {
  CudaChannelisePlan plan;
  std::int64_t n_spectra = 0;
  std::vector<std::int8_t> integers;        // layout
  std::vector<std::complex<float>> floats;  // [channel][spectrum][input]
  x_layout::Layout layout;
  std::vector<std::uint8_t> valid;     // [ant][spectrum]
  std::vector<float> scales;           // [chan][input]
  std::vector<std::uint64_t> clipped;  // [chan][input]
};

inline Output run(const Case& c, const Recording& recording, DelaySource* delays, bool integers) {
  Output out;
  out.plan.f = plan_channelise(recording.header, c.n_fine, 2, {c.n_taps, c.window});
  out.plan.requantisation = {integers ? 8u : 0u, c.dither};
  out.plan.n_spectra = 1 << 30;
  out.plan.integer = !c.floats;
  out.plan.four_bit = c.four_bit;
  out.plan.gulp_samples = std::max(cuda_gulp_samples(out.plan, 1), c.gulp > 0 ? c.gulp : recording.n_time);
  const auto source = make_cuda_channeliser(out.plan, delays, 0);
  const std::size_t n_input = c.n_ant * c.n_pol, n_channel = c.n_chan * c.n_fine;
  const auto all = static_cast<std::size_t>(recording.n_time / out.plan.f.n_sample);
  out.layout.n_chan = static_cast<int>(n_channel);
  out.layout.n_blocks = static_cast<int>((all + 63) / 64);
  out.layout.n_input = static_cast<int>(n_input);
  out.layout.n_input_padded = static_cast<int>((n_input + 63) / 64 * 64);
  DeviceArray<std::int8_t> spectra_i8(integers ? out.layout.bytes() : 1);
  DeviceArray<float2> spectra_f32(integers ? 1 : n_channel * all * n_input);
  fill_bytes(spectra_i8.data(), 0x55, spectra_i8.size());
  fill_bytes(spectra_f32.data(), 0x7f, spectra_f32.size());
  cuda_check(cudaDeviceSynchronize(), "poisoning");
  CopyStream stream;
  out.valid.assign(c.n_ant * all, 2);
  std::int64_t next = 0;
  const auto take = [&](bool end) {
    const std::int64_t held = source->available() - next;
    SpectraBlock validity;
    // whole rows of the layout, so that each lies where it belongs
    validity.n_spectra = static_cast<std::size_t>(end ? held : held / 64 * 64);
    validity.n_spectra = std::min(validity.n_spectra, source->max_spectra() / 64 * 64);
    if (validity.n_spectra == 0) return false;
    const auto first = static_cast<std::size_t>(next);
    if (integers)
      source->spectra(next, validity, out.layout, spectra_i8.data() + first / 64 * out.layout.block_bytes(),
                      stream.get());
    else
      source->spectra(next, validity, all * n_input, spectra_f32.data() + first * n_input, stream.get());
    for (std::size_t ant = 0; ant < c.n_ant; ++ant)
      for (std::size_t i = 0; i < validity.n_spectra; ++i)
        out.valid[ant * all + first + i] = validity.valid(0, ant, i);
    next += static_cast<std::int64_t>(validity.n_spectra);
    if (integers) out.scales.assign(source->scales(0).begin(), source->scales(0).end());
    source->release(next);
    return true;
  };
  const std::size_t step = c.gulp > 0 ? c.gulp : recording.n_time;
  for (std::size_t first = 0; first < recording.n_time; first += step) {
    const VoltageBlock block = recording.block(first, std::min(step, recording.n_time - first));
    for (std::size_t done = 0; done < block.n_time;) {
      done += source->append(block, done);
      while (take(false)) continue;
    }
  }
  source->end_of_stream();
  while (take(true)) continue;
  cuda_check(cudaStreamSynchronize(stream.get()), "channelising");
  out.n_spectra = next;
  BOOST_REQUIRE(next == static_cast<std::int64_t>(all));
  out.clipped = source->clipped();
  out.integers.resize(spectra_i8.size());
  cuda_check(cudaMemcpy(out.integers.data(), spectra_i8.data(), spectra_i8.size(), cudaMemcpyDeviceToHost),
             "copying");
  out.floats.resize(spectra_f32.size());
  cuda_check(cudaMemcpy(static_cast<void*>(out.floats.data()), spectra_f32.data(),
                        spectra_f32.size() * sizeof(float2), cudaMemcpyDeviceToHost),
             "copying");
  return out;
}

struct Where {
  std::size_t spectrum, chan, fine, ant, pol;
};

/// One value from the definition in channelise.h; false where it has no weight.
inline bool truth_at(const Case& c, const Recording& recording, const ChannelisePlan& plan,
                     const DelaySource* delays, const Where& at, std::complex<double>& truth) {
  const VoltageHeader& header = recording.header;
  const bool mirrored = c.real && c.descending;
  const std::size_t length = plan.n_sample, taps = std::max<std::size_t>(1, c.n_taps), span = length * taps;
  const auto start =
      static_cast<std::int64_t>(at.spectrum * length) - static_cast<std::int64_t>((taps - 1) * length / 2);
  const double middle = static_cast<double>(start) + (static_cast<double>(span) - 1) / 2;
  std::int64_t shift = 0;
  double tau = 0;
  if (delays != nullptr) {
    shift = std::llround(delays->delay_s(at.ant, middle * header.sample_s) / header.sample_s);
    tau = delays->delay_s(at.ant, (middle - static_cast<double>(shift)) * header.sample_s);
  }
  const std::int64_t from = start - shift;
  std::vector<std::complex<double>> x;
  for (auto n = from; n < from + static_cast<std::int64_t>(span); ++n) {
    if (n < 0 || n >= static_cast<std::int64_t>(recording.n_time)) return false;
    if (!recording.is_valid(static_cast<std::size_t>(n), at.ant)) return false;
    x.push_back(const_cast<Recording&>(recording).at(static_cast<std::size_t>(n), at.chan, at.ant, at.pol));
  }
  const double sky = plan.channel_hz()[at.chan * c.n_fine + at.fine],
               centre = header.channel_freq_hz(at.chan);
  const double half = std::abs(header.bandwidth_hz) / static_cast<double>(header.n_chan) / 2;
  const double zero = !c.real ? centre : mirrored ? centre + half : centre - half;
  const double bin = std::round((sky - zero) * static_cast<double>(length) * header.sample_s);
  const double turn = sky * tau - (sky - zero) * static_cast<double>(shift) * header.sample_s;
  const auto transform = [&](double b) {
    if (c.n_taps == 0) return reference::spectrum(x, b, 0);
    return reference::pfb_spectrum(x, {length, c.n_taps, kRaised[static_cast<int>(c.window)]}, b, 0);
  };
  truth = (mirrored ? std::conj(transform(-bin)) : transform(bin)) *
          std::polar(1.0, -kTwoPi * std::fmod(turn, 1.0));
  return true;
}

struct Errors {
  double rms = 0, worst = 0;  ///< of floats, relative to the RMS
  double beyond_half = 0;     ///< of integers, by how much the rounding error exceeds 1/2
  std::size_t wrong = 0;      ///< weights, and values without weight that are not 0
  std::size_t n = 0;
};

inline Errors compare(const Case& c, const Recording& recording, const Output& out, const DelaySource* delays,
                      bool integers, std::size_t n_checks) {
  Errors errors;
  std::mt19937 random(7);
  double power = 0, squares = 0, worst = 0;
  const std::size_t n_input = c.n_ant * c.n_pol;
  const auto all = static_cast<std::size_t>(out.n_spectra);
  for (std::size_t k = 0; k < n_checks; ++k) {
    Where at{random() % all, random() % c.n_chan, random() % c.n_fine, random() % c.n_ant,
             random() % c.n_pol};
    if (k % 4 == 0) at.spectrum = k / 4 % 2 == 0 ? k % 5 % all : all - 1 - k % 5 % all;
    const std::size_t input = at.ant * c.n_pol + at.pol, channel = at.chan * c.n_fine + at.fine;
    std::complex<double> truth = 0;
    const bool valid = truth_at(c, recording, out.plan.f, delays, at, truth);
    errors.wrong += (out.valid[at.ant * all + at.spectrum] != 0) != valid;
    std::complex<double> value;
    if (integers) {
      const std::int8_t* row =
          out.integers.data() + out.layout.row(static_cast<int>(channel), static_cast<int>(at.spectrum / 64),
                                               static_cast<int>(input));
      const int spectrum = static_cast<int>(at.spectrum % 64);
      value = {static_cast<double>(row[x_layout::offset_8bit(static_cast<int>(input), 0, spectrum)]),
               static_cast<double>(row[x_layout::offset_8bit(static_cast<int>(input), 1, spectrum)])};
    } else {
      value = out.floats[(channel * all + at.spectrum) * n_input + input];
    }
    if (!valid) {
      errors.wrong += value != 0.0;
      continue;
    }
    ++errors.n;
    if (!integers) {
      power += std::norm(truth);
      squares += std::norm(value - truth);
      worst = std::max(worst, std::abs(value - truth));
      continue;
    }
    truth *= out.scales[at.chan * n_input + input];
    float dither_re = 0, dither_im = 0;
    if (c.dither)
      requantise_dither(requantise_key(static_cast<std::uint32_t>(channel), static_cast<std::uint32_t>(input),
                                       static_cast<std::int64_t>(at.spectrum)),
                        static_cast<std::uint32_t>(at.spectrum), dither_re, dither_im);
    const auto check = [&](double q, double t) {
      errors.beyond_half = std::max(errors.beyond_half, std::abs(q - std::clamp(t, -127.0, 127.0)) - 0.5);
    };
    check(value.real(), truth.real() + dither_re);
    check(value.imag(), truth.imag() + dither_im);
  }
  if (!integers && errors.n > 0) {
    errors.rms = std::sqrt(squares / power);
    errors.worst = worst / std::sqrt(power / static_cast<double>(errors.n));
  }
  return errors;
}

/// Integers and floats of a recording against their definition.
inline void check(const Case& c, std::size_t n_checks = 400) {
  const Recording recording = record(c, 3);
  TestDelays delays(recording.header.sample_s, c.reach, c.rate);
  DelaySource* source = c.reach > 0 ? &delays : nullptr;
  BOOST_TEST_CONTEXT(c.n_chan << " channels, " << c.n_ant << "x" << c.n_pol << " inputs, " << c.n_fine
                              << " fine, " << c.n_taps << " taps, real " << c.real << ", descending "
                              << c.descending << ", 4 bits " << c.four_bit << ", floats " << c.floats
                              << ", reach " << c.reach << " rate " << c.rate << " gulp " << c.gulp) {
    const Errors integers = compare(c, recording, run(c, recording, source, true), source, true, n_checks);
    BOOST_TEST(integers.wrong == 0u);
    BOOST_TEST(integers.n > n_checks / 8);
    // float32 before rounding: 3e-7 of 24 steps RMS, 5 sigma; measured 0, in one case of 94 2e-6
    BOOST_TEST(integers.beyond_half < 5e-5);
    const Errors floats = compare(c, recording, run(c, recording, source, false), source, false, n_checks);
    BOOST_TEST(floats.wrong == 0u);
    BOOST_TEST(floats.rms < 1e-6);    // measured 2.2e-7
    BOOST_TEST(floats.worst < 4e-6);  // measured 7e-7
    BOOST_TEST_MESSAGE("fine " << c.n_fine << " taps " << c.n_taps << " real " << c.real << ": beyond 1/2 "
                               << integers.beyond_half << ", floats rms " << floats.rms << " worst "
                               << floats.worst);
  }
}

}  // namespace apsyn::test
