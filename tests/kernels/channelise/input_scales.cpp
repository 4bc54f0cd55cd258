// SPDX-License-Identifier: GPL-3.0-or-later
// The scales of spectra that become integers, from their definition.
#include "kernels/channelise/input_scales.h"

#include <boost/test/unit_test.hpp>
#include <random>

#include "kernels/channelise/requantise.h"
#include "tests/support/correlate_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(input_scales)

namespace {

constexpr std::int64_t kSpectra = 150;  // of an integration; windows are 128 spectra of 32 samples, then 22
constexpr std::size_t kFine = 32;

Recording recording() {
  auto header = voltage_header(2, 3, 2, 2e6, 150e6);
  Recording recording(header, 2 * 150 * 32 + 77);
  recording.integer = true;
  std::mt19937 random(1);
  for (std::size_t t = 0; t < recording.n_time; ++t)
    for (std::size_t chan = 0; chan < 2; ++chan)
      for (std::size_t ant = 0; ant < 3; ++ant)
        for (std::size_t pol = 0; pol < 2; ++pol)
          recording.at(t, chan, ant, pol) = {
              static_cast<float>(static_cast<int>(random() % 21) - 10),
              static_cast<float>(static_cast<int>(random() % (7 + 4 * ant)) - 3)};
  // antenna 1 is missing in all but the end of the first window, and in all of the second integration's
  for (std::size_t row = 0; row < recording.valid.size() / 3; ++row) {
    const std::size_t sample = row * 128;
    if (sample < 4096 - 256 || (sample + 128 > 4800 && sample < 4800 + 4096))
      recording.valid[row * 3 + 1] = 0;
  }
  return recording;
}

float truth(const Recording& r, std::size_t begin, std::size_t end, std::size_t chan, std::size_t input) {
  std::int64_t sum = 0, n = 0;
  for (std::size_t t = begin; t < end; ++t) {
    if (!r.is_valid(t, input / 2)) continue;
    const auto x = const_cast<Recording&>(r).at(t, chan, input / 2, input % 2);
    sum += static_cast<std::int64_t>(x.real()) * static_cast<std::int64_t>(x.real()) +
           static_cast<std::int64_t>(x.imag()) * static_cast<std::int64_t>(x.imag());
    ++n;
  }
  return n == 0 ? 1 : requantise_scale(static_cast<double>(sum) / static_cast<double>(n), 8);
}

}  // namespace

BOOST_AUTO_TEST_CASE(scales_are_those_of_the_first_window_with_samples) {
  const Recording r = recording();
  const auto plan = plan_channelise(r.header, kFine, 2);
  for (const std::size_t gulp : {r.n_time, std::size_t{128}, std::size_t{1280}, std::size_t{200}}) {
    InputScales scales(plan, kSpectra, 8);
    std::size_t wrong = 0;
    for (std::size_t first = 0; first < r.n_time; first += gulp) {
      scales.append(r.block(first, std::min(gulp, r.n_time - first)));
      if (gulp == 128)
        BOOST_TEST(
            scales.available() <=
            std::max<std::int64_t>(150, static_cast<std::int64_t>(first + gulp) / 32 / 128 * 150 + 150));
    }
    BOOST_TEST(scales.available() == 300);
    scales.end_of_stream();
    for (std::size_t chan = 0; chan < 2; ++chan)
      for (std::size_t input = 0; input < 6; ++input) {
        const std::size_t first = 150 * 32;
        wrong += scales.scales(0)(chan, input) != truth(r, 0, 4096, chan, input);
        wrong +=
            scales.scales(1)(chan, input) != (input / 2 == 1 ? truth(r, first + 4096, 2 * first, chan, input)
                                                             : truth(r, first, first + 4096, chan, input));
      }
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(scales.first_usable(0, 1) == 0);
    BOOST_TEST(scales.first_usable(1, 0) == 150);
    BOOST_TEST(scales.first_usable(1, 1) == 150 + 128);
    BOOST_TEST(scales.first_usable(2, 0) == 300);  // a rest of 77 samples
  }
}

BOOST_AUTO_TEST_CASE(an_antenna_without_samples_holds_nothing_up) {
  auto header = voltage_header(1, 2, 1, 1e6, 150e6);
  header.layout.antennas[1].flagged = true;
  Recording r(header, 128 * 40);
  for (auto& sample : r.samples) sample = {1, 1};
  const auto plan = plan_channelise(header, 16, 1);
  InputScales scales(plan, 1000, 8);
  scales.append(r.block(0, 128 * 31));
  BOOST_TEST(scales.available() == 0);
  scales.append(r.block(128 * 31, 128));
  BOOST_TEST(scales.available() == 1000);
  BOOST_TEST(scales.scales(0)(0, 0) == 24.0f);
  BOOST_TEST(scales.scales(0)(0, 1) == 1.0f);
  BOOST_TEST(scales.first_usable(0, 1) > 1000);
}

BOOST_AUTO_TEST_SUITE_END()
