// SPDX-License-Identifier: GPL-3.0-or-later
// The polyphase filterbank: its definition and its response.
#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "tests/reference/pfb.h"
#include "tests/support/correlate_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(pfb)

namespace {

constexpr double kRaised[] = {0.5, 0.54, 1};  // of hann, hamming, rect

void make_real(VoltageHeader& header) {
  header.n_dim = 1;
  header.sample_s /= 2;
}

/// A delay that moves by more than a sample from spectrum to spectrum, so that spectra do not share samples
/// evenly.
class RacingDelays final : public DelaySource {
 public:
  RacingDelays(double rate, double bound_s) : rate_(rate), bound_s_(bound_s) {}
  void prepare(double, double) override {}
  double delay_s(std::size_t ant, double t_s) const override {
    return std::clamp((ant % 2 ? rate_ : -rate_) * t_s, -bound_s_, bound_s_);
  }
  double max_delay_s() const override { return bound_s_; }

 private:
  double rate_, bound_s_;
};

struct ReferenceCase {
  VoltageHeader header;
  std::size_t n_fine;
  Filterbank filterbank;
};

/// The largest difference from the definition over all valid spectra; checks also which ones are valid.
double worst_error(const ReferenceCase& c) {
  const VoltageHeader& header = c.header;
  const bool real = header.n_dim == 1, mirrored = real && header.bandwidth_hz < 0;
  const std::size_t length = real ? 2 * c.n_fine : c.n_fine, span = length * c.filterbank.n_taps;
  const std::size_t n_spectra = c.filterbank.n_taps + 20;
  auto recording = noise(header, n_spectra * length + 1, 7);
  RacingDelays delays(0.11, 7.3 * header.sample_s);
  const auto plan = plan_channelise(header, c.n_fine, 1, c.filterbank);
  const auto channel_hz = plan.channel_hz();
  Channeliser channeliser(plan, &delays);
  channeliser.append(recording.block(0, recording.n_time));
  channeliser.end_of_stream();
  BOOST_REQUIRE(channeliser.available() == static_cast<std::int64_t>(n_spectra));
  SpectraBlock block;
  channeliser.spectra(0, n_spectra, 0, header.n_chan, block);
  const reference::PfbFilter filter{length, c.filterbank.n_taps,
                                    kRaised[static_cast<int>(c.filterbank.window)]};
  double worst = 0;
  for (std::size_t s = 0; s < n_spectra; ++s)
    for (std::size_t ant = 0; ant < header.n_ant; ++ant) {
      const auto start = static_cast<std::int64_t>(s * length) -
                         static_cast<std::int64_t>((c.filterbank.n_taps - 1) * length / 2);
      const double middle = static_cast<double>(start) + (static_cast<double>(span) - 1) / 2;
      const auto shift = std::llround(delays.delay_s(ant, middle * header.sample_s) / header.sample_s);
      const double tau = delays.delay_s(ant, (middle - static_cast<double>(shift)) * header.sample_s);
      const std::int64_t from = start - shift, to = from + static_cast<std::int64_t>(span);
      const bool inside = from >= 0 && to <= static_cast<std::int64_t>(recording.n_time);
      BOOST_TEST_REQUIRE((block.valid(0, ant, s) != 0) == inside);
      for (std::size_t fine = 0; fine < c.n_fine; ++fine)
        for (std::size_t chan = 0; chan < header.n_chan; ++chan) {
          const std::complex<double> value(block.planes(chan * c.n_fine + fine, 0, s, ant),
                                           block.planes(chan * c.n_fine + fine, 0, s, 16 + ant));
          std::complex<double> truth = 0;
          if (inside) {
            std::vector<std::complex<double>> x;
            for (auto n = from; n < to; ++n)
              x.push_back(recording.at(static_cast<std::size_t>(n), chan, ant, 0));
            const double sky = channel_hz[chan * c.n_fine + fine], centre = header.channel_freq_hz(chan);
            const double half = std::abs(header.bandwidth_hz) / static_cast<double>(header.n_chan) / 2;
            const double zero = !real ? centre : mirrored ? centre + half : centre - half;
            const double bin = (sky - zero) * static_cast<double>(length) * header.sample_s;
            const double turn = sky * tau - (sky - zero) * static_cast<double>(shift) * header.sample_s;
            truth = mirrored ? std::conj(reference::pfb_spectrum(x, filter, -bin, 0)) *
                                   std::polar(1.0, -kTwoPi * std::fmod(turn, 1.0))
                             : reference::pfb_spectrum(x, filter, bin, turn);
          }
          worst = std::max(worst, std::abs(value - truth));
        }
    }
  return worst;
}

}  // namespace

