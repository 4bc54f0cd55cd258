// SPDX-License-Identifier: GPL-3.0-or-later
// Blocks measured and cleaned on a GPU against the CPU, bit for bit: statistics, samples, times and the
// report.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "kernels/common/cuda/transfer.h"
#include "kernels/excise/excise_cuda.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(excise)

namespace {

struct Case {
  RawSampleFormat format;
  std::size_t n_time = 1000, n_block = 3;
  bool zero_dm = false, zeros_are_missing = false;
  double rfi_sigma = 5;
  bool gaps = false;    ///< times of no data, and values that are not finite
  bool bursts = false;  ///< in all channels at once, and noisy channels
};

/// One value of IF `which`, by the format's definition.
float value_of(const RawSampleFormat& format, const std::uint8_t* row, std::size_t index) {
  switch (format.n_bit) {
    case 32: {
      float value;
      std::memcpy(&value, row + 4 * index, sizeof(value));
      return value;
    }
    case 16: {
      std::int16_t value;
      std::memcpy(&value, row + 2 * index, sizeof(value));
      return format.is_signed ? value : static_cast<std::uint16_t>(value);
    }
    case 8:
      return format.is_signed ? static_cast<std::int8_t>(row[index]) : row[index];
    default: {
      const std::size_t bit = index * format.n_bit;
      const int n_code = 1 << format.n_bit, code = row[bit / 8] >> (bit % 8) & (n_code - 1);
      return static_cast<float>(format.is_signed && code >= n_code / 2 ? code - n_code : code);
    }
  }
}

class Samples final : public BlockSamples {
 public:
  Samples(const RawSampleFormat& format, const std::vector<std::uint8_t>& bytes)
      : format_(format), bytes_(bytes) {}
  std::size_t n_time() const override { return bytes_.size() / format_.bytes_per_sample(); }
  void channels(std::size_t first, View<float, 2> out) const override {
    for (std::size_t chan = 0; chan < out.extent(0); ++chan)
      for (std::size_t t = 0; t < n_time(); ++t) {
        const std::uint8_t* row = bytes_.data() + t * format_.bytes_per_sample();
        out(chan, t) = value_of(format_, row, first + chan);
        if (format_.sum) out(chan, t) += value_of(format_, row, first + chan + format_.n_chan);
      }
  }

