// SPDX-License-Identifier: GPL-3.0-or-later
// Long spectra and filterbanks of many taps on a GPU against their definition in float64, value by value.
#include <boost/test/unit_test.hpp>

#include "kernels/channelise/cuda/long/batches.cuh"
#include "kernels/channelise/long_factors.h"
#include "tests/kernels/channelise/cuda/channelise_case.h"
#include "tests/reference/test_device.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(long_spectra)

/// Kernels of one length for each way through the exchange, for compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  for (const bool real : {false, true})
    for (const std::size_t length : {256, 1024, 4096}) {
      const std::size_t n_fine = real ? length / 2 : length;
      check({.n_ant = 3,
             .n_pol = 1,
             .n_fine = n_fine,
             .n_taps = 6,
             .real = real,
             .reach = 3,
             .rate = 1e-5,
             .n_spectra = 10},
            20);
    }
  check({.n_ant = 8, .n_fine = 512, .n_taps = 4, .four_bit = true, .drop = true, .n_spectra = 10}, 20);
}

BOOST_AUTO_TEST_CASE(all_lengths_agree_with_float64) {
  for (const bool real : {false, true})
    for (std::size_t length = 256; length <= 16384; length *= 2)
      for (const std::size_t n_taps : {0, 4, 16}) {
        if (f_stage::integer_path(real, static_cast<int>(length), std::max<int>(1, static_cast<int>(n_taps)),
                                  f_stage::SampleFormat::int8) != f_stage::IntegerPath::long_spectra) {
          // tensor cores make these, or shared memory is too short
          BOOST_TEST((length == 256 || length == 16384));
          continue;
        }
        Case c;
        c.n_fine = real ? length / 2 : length;
        c.n_taps = n_taps;
        c.real = real;
        c.n_ant = length <= 1024 ? 8 : 2;
        c.descending = length % 3 == 1;
        c.n_spectra = length <= 1024 ? 140 : length <= 4096 ? 66 : 18;
        const std::size_t n_checks = length <= 1024 ? 400 : 100;
        check(c, n_checks);
        c.reach = 7.3;
        c.rate = 1e-5;
        c.descending = !c.descending;
        c.n_chan = 2;
        check(c, n_checks);
      }
}

BOOST_AUTO_TEST_CASE(any_number_of_taps_agrees_with_float64) {
  for (const bool real : {false, true})
    for (const std::size_t n_taps : {2, 3, 5, 8, 13})
      check({.n_ant = 2,
             .n_fine = 512,
             .n_taps = n_taps,
             .window = Window::hamming,
             .real = real,
             .reach = 4,
             .rate = 1e-5});
}

/// Rows of all alignments, and pairs of real inputs of different antennas.
BOOST_AUTO_TEST_CASE(any_number_of_antennas_agrees_with_float64) {
  for (const bool real : {false, true})
    for (const std::size_t n_pol : {1, 2})
      for (const std::size_t n_ant : {1, 2, 3, 4, 5, 16, 33})
        check({.n_chan = 1 + n_ant % 2,
               .n_ant = n_ant,
               .n_pol = n_pol,
               .n_fine = 512,
               .n_taps = 4,
               .real = real,
               .drop = true,
               .reach = 6,
               .rate = 1e-4});
}

BOOST_AUTO_TEST_CASE(packed_samples_of_4_bits_agree_with_float64) {
  for (const std::size_t n_ant : {1, 3, 4, 8})
    check({.n_chan = 2,
           .n_ant = n_ant,
           .n_pol = 1 + n_ant % 2,
           .n_fine = 512,
           .n_taps = 8,
           .four_bit = true,
           .reach = 3,
           .rate = 1e-5});
}

/// Starts that move through blocks of the series.
BOOST_AUTO_TEST_CASE(racing_delays_agree_with_float64) {
  for (const bool real : {false, true})
    check({.n_ant = 4,
           .n_pol = 1,
           .n_fine = 256,
           .n_taps = 4,
           .real = real,
           .reach = 700,
           .rate = 0.01,
           .n_spectra = 200});
}

BOOST_AUTO_TEST_CASE(dither_is_that_of_the_definition) {
  check({.n_ant = 3, .n_fine = 1024, .n_taps = 4, .reach = 2, .rate = 1e-5, .dither = true});
}