BOOST_AUTO_TEST_CASE(spectra_agree_with_the_definition_in_float64) {
  double largest = 0;
  for (const bool real : {false, true})
    for (const bool falling : {false, true})
      for (const std::size_t n_fine : {5, 8})
        for (const std::size_t n_taps : {1, 3, 4, 8})
          for (const Window window : {Window::hann, Window::hamming, Window::rect}) {
            ReferenceCase c{voltage_header(2, 2, 1, falling ? -2e6 : 2e6, 150e6), n_fine, {n_taps, window}};
            if (real) make_real(c.header);
            const double worst = worst_error(c);
            BOOST_TEST(worst < 4e-6);  // float32 of values near 1, phases reduced in float64; measured 6e-7
            BOOST_TEST(worst > 0);
            largest = std::max(largest, worst);
          }
  BOOST_TEST_MESSAGE("largest error " << largest);
}

BOOST_AUTO_TEST_CASE(channel_response_is_that_of_a_windowed_sinc) {
  const auto header = voltage_header(1, 1, 1, 1.28e6, 150e6);
  constexpr std::size_t n_fine = 128;
  const auto response_db = [&](const Filterbank& filterbank, double channels_off) {
    Recording recording(header, n_fine * (filterbank.n_taps + 3));
    for (std::size_t t = 0; t < recording.n_time; ++t)
      recording.at(t, 0, 0, 0) =
          std::polar(1.0, kTwoPi * std::fmod((10 + channels_off) * static_cast<double>(t) / n_fine, 1.0));
    double power = 0;
    correlate(recording, {.n_fine = n_fine, .filterbank = filterbank},
              [&](const Correlator& correlator, const Integrator&) {
                power = correlator.sum(64 + 10, 0, 0).real() /
                        static_cast<double>(correlator.count(0, 0, 0)) / n_fine;
              });
    return 10 * std::log10(power);
  };
  const Filterbank hann4{4, Window::hann};
  const double peak = response_db(hann4, 0);
  BOOST_TEST(std::abs(peak - 1.10) <= 0.01);  // sum(h)^2 / L: narrower than a channel; measured 1.0993
  for (const double sign : {-1.0, 1.0}) {
    // measured 0.0004 and 0.003 dB off
    BOOST_TEST(std::abs(response_db(hann4, sign * 0.25) - peak + 0.97) <= 0.01);
    BOOST_TEST(std::abs(response_db(hann4, sign * 0.5) - peak + 6.12) <= 0.02);
  }
  double from_1 = -200, from_1_5 = -200;
  for (double off = 1.0; off < 64; off += off < 4 ? 0.02 : 0.37)
    for (const double sign : {-1.0, 1.0}) {
      const double db = response_db(hann4, sign * off) - peak;
      from_1 = std::max(from_1, db);
      if (off > 1.499) from_1_5 = std::max(from_1_5, db);
    }
  BOOST_TEST_MESSAGE("peak " << peak << " dB, from 1.0 channels " << from_1 << " dB, from 1.5 " << from_1_5);
  BOOST_TEST(from_1 <= -44);    // measured -44.38
  BOOST_TEST(from_1_5 <= -63);  // measured -63.38
  // the other windows at 8 taps: flat within, and known without
  // measured 0.029, -63.96 and 0.003 off
  BOOST_TEST(std::abs(response_db({8, Window::hamming}, 0.25) - response_db({8, Window::hamming}, 0)) < 0.05);
  BOOST_TEST(response_db({8, Window::hamming}, 1) - response_db({8, Window::hamming}, 0) < -63.5);
  BOOST_TEST(std::abs(response_db({8, Window::rect}, 1) - response_db({8, Window::rect}, 0) + 35.15) < 0.1);
}

