// SPDX-License-Identifier: GPL-3.0-or-later
// Powers out of filterbanks and voltages: which products are added, what is missing, and the scale.
#include "libcore/streams/power_source.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/formats/filterbank/file.h"
#include "libcore/streams/voltage_stream.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(power_source)

namespace {

constexpr std::size_t kTimes = 4, kChannels = 3;

/// Products and channels of floats that differ everywhere; a value of the second time and all of the third
/// are 0.
std::string filterbank(const Scratch& scratch, std::size_t n_if) {
  FilterbankHeader header;
  header.sample_s = 1e-3;
  header.first_hz = 150e6;
  header.step_hz = -1e6;
  header.n_chan = kChannels;
  header.n_if = n_if;
  std::vector<float> values(kTimes * n_if * kChannels);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(1 + i * i);
  values[n_if * kChannels + 1] = 0;
  std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(2 * n_if * kChannels), n_if * kChannels, 0.0f);
  FilterbankWriter writer(scratch.path("a.fil"), header, true);
  writer.write(values.data(), values.size() * sizeof(float));
  writer.commit();
  return scratch.path("a.fil");
}

void check_filterbank(const std::string& path, const std::string& ifs, std::size_t n_if,
                      const std::vector<std::size_t>& added) {
  const auto powers = open_powers(path, ifs, 2);
  Buffer<float, 2> samples;
  std::size_t time = 0;
  for (; powers->read(3, samples);)
    for (std::size_t t = 0; t < samples.extent(0); ++t, ++time)
      for (std::size_t chan = 0; chan < kChannels; ++chan) {
        double sum = 0;
        bool missing = time == 2;
        for (const std::size_t product : added) {
          const std::size_t i = (time * n_if + product) * kChannels + chan;
          missing = missing || i == n_if * kChannels + 1;
          sum += static_cast<double>(1 + i * i);
        }
        BOOST_TEST(std::isnan(samples(t, chan)) == missing);
        if (!missing) BOOST_TEST(static_cast<double>(samples(t, chan)) == sum);
      }
  BOOST_TEST(time == kTimes);
}

}  // namespace

BOOST_AUTO_TEST_CASE(products_are_added_and_zeros_of_floats_are_missing) {
  const Scratch scratch;
  check_filterbank(filterbank(scratch, 1), "", 1, {0});
  check_filterbank(filterbank(scratch, 2), "", 2, {0, 1});
  check_filterbank(filterbank(scratch, 4), "", 4, {0});
  check_filterbank(filterbank(scratch, 4), "1,3", 4, {1, 3});
  BOOST_CHECK_THROW(open_powers(filterbank(scratch, 2), "2", 1), UsageError);
  BOOST_CHECK_THROW(open_powers(filterbank(scratch, 2), "0.5", 1), UsageError);
}

// The mean over polarisations, in units of the scale; a span of zeros is missing.
BOOST_AUTO_TEST_CASE(voltages_have_the_mean_power_of_their_polarisations) {
  const Scratch scratch;
  for (const std::size_t n_pol : {1, 2}) {
    VoltageHeader header;
    header.sample_s = 1e-3;
    header.freq_hz = 150e6;
    header.bandwidth_hz = 2e3;
    header.n_chan = 2;
    header.n_ant = 1;
    header.n_pol = n_pol;
    header.n_bit = 8;
    header.n_dim = 2;
    header.scale = 0.5;
    header.missing_samples = 2;
    std::vector<std::int8_t> bytes(8 * 2 * n_pol * 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::int8_t>(i % 101 - 50);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(4 * 4 * n_pol), 2 * 4 * n_pol, std::int8_t{0});
    VoltageWriter writer(scratch.path("a.dada"), header, true);
    writer.write(bytes.data(), bytes.size());
    writer.commit();
    const auto powers = open_powers(scratch.path("a.dada"), "", 1);
    BOOST_TEST(powers->values_per_sample == 4 * n_pol);
    Buffer<float, 2> samples;
    BOOST_TEST_REQUIRE(powers->read(100, samples));
    BOOST_TEST_REQUIRE(samples.extent(0) == 8u);
    for (std::size_t t = 0; t < 8; ++t)
      for (std::size_t chan = 0; chan < 2; ++chan) {
        double sum = 0;
        for (std::size_t i = 0; i < 2 * n_pol; ++i) sum += std::pow(bytes[(t * 2 + chan) * 2 * n_pol + i], 2);
        const bool missing = t == 4 || t == 5;
        BOOST_TEST(std::isnan(samples(t, chan)) == missing);
        if (!missing)
          BOOST_TEST(static_cast<double>(samples(t, chan)) == 0.25 * sum / static_cast<double>(n_pol));
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()