 private:
  const RawSampleFormat& format_;
  const std::vector<std::uint8_t>& bytes_;
};

void put(const RawSampleFormat& format, std::uint8_t* row, std::size_t index, double value) {
  const auto clamped = [&](double low, double high) {
    return static_cast<int>(std::lround(std::clamp(value, low, high)));
  };
  const double top = std::pow(2.0, format.n_bit);
  const int code = format.n_bit == 32 ? 0
                   : format.is_signed ? clamped(-top / 2, top / 2 - 1)
                                      : clamped(0, top - 1);
  if (format.n_bit == 32) {
    const auto single = static_cast<float>(value);
    std::memcpy(row + 4 * index, &single, 4);
  } else if (format.n_bit == 16) {
    const auto word = static_cast<std::uint16_t>(code);
    std::memcpy(row + 2 * index, &word, 2);
  } else {
    const std::size_t bit = index * format.n_bit;
    row[bit / 8] = static_cast<std::uint8_t>(row[bit / 8] | (code & ((1 << format.n_bit) - 1)) << (bit % 8));
  }
}

std::vector<std::uint8_t> block_of(const Case& c, std::size_t n_time, unsigned seed) {
  const RawSampleFormat& format = c.format;
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const double top = format.n_bit == 32 ? 400 : std::pow(2.0, format.n_bit), sigma = top / 12;
  std::vector<std::uint8_t> bytes(n_time * format.bytes_per_sample());
  for (std::size_t t = 0; t < n_time; ++t) {
    const bool burst = c.bursts && t % 97 == 5;
    for (std::size_t i = 0; i < format.n_chan * format.n_if; ++i) {
      const std::size_t chan = i % format.n_chan;
      double value = (format.is_signed ? 0 : top / 2.2) + 0.02 * sigma * static_cast<double>(seed) +
                     sigma * normal(random) * (c.bursts && chan == 3 ? 3 : 1) + (burst ? 1.5 * sigma : 0);
      if (c.gaps && t % 50 < 2) value = format.n_bit == 32 ? std::numeric_limits<double>::quiet_NaN() : 0;
      if (c.gaps && format.n_bit == 32 && chan == 2 && t % 200 == 9) value = INFINITY;
      if (c.gaps && format.n_bit == 32 && chan == 1 && t % 20 == 9) value = NAN;
      put(format, bytes.data() + t * format.bytes_per_sample(), i, value);
    }
  }
  return bytes;
}

void check_equal(const BlockStatistics& a, const BlockStatistics& b) {
  BOOST_TEST(a.n_time == b.n_time);
  BOOST_TEST((a.level == b.level && a.noise == b.noise && a.drift == b.drift));
  BOOST_TEST((a.good == b.good));
  BOOST_TEST(a.n_not_finite == b.n_not_finite);
  BOOST_TEST((a.missing == b.missing));
}

void check(const Case& c) {
  BOOST_TEST_CONTEXT(c.format.n_bit << " bits, " << c.format.n_chan << " channels, " << c.n_time
                                    << " samples") {
    const ExciseSettings settings{c.format.n_chan, c.rfi_sigma, c.zero_dm, 2, c.zeros_are_missing};
    const std::unique_ptr<CudaExciser> device = make_cuda_exciser(settings, c.format, c.n_time + 7, 0);
    std::vector<std::vector<std::uint8_t>> raw;
    std::vector<BlockStatistics> statistics;
    ExciseReport on_cpu, on_device;
    std::uint64_t different = 0, taken_out = 0;
    const auto clean = [&](std::size_t block) {
      const BlockStatistics *before = block > 0 ? &statistics[block - 1] : nullptr,
                            *after = block + 1 < statistics.size() ? &statistics[block + 1] : nullptr;
      const std::size_t n_time = statistics[block].n_time;
      std::vector<std::int8_t> truth(c.format.n_chan * n_time, 1), samples(truth.size(), 2);
      std::vector<std::uint8_t> good(n_time, 3), good_on_device(n_time, 4);
      clean_block(settings, Samples(c.format, raw[block]), before, statistics[block], after, truth.data(),
                  n_time, good, on_cpu);
      device->clean(before, statistics[block], after, good_on_device, on_device);
      device->copy(samples.data());
      for (std::size_t i = 0; i < truth.size(); ++i) different += truth[i] != samples[i];
      BOOST_TEST((good == good_on_device));
      taken_out += static_cast<std::uint64_t>(std::count(good.begin(), good.end(), 0));
    };
    for (std::size_t block = 0; block < c.n_block; ++block) {
      raw.push_back(
          block_of(c, c.n_time + (block + 1 == c.n_block ? 7 : 0), static_cast<unsigned>(block + 1)));
      statistics.push_back(measure_block(settings, Samples(c.format, raw[block])));
      check_equal(device->measure(raw[block]), statistics[block]);
      if (block > 0) clean(block - 1);
    }
    clean(c.n_block - 1);
    BOOST_TEST(different == 0u);
    BOOST_TEST(on_cpu.n_bad_channel_blocks == on_device.n_bad_channel_blocks);
    BOOST_TEST(on_cpu.n_bad_time == on_device.n_bad_time);
    BOOST_TEST(on_cpu.n_clipped == on_device.n_clipped);
    BOOST_TEST(on_cpu.n_not_finite == on_device.n_not_finite);
    if (c.gaps) BOOST_TEST(taken_out > 0u);
  }
}

}  // namespace

/// Every kernel once, for compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  for (const unsigned n_bit : {2u, 8u, 32u})
    check({.format = {.n_chan = 20, .n_if = 2, .n_bit = n_bit, .sum = true},
           .n_time = 300,
           .n_block = 2,
           .zero_dm = true,
           .zeros_are_missing = true,
           .gaps = true,
           .bursts = true});
}

BOOST_AUTO_TEST_CASE(all_formats_are_cleaned_as_on_a_cpu) {
  for (const unsigned n_bit : {1u, 2u, 4u, 8u, 16u, 32u})
    for (const bool is_signed : {false, true})
      for (const bool gaps : {false, true}) {
        if (n_bit == 1 && is_signed) continue;
        check({.format = {.n_chan = 264, .n_if = 1, .n_bit = n_bit, .is_signed = is_signed},
               .n_time = 2000,
               .zeros_are_missing = gaps,
               .gaps = gaps,
               .bursts = true});
      }
}

BOOST_AUTO_TEST_CASE(sums_of_two_polarisations_are_cleaned_as_on_a_cpu) {
  for (const unsigned n_bit : {4u, 8u, 32u})
    check(
        {.format = {.n_chan = 100, .n_if = 4, .n_bit = n_bit, .sum = true}, .n_time = 1501, .bursts = true});
}

BOOST_AUTO_TEST_CASE(means_over_channels_are_taken_away_as_on_a_cpu) {
  for (const double rfi_sigma : {0.0, 4.0})
    check({.format = {.n_chan = 129, .n_bit = 8},
           .n_time = 4096,
           .zero_dm = true,
           .rfi_sigma = rfi_sigma,
           .bursts = true});
}

BOOST_AUTO_TEST_SUITE_END()