BOOST_AUTO_TEST_CASE(noise_keeps_its_power_in_every_channel) {
  for (const bool real : {false, true})
    for (const Filterbank filterbank :
         {Filterbank{4, Window::hann}, {4, Window::hamming}, {7, Window::rect}, {1, Window::hann}}) {
      const auto h = pfb_coefficients(real ? 64 : 32, filterbank);
      BOOST_TEST(std::abs(std::inner_product(h.begin(), h.end(), h.begin(), 0.0) - 1) < 1e-12);
      auto header = voltage_header(1, 4, 2, 1.28e6, 150e6);
      if (real) make_real(header);
      constexpr std::size_t n_fine = 32, n_spectra = 4000;
      const auto recording = noise(header, n_fine * (real ? 2 : 1) * n_spectra, 3);
      correlate(recording, {.n_fine = n_fine, .filterbank = filterbank},
                [&](const Correlator& correlator, const Integrator&) {
                  double mean = 0, farthest = 0;
                  for (std::size_t fine = 0; fine < n_fine; ++fine) {
                    double power = 0;
                    for (std::size_t input = 0; input < 8; ++input)
                      power += correlator.sum(fine, input, input).real() /
                               static_cast<double>(correlator.count(0, input / 2, input / 2)) / 8;
                    mean += power / n_fine;
                    farthest = std::max(farthest, std::abs(power - 1));
                  }
                  // 32000 values per channel scatter by 0.6 % (bin 0 of real input by 0.8 %), all by 0.1 %
                  BOOST_TEST(std::abs(mean - 1) < 0.005);  // measured 0.0008
                  BOOST_TEST(farthest < 0.035);            // measured 0.015
                });
    }
}

BOOST_AUTO_TEST_CASE(neither_threads_nor_gulps_change_a_bit) {
  for (const bool integer : {false, true}) {
    auto recording = noise(voltage_header(3, 10, 2, 3e6, 150e6), 128 * 60, 8);
    recording.integer = integer;
    if (integer)
      for (auto& x : recording.samples) x = {std::round(20 * x.real()), std::round(20 * x.imag())};
    for (std::size_t i = 0; i < recording.valid.size(); i += 37) recording.valid[i] = 0;
    std::vector<std::uint64_t> first;
    for (const auto& [threads, gulp] : {std::pair{1, 0}, {2, 0}, {3, 128}, {5, 1280}, {1, 384}}) {
      RacingDelays delays(0.003, 12e-6);
      std::vector<std::uint64_t> bits;
      correlate(recording,
                {.n_fine = 48,
                 .n_spectra = 50,
                 .gulp = static_cast<std::size_t>(gulp),
                 .n_threads = static_cast<unsigned>(threads),
                 .delays = &delays,
                 .filterbank = {4, Window::hamming}},
                [&](const Correlator& correlator, const Integrator&) {
                  for (std::size_t channel = 0; channel < 3 * 48; ++channel)
                    for (std::size_t j = 0; j < 20; ++j) {
                      const auto sum = correlator.sum(channel, j / 2, j);
                      bits.push_back(std::bit_cast<std::uint64_t>(sum.real()));
                      bits.push_back(std::bit_cast<std::uint64_t>(sum.imag()));
                    }
                });
      if (first.empty()) first = bits;
      BOOST_TEST((bits == first));
      BOOST_TEST(bits.size() == 4u * 144 * 20 * 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_filterbank_needs_channels_and_sensible_taps) {
  const auto header = voltage_header(1, 2, 1, 1e6, 150e6);
  BOOST_CHECK_THROW(plan_channelise(header, 1, 1, {4, Window::hann}), UsageError);
  BOOST_CHECK_THROW(plan_channelise(header, 8, 1, {kMaxTaps + 1, Window::hann}), UsageError);
  // a recording shorter than the taps: spectra without weight, and no access beyond it
  const auto recording = noise(header, 128, 1);
  correlate(recording, {.n_fine = 64, .filterbank = {4, Window::hann}},
            [&](const Correlator& correlator, const Integrator&) {
              BOOST_TEST(correlator.count(0, 0, 1) == 0);
              BOOST_TEST(std::abs(correlator.sum(5, 0, 1)) == 0.0);
            });
}

BOOST_AUTO_TEST_SUITE_END()