BOOST_AUTO_TEST_CASE(clipped_values_are_counted) {
  // a tone a hundred times the noise, behind the window that the scale is taken from
  const Case c{.n_ant = 2, .n_pol = 1, .n_fine = 256, .amplitude = 3, .n_spectra = 100};
  Recording recording = record(c, 5);
  for (std::size_t t = 4200; t < recording.n_time; ++t)
    recording.at(t, 0, 1, 0) += std::complex<float>(60, -60);
  const Output out = run(c, recording, nullptr, true);
  std::uint64_t clipped[2] = {0, 0};
  for (std::size_t s = 0; s < static_cast<std::size_t>(out.n_spectra); ++s)
    for (std::size_t fine = 0; fine < c.n_fine; ++fine)
      for (std::size_t ant = 0; ant < 2; ++ant) {
        std::complex<double> truth;
        BOOST_REQUIRE(truth_at(c, recording, out.plan.f, nullptr, {s, 0, fine, ant, 0}, truth));
        truth *= out.scales[ant];
        clipped[ant] += std::abs(truth.real()) > 127.5;
        clipped[ant] += std::abs(truth.imag()) > 127.5;
      }
  BOOST_TEST(clipped[1] > 50u);
  BOOST_TEST(out.clipped[0] == clipped[0]);
  BOOST_TEST(out.clipped[1] == clipped[1]);
}

/// Batches of channels, of spectra and of streams make the bytes that one makes.
BOOST_AUTO_TEST_CASE(batches_change_nothing) {
  constexpr int kLength = 512, kTaps = 4, kInputs = 70, kChans = 3, kSpectra = 150;
  std::mt19937 random(3);
  const int n_time = (kSpectra + kTaps + 1) * kLength, row = kChans * kInputs * 2;
  std::vector<std::uint8_t> samples(static_cast<std::size_t>(n_time) * row);
  for (auto& byte : samples) byte = static_cast<std::uint8_t>(random());
  std::vector<Placement> placements(static_cast<std::size_t>(kInputs) * kSpectra);
  for (int input = 0; input < kInputs; ++input)
    for (int s = 0; s < kSpectra; ++s)
      placements[static_cast<std::size_t>(input * kSpectra + s)] = {0, 0, s * kLength + input * 7 % 200};
  const std::vector<float> taps = pfb_weights(kLength, {kTaps, Window::hann}, 1);
  const auto on_device = uploaded(samples);
  const auto placed = uploaded(placements);
  const auto mixed = uploaded(std::vector<double>(kChans, 1e8));
  const auto factors = uploaded(f_stage::long_factors(kLength, taps));
  DeviceArray<unsigned long long> clipped(static_cast<std::size_t>(kChans) * kInputs);
  f_stage::Task task{};
  task.samples = {on_device.data(),
                  f_stage::SampleFormat::int8,
                  false,
                  kChans,
                  kInputs,
                  static_cast<std::size_t>(row),
                  static_cast<std::size_t>(kInputs) * 2};
  task.placement = placed.data();
  task.placement_stride = task.n_spectra = kSpectra;
  task.n_pol = 1;
  task.length = task.n_fine = kLength;
  task.n_taps = kTaps;
  task.mixed_hz = mixed.data();
  f_stage::IntegerOutput out{};
  out.layout.n_chan = kChans * kLength;
  out.layout.n_blocks = (kSpectra + 63) / 64;
  out.layout.n_input = out.layout.n_input_padded = kInputs;
  out.clipped = clipped.data();
  const auto made = [&](std::size_t most_bytes) {
    DeviceArray<std::int8_t> to(out.layout.bytes());
    fill_bytes(to.data(), 0x55, to.size());
    fill_bytes(clipped.data(), 0, clipped.size());
    out.data = to.data();
    f_stage::LongSpectra spectra(most_bytes);
    spectra.run(task, placements.data(), out, factors.data(), nullptr);
    std::vector<std::int8_t> bytes(to.size());
    cuda_check(cudaMemcpy(bytes.data(), to.data(), bytes.size(), cudaMemcpyDeviceToHost), "copying");
    return bytes;
  };
  const f_stage::LongBatches all(task, 1u << 30), chans(task, 15u << 20), spectra(task, 6u << 20),
      streams(task, 3u << 20);
  BOOST_TEST((all.chans == kChans && all.streams == kInputs && all.spectra == kSpectra));
  BOOST_TEST((chans.chans == 1 && chans.streams == kInputs && chans.spectra == kSpectra));
  BOOST_TEST((spectra.chans == 1 && spectra.streams == kInputs && spectra.spectra == 64));
  BOOST_TEST((streams.chans == 1 && streams.streams == 32 && streams.spectra == 64));
  const std::vector<std::int8_t> whole = made(1u << 30);
  BOOST_TEST(std::count(whole.begin(), whole.end(), 0x55) < static_cast<std::ptrdiff_t>(whole.size() / 20));
  for (const std::size_t most_bytes : {15u << 20, 6u << 20, 3u << 20})
    BOOST_TEST((made(most_bytes) == whole), most_bytes << " bytes");
}

BOOST_AUTO_TEST_SUITE_END()
