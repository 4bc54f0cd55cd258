// SPDX-License-Identifier: GPL-3.0-or-later
#include <boost/test/unit_test.hpp>

#include "kernels/voltage_summary/sample_counts.h"
#include "tests/support/correlate_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(sample_counts)

namespace {

VoltageBlock packed(VoltageBlock block) {
  const auto& shape = block.samples_i8.shape();
  block.four_bit = true;
  block.samples_i4.resize({shape[0], shape[1], shape[2], shape[3]});
  for (std::size_t i = 0; i < block.samples_i4.size(); ++i)
    block.samples_i4.data()[i] =
        static_cast<std::uint8_t>((static_cast<unsigned>(block.samples_i8.data()[2 * i]) << 4 & 0xF0u) |
                                  (static_cast<unsigned>(block.samples_i8.data()[2 * i + 1]) & 15u));
  return block;
}

}  // namespace

BOOST_AUTO_TEST_CASE(extremes_are_counted_in_streams_of_any_width) {
  std::mt19937 random(17);
  for (const auto& [low, high, n_bit] : {std::tuple{-8, 7, 4u}, {-16, 15, 5u}, {-128, 127, 8u}})
    for (const std::size_t n_ant : {1, 3, 16, 33, 130}) {
      auto header = voltage_header(2, n_ant, n_ant == 16 ? 1 : 2, 2e6, 150e6);
      header.n_bit = n_bit;
      Recording recording(header, 300);
      recording.integer = true;
      std::uniform_int_distribution<int> uniform(low, high);
      for (auto& sample : recording.samples)
        sample = {static_cast<float>(uniform(random)), static_cast<float>(uniform(random))};
      for (auto& valid : recording.valid) valid = random() % 3 != 0;
      SampleCounter counter(header);
      counter.add(recording.block(0, 128));
      counter.add(recording.block(128, 172));
      std::vector<std::int64_t> saturated(n_ant * header.n_pol), missing(n_ant);
      for (std::size_t t = 0; t < 300; ++t)
        for (std::size_t ant = 0; ant < n_ant; ++ant) {
          missing[ant] += !recording.is_valid(t, ant);
          for (std::size_t chan = 0; chan < 2; ++chan)
            for (std::size_t pol = 0; pol < header.n_pol; ++pol) {
              const auto x = recording.at(t, chan, ant, pol);
              for (const float part : {x.real(), x.imag()})
                if (part == static_cast<float>(low) || part == static_cast<float>(high)) {
                  ++saturated[ant * header.n_pol + pol];
                  break;
                }
            }
        }
      const SampleCounts& counts = counter.counts();
      if (n_bit == 4) {
        SampleCounter of_packed(header, 0, 300, 3);
        of_packed.add(packed(recording.block(0, 300)));
        BOOST_TEST(of_packed.counts().saturated == saturated);
      }
      BOOST_TEST(counts.n_time == 300);
      BOOST_TEST(counts.saturated == saturated);
      BOOST_TEST(counts.missing == missing);
      BOOST_TEST(counts.missing_share(0) == static_cast<double>(missing[0]) / 300);
      if (missing[0] < 300)
        BOOST_TEST(counts.saturated_share(0) ==
                   static_cast<double>(saturated[0]) / static_cast<double>(600 - 2 * missing[0]));
    }
}

BOOST_AUTO_TEST_CASE(a_range_is_counted_alone) {
  std::mt19937 random(18);
  auto header = voltage_header(2, 3, 2, 2e6, 150e6);
  header.n_bit = 4;
  Recording recording(header, 300);
  recording.integer = true;
  std::uniform_int_distribution<int> uniform(-8, 7);
  for (auto& sample : recording.samples)
    sample = {static_cast<float>(uniform(random)), static_cast<float>(uniform(random))};
  for (auto& valid : recording.valid) valid = random() % 3 != 0;
  for (const auto& [first, end] : {std::pair{0, 300}, {37, 250}, {130, 131}, {128, 256}, {290, 400}}) {
    SampleCounter counter(header, first, end);
    std::vector<std::int64_t> saturated(6), missing(3);
    for (const auto& [begin, n] : {std::pair{0, 100}, {100, 90}, {190, 110}}) {
      counter.add(recording.block(begin, n));
    }
    for (std::size_t t = first; t < std::min<std::size_t>(300, end); ++t)
      for (std::size_t ant = 0; ant < 3; ++ant) {
        missing[ant] += !recording.is_valid(t, ant);
        for (std::size_t chan = 0; chan < 2; ++chan)
          for (std::size_t pol = 0; pol < 2; ++pol) {
            const auto x = recording.at(t, chan, ant, pol);
            const auto extreme = [](float part) { return part == -8 || part == 7; };
            saturated[ant * 2 + pol] += extreme(x.real()) || extreme(x.imag());
          }
      }
    BOOST_TEST(counter.counts().n_time == std::min(end, 300) - first);
    BOOST_TEST(counter.counts().saturated == saturated);
    BOOST_TEST(counter.counts().missing == missing);
  }
}

BOOST_AUTO_TEST_CASE(counters_do_not_overflow) {
  // one input: 256 rows at a time, more than 32767 times
  std::vector<std::int8_t> samples(2 * 256 * 33000, -8);
  std::int64_t count = 5;
  count_extremes(samples.data(), samples.size() / 2, 1, -8, 7, &count);
  BOOST_TEST(count == 5 + 256 * 33000);
}

BOOST_AUTO_TEST_CASE(floats_have_no_extremes_but_may_not_be_finite) {
  auto header = voltage_header(1, 2, 1, 1e6, 150e6);
  header.n_bit = 32;
  Recording recording(header, 128);
  for (auto& sample : recording.samples) sample = {1e30f, -1e30f};
  VoltageBlock block = recording.block(0, 128);
  block.not_finite.resize({128, 1, 2});
  block.not_finite(5, 0, 1) = block.not_finite(9, 0, 1) = 1;
  SampleCounter counter(header);
  counter.add(block);
  BOOST_TEST(counter.counts().saturated[0] == 0);
  BOOST_TEST(counter.counts().not_finite[0] == 0);
  BOOST_TEST(counter.counts().not_finite[1] == 2);
  header.n_bit = 16;
  SampleCounter sixteen(header);
  sixteen.add(block);
  BOOST_TEST(sixteen.counts().saturated[1] == 128);
}

BOOST_AUTO_TEST_SUITE_END()
