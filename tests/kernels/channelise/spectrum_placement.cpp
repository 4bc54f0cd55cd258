// SPDX-License-Identifier: GPL-3.0-or-later
// Batches of placed spectra against each spectrum's own delay.
#include "kernels/channelise/spectrum_placement.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/support/correlate_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(spectrum_placement)

namespace {

/// tau = offset + rate t + acceleration t^2 / 2, kept within bounds.
class MovingDelays final : public DelaySource {
 public:
  double rate = 0, acceleration = 0, bound_s = 20e-6;
  void prepare(double, double) override {}
  double delay_s(std::size_t ant, double t_s) const override {
    const double at = 1.7e-6 * static_cast<double>(ant) + rate * t_s + acceleration * t_s * t_s / 2;
    return std::clamp(at, -bound_s, bound_s);
  }
  double max_delay_s() const override { return bound_s; }
};

struct Worst {
  double phase_turns = 0, slope_s = 0;
  std::size_t wrong_starts = 0;
};

Worst compare(const MovingDelays& source, std::size_t n_taps) {
  MovingDelays delays = source;
  const auto header = voltage_header(2, 3, 1, 2e6, 150e6);
  const ChannelisePlan plan = plan_channelise(header, 16, 2, {n_taps, Window::hann});
  SpectrumPlacement placement(plan, &delays);
  constexpr std::int64_t first = 70, origin = 333;
  SpectraBlock validity;
  validity.n_spectra = 1000;
  validity.all_valid = true;
  Buffer<Placement, 2> placements({3, 1000});
  placement.place(first, origin, validity, placements);
  Worst worst;
  for (std::size_t ant = 0; ant < 3; ++ant)
    for (std::size_t i = 0; i < 1000; ++i) {
      const std::int64_t spectrum = first + static_cast<std::int64_t>(i);
      double delay_s;
      const std::int64_t shift = placement.shift_of(ant, spectrum, delay_s);
      const Placement& at = placements(ant, i);
      worst.wrong_starts += at.start != placement.first_of(spectrum) - shift - origin;
      worst.phase_turns = std::max(worst.phase_turns, std::abs(at.delay_s - delay_s) * 151e6);
      const double slope_s = delay_s - static_cast<double>(shift) * plan.sample_s;
      worst.slope_s = std::max(worst.slope_s, std::abs(static_cast<double>(at.slope_s) - slope_s));
    }
  return worst;
}

}  // namespace

BOOST_AUTO_TEST_CASE(batches_follow_each_spectrum) {
  for (const std::size_t n_taps : {0, 4})
    for (const double rate : {0.0, 1e-9, -3e-5, 2e-2})
      for (const double acceleration : {0.0, 1e-9, 1e-3, 10.0}) {
        MovingDelays delays;
        delays.rate = rate;
        delays.acceleration = acceleration;
        const Worst worst = compare(delays, n_taps);
        BOOST_TEST_CONTEXT(n_taps << " taps, rate " << rate << ", acceleration " << acceleration) {
          BOOST_TEST(worst.wrong_starts == 0u);
          BOOST_TEST(worst.phase_turns < 1.1e-9);
          BOOST_TEST(worst.slope_s < 1e-13);  // float32 of half a microsecond
        }
      }
}

BOOST_AUTO_TEST_CASE(kinks_and_jumps_are_followed) {
  MovingDelays delays;
  delays.rate = 5e-3;
  delays.bound_s = 6.3e-6;  // reached on the way
  const Worst worst = compare(delays, 4);
  BOOST_TEST(worst.wrong_starts == 0u);
  BOOST_TEST(worst.phase_turns < 1.1e-9);
}

BOOST_AUTO_TEST_CASE(what_is_not_valid_has_no_weight) {
  const auto header = voltage_header(2, 2, 1, 2e6, 150e6);
  const ChannelisePlan plan = plan_channelise(header, 16, 1);
  SpectrumPlacement placement(plan, nullptr);
  SpectraBlock validity;
  validity.n_chan = 2;
  validity.n_spectra = 5;
  validity.valid.resize({2, 2, 5});
  validity.valid.fill(1);
  validity.valid(0, 1, 3) = 0;  // in one of the channels
  validity.valid(0, 0, 2) = validity.valid(1, 0, 2) = 0;
  Buffer<Placement, 2> placements({2, 5});
  placement.place(10, 100, validity, placements);
  for (std::size_t ant = 0; ant < 2; ++ant)
    for (std::size_t i = 0; i < 5; ++i) {
      const bool lost = ant == 0 && i == 2;
      BOOST_TEST(placements(ant, i).start ==
                 (lost ? kNoWeight : static_cast<std::int32_t>((10 + i) * 16 - 100)));
      BOOST_TEST(placements(ant, i).delay_s == 0.0);
    }
}

// A block of 13 samples that begins 3 samples into a span of 8: the next span begins at its sample 5.
BOOST_AUTO_TEST_CASE(spans_that_began_before_a_block_end_within_it) {
  VoltageBlock block;
  block.n_time = 13;
  block.missing_samples = 8;
  block.first_valid_row_offset = 3;
  block.valid.resize({2, 2});
  block.valid.fill(1);
  block.valid(1, 1) = 0;
  SampleValidity samples(1, 2);
  samples.append(block);
  for (std::int64_t sample = 0; sample < 13; ++sample) {
    BOOST_TEST(samples.valid(sample, sample + 1, 0));
    BOOST_TEST(samples.valid(sample, sample + 1, 1) == (sample < 5));
  }
}

// A value that is no number takes out the spectrum of its own channel and antenna, in whichever batch of
// channels that is.
BOOST_AUTO_TEST_CASE(what_is_no_number_is_not_valid_in_its_own_channel) {
  const auto header = voltage_header(2, 3, 1, 2e6, 150e6);
  const ChannelisePlan plan = plan_channelise(header, 16, 1);
  const SpectrumPlacement placement(plan, nullptr);
  VoltageBlock block;
  block.n_time = block.missing_samples = 160;
  block.valid.resize({1, 3});
  block.valid.fill(1);
  block.not_finite.resize({160, 2, 3});
  block.not_finite(70, 1, 2) = 1;
  SampleValidity samples(2, 3);
  samples.append(block);
  for (std::size_t chan = 0; chan < 2; ++chan) {
    SpectraBlock validity;
    validity.first_chan = chan;
    validity.n_chan = 1;
    validity.n_spectra = 10;
    placement.fill_validity(0, samples, validity);
    for (std::size_t ant = 0; ant < 3; ++ant)
      for (std::size_t i = 0; i < 10; ++i)
        BOOST_TEST((validity.valid(0, ant, i) != 0) == !(chan == 1 && ant == 2 && i == 70 / 16));
  }
}

BOOST_AUTO_TEST_SUITE_END()
